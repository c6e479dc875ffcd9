//! Messages that wait.

use mainstay_protocol::AcceptedOrdinal;
use mainstay_session::{Queued, QueuedMessage};
use rusqlite::{Connection, OptionalExtension, Row};

use super::find_session;
use crate::{
    ReadError,
    codec::{Columns, delivery_of, impossible, int},
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
    let Some(key) = find_session(connection, lane)? else {
        return Ok(None);
    };
    let mut statement = connection.prepare_cached(
        "SELECT accepted, submission, delivery, at, content, checksum FROM queue
         WHERE tenant = ?1 AND session = ?2 AND accepted = ?3",
    )?;
    statement.query_row([key.tenant, key.session, int(accepted.0)], read_message).optional().map_err(damaged_or)
}

fn read_message(row: &Row<'_>) -> rusqlite::Result<QueuedMessage> {
    let message = QueuedMessage {
        accepted: AcceptedOrdinal(row.number(0)?),
        submission: row.id(1)?,
        delivery: delivery_of(row.text(2)?).ok_or_else(|| impossible(2))?,
        at: row.time(3)?,
        content: serde_json::from_slice(row.bytes(4)?).map_err(|_| impossible(4))?,
    };
    if message_checksum(&message, row.bytes(4)?) == row.bytes(5)? { Ok(message) } else { Err(impossible(5)) }
}

/// A row that could be read but not understood is damaged; anything else is an error of the store.
fn damaged_or(error: rusqlite::Error) -> ReadError {
    if crate::errors::code_of(&error).is_none() { DAMAGED } else { error.into() }
}
