//! Messages that wait: in, and out.

use mainstay_protocol::{AcceptedOrdinal, Digest};
use mainstay_session::QueuedMessage;
use rusqlite::{Connection, OptionalExtension, params};

use super::{Failure, blobs, integrity, sessions::SessionKey};
use crate::{
    CommitError,
    codec::{Checksum, PackedId, checksum, delivery_word, int},
    payload::{self, Payload},
};

/// A message that waits, encoded.
pub(super) struct PreparedMessage {
    pub(super) message: QueuedMessage,
    bytes: u64,
    checksum: Checksum,
    content: Vec<u8>,
    payload: Option<Payload>,
}

impl PreparedMessage {
    pub(super) fn new(mut message: QueuedMessage) -> Result<Self, CommitError> {
        let content = std::mem::take(&mut message.content);
        let bytes = content.iter().map(|part| part.bytes() as u64).sum();
        let encoded = payload::encode(&content).map_err(|_| integrity("content is JSON"))?;
        let (content, payload) = match Payload::if_large(encoded) {
            Ok(payload) => (Vec::new(), Some(payload)),
            Err(small) => (small, None),
        };
        let large = payload.as_ref().map(|payload| payload.digest);
        Ok(Self { bytes, checksum: message_checksum(&message, &content, large), content, payload, message })
    }
}

/// Covers all of a queued message as its row has it, and the digest of its content where that is elsewhere.
pub(crate) fn message_checksum(message: &QueuedMessage, content: &[u8], large: Option<Digest>) -> Checksum {
    let (accepted, at) = (message.accepted.0.to_le_bytes(), message.at.0.to_le_bytes());
    let delivery = delivery_word(message.delivery).as_bytes();
    let mut fields: Vec<&[u8]> = vec![&accepted, &at, message.submission.as_str().as_bytes(), delivery, content];
    fields.extend(large.as_ref().map(|digest| &digest.as_bytes()[..]));
    checksum("mainstay/queued/1", &fields)
}

pub(super) fn put(connection: &Connection, key: SessionKey, queued: &[PreparedMessage]) -> rusqlite::Result<()> {
    queued.iter().try_for_each(|message| insert(connection, key, message))
}

fn insert(connection: &Connection, key: SessionKey, prepared: &PreparedMessage) -> rusqlite::Result<()> {
    let message = &prepared.message;
    let content = std::str::from_utf8(&prepared.content)?;
    let blob = prepared.payload.as_ref().map(|payload| blobs::hold(connection, key, payload)).transpose()?;
    connection
        .prepare_cached(
            "INSERT INTO queue (tenant, session, accepted, submission, delivery, at, bytes, checksum, content, blob)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            key.tenant,
            key.session,
            int(message.accepted.0),
            PackedId(message.submission.as_str()),
            delivery_word(message.delivery),
            int(message.at.0),
            int(prepared.bytes),
            prepared.checksum,
            content,
            blob
        ])?;
    Ok(())
}

pub(super) fn take(connection: &Connection, key: SessionKey, unqueued: &[AcceptedOrdinal]) -> Result<(), Failure> {
    for accepted in unqueued {
        let gone: Option<Option<i64>> = connection
            .prepare_cached("DELETE FROM queue WHERE tenant = ?1 AND session = ?2 AND accepted = ?3 RETURNING blob")?
            .query_row([key.tenant, key.session, int(accepted.0)], |row| row.get(0))
            .optional()?;
        let blob = gone.ok_or(integrity("a message that leaves the queue was in it"))?;
        if let Some(blob) = blob {
            blobs::release(connection, key, blob)?;
        }
    }
    Ok(())
}
