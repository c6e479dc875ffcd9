//! What is written: the one change of a session that is durable as a whole or not at all, and what comes back from it.

use mainstay_protocol::{
    AcceptedOrdinal, Digest, Ordinal, PluginName, SessionId, SubmissionId, TenantId, Timestamp,
    blob::NewBlob,
    content::Item,
    op::Accepted,
    record::{NewRecord, StoredRecord},
};
use mainstay_session::{QueuedMessage, State};

/// A change of one session. It never touches another one.
#[derive(Clone, Debug)]
pub struct Transition {
    /// The owner of the session.
    pub tenant: TenantId,
    /// The session.
    pub session: SessionId,
    /// The ordinal of the session's last record when this was decided; 0 creates the session.
    pub expected: Ordinal,
    /// What happened, at least one.
    pub records: Vec<NewRecord>,
    /// What the transcript gains, in rising order.
    pub items: Vec<Item>,
    /// Messages that enter the queue.
    pub queued: Vec<QueuedMessage>,
    /// Messages that leave it.
    pub unqueued: Vec<AcceptedOrdinal>,
    /// The op that this answers, if it answers one.
    pub submission: Option<NewSubmission>,
    /// Stored bytes that the session keeps beside its items, each at most [`MAX_BLOB`] bytes: by their references they are fetched.
    ///
    /// [`MAX_BLOB`]: mainstay_protocol::blob::MAX_BLOB
    pub blobs: Vec<NewBlob>,
    /// What plugins write to their session state.
    pub plugin_state: Vec<StateWrite>,
    /// The session's state after the records.
    pub state: State,
    /// Whether this ends something that must be able to end.
    pub priority: Priority,
}

impl Transition {
    /// Records and the state after them, with nothing else.
    pub fn new(tenant: TenantId, session: SessionId, expected: Ordinal, records: Vec<NewRecord>, state: State) -> Self {
        Self {
            tenant,
            session,
            expected,
            records,
            items: Vec::new(),
            queued: Vec::new(),
            unqueued: Vec::new(),
            submission: None,
            blobs: Vec::new(),
            plugin_state: Vec::new(),
            state,
            priority: Priority::Normal,
        }
    }
}

/// An op that becomes durable with its transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSubmission {
    /// Its id.
    pub submission: SubmissionId,
    /// By which a repetition is recognised.
    pub digest: Digest,
    /// For a message, its number.
    pub accepted: Option<AcceptedOrdinal>,
    /// The record that answers it, as an index into the transition's records.
    pub record: usize,
}

/// A value that a plugin keeps with a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateWrite {
    /// Whose.
    pub plugin: PluginName,
    /// Its key.
    pub key: String,
    /// The value; none deletes it.
    pub value: Option<Vec<u8>>,
}

/// How much a transition matters when room is short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// It may be refused for now: on a full disk, and when the log has grown to its bound.
    #[default]
    Normal,
    /// It ends something that must be able to end: a turn. For these the journal keeps room on the disk, which it gives up when
    /// the disk is full and makes again when it is not. While that room is in use nothing else is written.
    Terminal,
}

/// A transition that is durable.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The state, as it was given.
    pub state: State,
    /// The records, with their places.
    pub records: Vec<StoredRecord>,
    /// The answer to the op, if the transition answers one.
    pub accepted: Option<Accepted>,
}

/// A change of the active builds, durable together with its lifecycle records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GenerationChange {
    /// A build becomes active in place of the plugin's last one.
    Activate(GenerationRow),
    /// The plugin has no active build any more.
    Retire {
        /// The plugin.
        plugin: PluginName,
        /// When.
        at: Timestamp,
    },
}

/// A build that is or was active. The component's bytes are elsewhere, under their digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerationRow {
    /// The plugin.
    pub plugin: PluginName,
    /// SHA-256 of its component.
    pub sha256: Digest,
    /// Digest of the whole package: one component can have several.
    pub package: Digest,
    /// The version in its manifest.
    pub version: String,
    /// When it became active.
    pub activated_at: Timestamp,
    /// Who chose it.
    pub origin: GenerationOrigin,
}

/// Who chose a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GenerationOrigin {
    /// The host manifest.
    Manifest,
    /// `plugin swap` or `plugin rollback`, over the manifest.
    Override {
        /// Digest of the manifest's entry at that time: the override lasts until the entry changes.
        entry: Digest,
    },
}
