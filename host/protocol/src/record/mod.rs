//! Records: the immutable facts of a session. A record is stored as its kind and a JSON body; a kind that this build does
//! not know is served as it is and locks nobody out.

mod legacy;
pub mod v1;

pub(crate) use legacy::feed_kind as legacy_feed_kind;
pub use v1::RecordBody;

use std::sync::Arc;

use crate::{Digest, Ordinal, Seq, SessionId, TenantId, Timestamp};

/// A record before it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRecord {
    /// When it was decided.
    pub at: Timestamp,
    /// What happened.
    pub body: RecordBody,
}

/// A record as the journal holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRecord {
    /// The owner of the session.
    pub tenant: TenantId,
    /// The session.
    pub session: SessionId,
    /// The position in the session, contiguous from 1.
    pub ordinal: Ordinal,
    /// The global position, when the record is a feed event.
    pub seq: Option<Seq>,
    /// When it was decided.
    pub at: Timestamp,
    /// The digest of kind and body as they were stored.
    pub digest: Digest,
    /// What happened.
    pub body: Arc<RecordBody>,
}

/// The digest of a record's stored bytes.
pub fn record_digest(kind: &str, at: Timestamp, body: &[u8]) -> Digest {
    Digest::of_fields("mainstay/record/1", &[kind.as_bytes(), &at.0.to_le_bytes(), body])
}

/// The running chain of a session: what came before, and this record at its place.
pub fn chain_digest(previous: Digest, ordinal: Ordinal, record: Digest) -> Digest {
    Digest::of_fields("mainstay/chain/1", &[previous.as_bytes(), &ordinal.0.to_le_bytes(), record.as_bytes()])
}
