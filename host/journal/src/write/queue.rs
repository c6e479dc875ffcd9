//! Messages that wait: in, and out.

use mainstay_protocol::AcceptedOrdinal;
use rusqlite::{Connection, params};

use super::{Failure, integrity, prepare::PreparedMessage, sessions::SessionKey};
use crate::codec::{PackedId, delivery_word, int};

pub(super) fn put(connection: &Connection, key: SessionKey, queued: &[PreparedMessage]) -> rusqlite::Result<()> {
    queued.iter().try_for_each(|message| insert(connection, key, message))
}

fn insert(connection: &Connection, key: SessionKey, prepared: &PreparedMessage) -> rusqlite::Result<()> {
    let message = &prepared.message;
    connection
        .prepare_cached(
            "INSERT INTO queue (tenant, session, accepted, submission, delivery, at, bytes, checksum, content)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
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
            prepared.encoded
        ])?;
    Ok(())
}

pub(super) fn take(connection: &Connection, key: SessionKey, unqueued: &[AcceptedOrdinal]) -> Result<(), Failure> {
    for accepted in unqueued {
        let gone = connection
            .prepare_cached("DELETE FROM queue WHERE tenant = ?1 AND session = ?2 AND accepted = ?3")?
            .execute([key.tenant, key.session, int(accepted.0)])?;
        if gone != 1 {
            return Err(integrity("a message that leaves the queue was in it").into());
        }
    }
    Ok(())
}
