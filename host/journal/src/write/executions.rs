//! Turns, by number: where each began and where it ended. All else that is told of a turn is in those two records.

use mainstay_protocol::{
    Ordinal, TurnId,
    record::{RecordBody, StoredRecord},
};
use mainstay_session::State;
use rusqlite::{Connection, OptionalExtension, params};

use super::{Failure, integrity, sessions::Head};
use crate::codec::{Columns, PackedId, int};

/// Follows the turns that begin and end in a transition. Whether a turn runs is what the state said before it.
pub(super) fn follow(connection: &Connection, head: &Head, records: &[StoredRecord]) -> Result<(), Failure> {
    let mut running = head.in_turn;
    // Until a turn of this transition begins or ends, the one that runs is that of the stored state.
    let mut as_stored = running;
    for record in records {
        if let RecordBody::TurnStarted(started) = &*record.body {
            if running {
                return Err(integrity("a turn begins when none runs").into());
            }
            begin(connection, head, &started.turn, record.ordinal)?;
            (running, as_stored) = (true, false);
        } else if let Some(ended) = record.body.turn_ended() {
            if !running {
                return Err(integrity("a turn ends once, while it runs").into());
            }
            end(connection, head, &ended.turn, record.ordinal, as_stored)?;
            (running, as_stored) = (false, false);
        }
    }
    Ok(())
}

fn begin(connection: &Connection, head: &Head, turn: &TurnId, at: Ordinal) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO executions (tenant, session, number, turn, started)
             SELECT ?1, ?2, ifnull(max(number), 0) + 1, ?3, ?4 FROM executions WHERE tenant = ?1 AND session = ?2",
        )?
        .execute(params![head.key.tenant, head.key.session, PackedId(turn.as_str()), int(at.0)])?;
    Ok(())
}

/// The last turn of a session, as far as its rows tell.
struct Last {
    number: i64,
    turn: Option<String>,
    is_open: bool,
}

/// Whether the state before this transition says that a turn runs. Read only where the rows say otherwise.
fn runs(connection: &Connection, head: &Head, turn: &TurnId) -> rusqlite::Result<bool> {
    let state: Option<Vec<u8>> = connection
        .prepare_cached("SELECT state FROM heads WHERE tenant = ?1 AND session = ?2")?
        .query_row([head.key.tenant, head.key.session], |row| row.get(0))?;
    let state = state.and_then(|state| State::restore(&state, Vec::new()).ok());
    Ok(state.as_ref().and_then(State::turn).is_some_and(|running| running.id == *turn))
}

fn end(connection: &Connection, head: &Head, turn: &TurnId, at: Ordinal, as_stored: bool) -> Result<(), Failure> {
    let mut last = last(connection, head)?;
    match &last {
        Some(last) if last.is_open && last.turn.as_deref() == Some(turn.as_str()) => {}
        Some(last) if last.is_open && !(as_stored && runs(connection, head, turn)?) => {
            return Err(integrity("the turn that ends is the one that runs").into());
        }
        // It runs, and has no row: an older build wrote the record with which it began, and that is damaged; perhaps that with which
        // the turn before it ended is too. It must be able to end.
        _ => {
            begin(connection, head, turn, at)?;
            last = self::last(connection, head)?;
        }
    }
    connection
        .prepare_cached("UPDATE executions SET ended = ?4 WHERE tenant = ?1 AND session = ?2 AND number = ?3")?
        .execute(params![head.key.tenant, head.key.session, last.map(|last| last.number), int(at.0)])?;
    Ok(())
}

fn last(connection: &Connection, head: &Head) -> rusqlite::Result<Option<Last>> {
    connection
        .prepare_cached(
            "SELECT number, turn, ended IS NULL FROM executions
             WHERE tenant = ?1 AND session = ?2 ORDER BY number DESC LIMIT 1",
        )?
        .query_row([head.key.tenant, head.key.session], |row| {
            Ok(Last { number: row.get(0)?, turn: row.id(1).ok(), is_open: row.get(2)? })
        })
        .optional()
}
