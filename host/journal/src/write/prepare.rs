//! Encoding a transition where it was made, so that the writer's thread, which all sessions share, only stores bytes.

use std::sync::Arc;

use mainstay_protocol::{
    AcceptedOrdinal, Digest, ItemId, Ordinal, Timestamp, TurnId,
    content::{Item, PrivatePart},
    record::{NewRecord, RecordBody, record_digest, v1::SessionConfigured},
};
use mainstay_session::{QueuedMessage, State, Summary};

use super::{Lane, integrity};
use crate::{
    CommitError, NewSubmission, StateWrite, Transition,
    codec::{Checksum, checksum, delivery_word},
};

/// A transition, encoded and checked for all that needs no store.
pub(crate) struct Prepared {
    pub(super) lane: Lane,
    pub(super) expected: Ordinal,
    pub(super) records: Vec<PreparedRecord>,
    pub(super) items: Vec<PreparedItem>,
    pub(super) queued: Vec<PreparedMessage>,
    pub(super) unqueued: Vec<AcceptedOrdinal>,
    pub(super) submission: Option<NewSubmission>,
    pub(super) plugin_state: Vec<StateWrite>,
    pub(super) snapshot: Snapshot,
    pub(super) facts: Facts,
    pub(super) state: State,
}

pub(super) struct PreparedRecord {
    pub(super) at: Timestamp,
    pub(super) is_feed: bool,
    pub(super) digest: Digest,
    pub(super) encoded: String,
    pub(super) body: Arc<RecordBody>,
}

pub(super) struct PreparedItem {
    pub(super) id: ItemId,
    pub(super) at: Timestamp,
    pub(super) turn: Option<TurnId>,
    pub(super) step: Option<u32>,
    pub(super) call: Option<u32>,
    pub(super) checksum: Checksum,
    pub(super) private_part: Option<PrivatePart>,
    pub(super) extras: Option<String>,
    pub(super) encoded: String,
}

pub(super) struct PreparedMessage {
    pub(super) message: QueuedMessage,
    pub(super) bytes: u64,
    pub(super) checksum: Checksum,
    pub(super) encoded: String,
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
            submission: transition.submission,
            plugin_state: transition.plugin_state,
            snapshot: Snapshot::new(&transition.state),
            state: transition.state,
        })
    }
}

fn check(transition: &Transition) -> Result<(), CommitError> {
    let records = transition.records.len();
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
    Ok(())
}

impl PreparedRecord {
    pub(super) fn new(record: NewRecord) -> Result<Self, CommitError> {
        let encoded = text(record.body.encode())?;
        let digest = record_digest(record.body.kind(), record.at, encoded.as_bytes());
        let is_feed = record.body.is_feed();
        Ok(Self { at: record.at, is_feed, digest, encoded, body: Arc::new(record.body) })
    }
}

impl PreparedItem {
    fn new(item: Item) -> Result<Self, CommitError> {
        let encoded = json(&item.body)?;
        Ok(Self {
            checksum: item_checksum(&item, encoded.as_bytes()),
            encoded,
            id: item.id,
            at: item.at,
            turn: item.turn,
            step: item.step.map(|step| step.0),
            call: item.call.map(|call| call.0),
            private_part: item.private_part,
            extras: item.extras,
        })
    }
}

impl PreparedMessage {
    fn new(message: QueuedMessage) -> Result<Self, CommitError> {
        let encoded = json(&message.content)?;
        let bytes = message.content.iter().map(|part| part.bytes() as u64).sum();
        Ok(Self { bytes, checksum: message_checksum(&message, encoded.as_bytes()), encoded, message })
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
                facts.labels = Some(json(labels)?);
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

/// Covers all of an item: each field and whether it is there.
pub(crate) fn item_checksum(item: &Item, body: &[u8]) -> Checksum {
    let numbers =
        [Some(item.id.0), Some(item.at.0), item.step.map(|step| step.0.into()), item.call.map(|call| call.0.into())];
    let numbers = numbers.map(|number| number.map_or_else(Vec::new, |number: u64| number.to_le_bytes().to_vec()));
    let private = item.private_part.as_ref();
    let fields: [&[u8]; 9] = [
        &numbers[0],
        &numbers[1],
        &numbers[2],
        &numbers[3],
        item.turn.as_ref().map_or(&[], |turn| turn.as_str().as_bytes()),
        private.map_or(&[], |part| part.context_group.as_bytes()),
        private.map_or(&[], |part| &part.bytes),
        item.extras.as_deref().unwrap_or_default().as_bytes(),
        body,
    ];
    checksum("mainstay/item/1", &fields)
}

/// Covers all of a queued message.
pub(crate) fn message_checksum(message: &QueuedMessage, content: &[u8]) -> Checksum {
    let (accepted, at) = (message.accepted.0.to_le_bytes(), message.at.0.to_le_bytes());
    let delivery = delivery_word(message.delivery).as_bytes();
    checksum("mainstay/queued/1", &[&accepted, &at, message.submission.as_str().as_bytes(), delivery, content])
}

/// Covers a session's state.
pub(crate) fn state_checksum(snapshot: &[u8]) -> Checksum {
    checksum("mainstay/state/1", &[snapshot])
}
