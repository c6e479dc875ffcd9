//! Messages that wait.

use mainstay_protocol::AcceptedOrdinal;
use mainstay_session::{Queued, QueuedMessage};
use rusqlite::{Connection, OptionalExtension, Row};

use super::{blobs, find_session};
use crate::{
    ReadError,
    codec::{Columns, delivery_of, impossible, int},
    payload,
    write::{Lane, SessionKey, message_checksum},
};

const DAMAGED: ReadError = ReadError::Damaged { what: "queue of the session" };

/// A session's queue in order, without the contents.
pub(crate) fn queue(connection: &Connection, key: SessionKey) -> Result<Vec<Queued>, ReadError> {
    let mut statement = connection.prepare_cached(
        "SELECT accepted, submission, delivery, bytes FROM queue WHERE tenant = ?1 AND session = ?2 ORDER BY accepted",
    )?;
    let rows = statement.query_map([key.tenant, key.session], |row| {
        Ok(Queued {
            accepted: AcceptedOrdinal(row.number(0)?),
            submission: row.id(1)?,
            delivery: delivery_of(row.text(2)?).ok_or_else(|| impossible(2))?,
            bytes: row.number(3)?,
        })
    })?;
    rows.collect::<rusqlite::Result<_>>().map_err(damaged_or)
}

/// A message with its content.
pub(crate) fn queued(
    connection: &Connection,
    lane: &Lane,
    accepted: AcceptedOrdinal,
) -> Result<Option<QueuedMessage>, ReadError> {
    match find_session(connection, lane)? {
        Some(key) => queued_of(connection, key, accepted),
        None => Ok(None),
    }
}

/// The same in a session that is known by its numbers.
pub(crate) fn queued_of(
    connection: &Connection,
    key: SessionKey,
    accepted: AcceptedOrdinal,
) -> Result<Option<QueuedMessage>, ReadError> {
    let mut statement = connection.prepare_cached(
        "SELECT accepted, submission, delivery, at, content, checksum, blob FROM queue
         WHERE tenant = ?1 AND session = ?2 AND accepted = ?3",
    )?;
    let read = |row: &Row<'_>| read_message(connection, row);
    statement.query_row([key.tenant, key.session, int(accepted.0)], read).optional().map_err(damaged_or)
}

fn read_message(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<QueuedMessage> {
    let mut message = QueuedMessage {
        accepted: AcceptedOrdinal(row.number(0)?),
        submission: row.id(1)?,
        delivery: delivery_of(row.text(2)?).ok_or_else(|| impossible(2))?,
        at: row.time(3)?,
        content: Vec::new(),
    };
    let damaged = |_| impossible(6);
    let stored = match row.get::<_, Option<i64>>(6)? {
        Some(blob) => Some(blobs::find(connection, blob)?.map_err(damaged)?),
        None => None,
    };
    if message_checksum(&message, row.bytes(4)?, stored.map(|stored| stored.digest)) != row.bytes(5)? {
        return Err(impossible(5));
    }
    let content = match stored {
        Some(stored) => blobs::whole(connection, stored)?.map_err(damaged)?,
        None => row.bytes(4)?.to_vec(),
    };
    message.content = payload::decode(&content).ok_or_else(|| impossible(4))?;
    Ok(message)
}

/// A row that could be read but not understood is damaged; anything else is an error of the store.
fn damaged_or(error: rusqlite::Error) -> ReadError {
    if crate::errors::code_of(&error).is_none() { DAMAGED } else { error.into() }
}
