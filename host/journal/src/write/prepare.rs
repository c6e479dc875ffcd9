//! Encoding a transition where it was made, so that the writer's thread, which all sessions share, only stores bytes.

use std::sync::Arc;

use mainstay_protocol::{
    AcceptedOrdinal, Digest, Ordinal, Timestamp,
    blob::NewBlob,
    record::{NewRecord, RecordBody, record_digest, v1::SessionConfigured},
};
use mainstay_session::{State, Summary};

use super::{Lane, blobs, integrity, items::PreparedItem, queue::PreparedMessage, sessions::LABELS_ONCE};
use crate::{
    CommitError, NewSubmission, Priority, StateWrite, Transition,
    codec::{Checksum, checksum},
    host_tenant,
};

/// A transition, encoded and checked for all that needs no store.
pub(crate) struct Prepared {
    pub(super) lane: Lane,
    pub(super) expected: Ordinal,
    pub(super) records: Vec<PreparedRecord>,
    pub(super) items: Vec<PreparedItem>,
    pub(super) queued: Vec<PreparedMessage>,
    pub(super) unqueued: Vec<AcceptedOrdinal>,
    pub(super) blobs: Vec<NewBlob>,
    pub(super) submission: Option<NewSubmission>,
    pub(super) plugin_state: Vec<StateWrite>,
    pub(super) snapshot: Snapshot,
    pub(super) facts: Facts,
    pub(super) state: State,
    pub(super) priority: Priority,
}

pub(super) struct PreparedRecord {
    pub(super) at: Timestamp,
    pub(super) is_feed: bool,
    pub(super) digest: Digest,
    pub(super) encoded: String,
    pub(super) body: Arc<RecordBody>,
}

pub(super) struct Snapshot {
    pub(super) encoded: Vec<u8>,
    pub(super) checksum: Checksum,
    pub(super) summary: Summary,
}

/// What the records say about the session itself.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) labels: Option<String>,
    pub(super) metadata: Option<String>,
}

impl Prepared {
    pub(crate) fn new(transition: Transition) -> Result<Self, CommitError> {
        check(&transition)?;
        let records = transition.records.into_iter().map(PreparedRecord::new).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            lane: Lane { tenant: transition.tenant, session: transition.session },
            expected: transition.expected,
            facts: facts(&records)?,
            records,
            items: transition.items.into_iter().map(PreparedItem::new).collect::<Result<_, _>>()?,
            queued: transition.queued.into_iter().map(PreparedMessage::new).collect::<Result<_, _>>()?,
            unqueued: transition.unqueued,
            blobs: transition.blobs,
            submission: transition.submission,
            plugin_state: transition.plugin_state,
            snapshot: Snapshot::new(&transition.state),
            state: transition.state,
            priority: transition.priority,
        })
    }
}

fn check(transition: &Transition) -> Result<(), CommitError> {
    let records = transition.records.len();
    if transition.tenant == host_tenant() {
        return Err(integrity("the host's own session has no transitions"));
    }
    if records == 0 {
        return Err(integrity("a transition has at least one record"));
    }
    if transition.state.head().0 != transition.expected.0 + records as u64 {
        return Err(integrity("the state is the one after the transition's last record"));
    }
    if transition.submission.as_ref().is_some_and(|submission| submission.record >= records) {
        return Err(integrity("a submission is answered by a record of its own transition"));
    }
    if !transition.items.is_sorted_by(|one, other| one.id < other.id) {
        return Err(integrity("item ids rise"));
    }
    blobs::check(&transition.blobs)
}

impl PreparedRecord {
    pub(super) fn new(record: NewRecord) -> Result<Self, CommitError> {
        let encoded = text(record.body.encode())?;
        let digest = record_digest(record.body.kind(), record.at, encoded.as_bytes());
        let is_feed = record.body.is_feed();
        Ok(Self { at: record.at, is_feed, digest, encoded, body: Arc::new(record.body) })
    }
}

impl Snapshot {
    fn new(state: &State) -> Self {
        let encoded = state.snapshot();
        Self { checksum: state_checksum(&encoded), encoded, summary: state.summary() }
    }
}

fn facts(records: &[PreparedRecord]) -> Result<Facts, CommitError> {
    let mut facts = Facts::default();
    for record in records {
        if let RecordBody::SessionConfigured(SessionConfigured { labels, metadata, .. }) = &*record.body {
            if !labels.is_empty() {
                let labels = json(labels)?;
                if facts.labels.as_ref().is_some_and(|before| *before != labels) {
                    return Err(integrity(LABELS_ONCE));
                }
                facts.labels = Some(labels);
            }
            if metadata.is_some() {
                facts.metadata.clone_from(metadata);
            }
        }
    }
    Ok(facts)
}

fn json<T: serde::Serialize>(value: &T) -> Result<String, CommitError> {
    serde_json::to_string(value).map_err(|_| integrity("content is JSON"))
}

fn text(json: Vec<u8>) -> Result<String, CommitError> {
    String::from_utf8(json).map_err(|_| integrity("record bodies are JSON"))
}

/// Covers a session's state.
pub(crate) fn state_checksum(snapshot: &[u8]) -> Checksum {
    checksum("mainstay/state/1", &[snapshot])
}
