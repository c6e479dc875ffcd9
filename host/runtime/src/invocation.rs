//! What the driver hands to a call: its keys, and the traits through which the host serves what the guest asks for. This
//! crate stores nothing; durable state comes in through readers and goes out as staged changes.

use std::sync::Arc;

use futures::future::BoxFuture;
use mainstay_protocol::{
    CallIndex, PluginName, SessionId, StepIndex, TenantId, TurnId,
    blob::{BlobInfo, BlobReference},
    content::Item,
    model::ModelRequest,
};

use crate::{registry::Snapshot, staged::StagedState};

/// The host could not serve a read: a bug, or the machine. The call ends as [`CallFailure::Host`].
///
/// [`CallFailure::Host`]: mainstay_protocol::failure::CallFailure::Host
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReadFailure(
    /// What happened, without paths or secrets.
    pub String,
);

/// The history of a session as one call sees it: it does not change while the call runs.
pub trait Transcript: Send + Sync {
    /// How many items there are.
    fn count(&self) -> BoxFuture<'_, Result<u32, ReadFailure>>;

    /// Items from position `start`, oldest first: at most `max` of them, and no more than are needed to reach `bytes` of
    /// payload, but at least one if there is one.
    fn read(&self, start: u32, max: u32, bytes: usize) -> BoxFuture<'_, Result<Vec<Arc<Item>>, ReadFailure>>;
}

/// How much durable state a plugin holds in some scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateUsage {
    /// Keys.
    pub keys: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
}

/// The values of one plugin in one session, as of the base of the call: what is committed, without anything staged.
pub trait StateReader: Send + Sync {
    /// The value of a key.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, ReadFailure>>;

    /// At most `max` keys that begin with `prefix` and come after `after`, in byte order.
    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
        max: usize,
    ) -> BoxFuture<'a, Result<Vec<String>, ReadFailure>>;

    /// How much there is. Asked for once, before the first write.
    fn usage(&self) -> BoxFuture<'_, Result<StateUsage, ReadFailure>>;
}

/// A value with its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionedValue {
    /// The value.
    pub value: Vec<u8>,
    /// Rises with each write, from 1.
    pub version: u64,
}

/// The values of one plugin across all sessions of one tenant.
pub trait PluginStateReader: Send + Sync {
    /// The value of a key.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<VersionedValue>, ReadFailure>>;

    /// The value of a counter; 0 when nothing was added yet.
    fn counter<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<u64, ReadFailure>>;

    /// Holds a key for this call until its barrier commits or the call fails. False when another call holds it.
    fn hold<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<bool, ReadFailure>>;

    /// How much there is. Asked for once, before the first write.
    fn usage(&self) -> BoxFuture<'_, Result<StateUsage, ReadFailure>>;
}

/// Stored bytes that the session keeps, as they stood when the call began or later: they never change.
pub trait BlobReader: Send + Sync {
    /// What is known of a blob; none when the session keeps none by this reference.
    fn stat<'a>(&'a self, blob: &'a BlobReference) -> BoxFuture<'a, Result<Option<BlobInfo>, ReadFailure>>;

    /// Bytes from `offset`, at most `max` of them and at most 1 MiB, empty at or past the end; none when the session keeps none by
    /// this reference.
    fn read<'a>(
        &'a self,
        blob: &'a BlobReference,
        offset: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, ReadFailure>>;
}

/// Live news of a long call. Not durable; never blocks.
pub trait NewsSink: Send + Sync {
    /// The plugin says how far it is. The text is untrusted.
    fn progress(&self, plugin: &PluginName, text: String, done: Option<u32>, total: Option<u32>);
}

/// One call: its keys, and what the host serves to it. Whatever is none answers `not-found` (or nothing) to the guest.
#[derive(Clone)]
pub struct Invocation {
    /// The tenant on whose behalf it runs.
    pub tenant: TenantId,
    /// Names this piece of work: the same when it runs again.
    pub invocation_id: String,
    /// How often it was started, from 1.
    pub attempt: u32,
    /// The session.
    pub session: Option<SessionId>,
    /// The turn.
    pub turn: Option<TurnId>,
    /// The step.
    pub step: Option<StepIndex>,
    /// The position of the tool call in its step.
    pub call: Option<CallIndex>,
    /// For a tool call: the same for each attempt, different for all others.
    pub idempotency_key: Option<String>,
    /// The session's metadata: a JSON object.
    pub metadata: Arc<str>,
    /// The session's labels.
    pub labels: Arc<[(String, String)]>,
    /// The route of the step.
    pub route: Option<String>,
    /// For a model call: the context group whose private parts the adapter gets.
    pub context_group: Option<String>,
    /// The history.
    pub transcript: Option<Arc<dyn Transcript>>,
    /// The plugin's values in the session.
    pub session_state: Option<Arc<dyn StateReader>>,
    /// The plugin's values across sessions; `unsupported` to the guest when none.
    pub plugin_state: Option<Arc<dyn PluginStateReader>>,
    /// What the session keeps beside its items.
    pub blobs: Option<Arc<dyn BlobReader>>,
    /// What earlier hooks of the same plugin staged for the same barrier: this call sees it over what is committed, and
    /// returns it with its own changes.
    pub staged: StagedState,
    /// Who hears of progress.
    pub news: Option<Arc<dyn NewsSink>>,
    /// The snapshot whose tools `catalog` shows.
    pub snapshot: Option<Arc<Snapshot>>,
    /// The request of the step, for hooks around a model call.
    pub request: Option<Arc<ModelRequest>>,
}

impl Invocation {
    /// A call outside all sessions: what lists, checks and observes.
    pub fn outside_sessions(tenant: TenantId, invocation_id: impl Into<String>) -> Self {
        Self {
            tenant,
            invocation_id: invocation_id.into(),
            attempt: 1,
            session: None,
            turn: None,
            step: None,
            call: None,
            idempotency_key: None,
            metadata: "{}".into(),
            labels: Arc::new([]),
            route: None,
            context_group: None,
            transcript: None,
            session_state: None,
            plugin_state: None,
            blobs: None,
            staged: StagedState::default(),
            news: None,
            snapshot: None,
            request: None,
        }
    }
}

impl std::fmt::Debug for Invocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Invocation")
            .field("id", &self.invocation_id)
            .field("attempt", &self.attempt)
            .field("session", &self.session)
            .field("turn", &self.turn)
            .field("step", &self.step)
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}
