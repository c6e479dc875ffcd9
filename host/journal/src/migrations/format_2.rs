//! What format 2 gains that SQL alone can't make: a row for each turn, from the records with which turns begin and end.

use mainstay_protocol::{TurnId, record::RecordBody};
use rusqlite::{Connection, Row, params};

use crate::codec::{Columns, PackedId};

/// Records in key order, but for those of a session that has no head: its turns would refer to nothing. `CROSS JOIN` keeps SQLite from
/// starting at the kinds. `turn_ended` is the terminal record of stores
/// that are older than the list of kinds.
const TURNS: &str = "
    SELECT r.tenant, r.session, r.ordinal, k.name, r.body FROM records r CROSS JOIN kinds k ON k.kind = r.kind
    WHERE k.name IN ('turn_started', 'turn_completed', 'turn_aborted', 'turn_failed', 'turn_rejected', 'turn_ended')
    AND EXISTS (SELECT 1 FROM heads h WHERE h.tenant = r.tenant AND h.session = r.session)
    ORDER BY r.tenant, r.session, r.ordinal";

pub(super) fn fill_executions(connection: &Connection) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(TURNS)?;
    let mut rows = statement.query([])?;
    let mut walk = Walk { session: (0, 0), turns: 0, open: None };
    while let Some(row) = rows.next()? {
        walk.step(connection, row)?;
    }
    Ok(())
}

/// Where a walk over all sessions stands.
struct Walk {
    session: (i64, i64),
    turns: i64,
    open: Option<TurnId>,
}

impl Walk {
    /// A body that can't be read is passed: the turn then has no beginning, or no end. Reading it will say what is damaged.
    fn step(&mut self, connection: &Connection, row: &Row<'_>) -> rusqlite::Result<()> {
        let session = (row.get(0)?, row.get(1)?);
        if session != self.session {
            *self = Self { session, turns: 0, open: None };
        }
        let ordinal = row.get(2)?;
        match RecordBody::decode(row.text(3)?, row.bytes(4)?) {
            Some(RecordBody::TurnStarted(started)) => {
                self.begin(connection, &started.turn, ordinal)?;
                self.open = Some(started.turn);
            }
            Some(body) => {
                if let Some(ended) = body.turn_ended() {
                    self.end(connection, &ended.turn, ordinal)?;
                }
            }
            None => {}
        }
        Ok(())
    }

    fn begin(&mut self, connection: &Connection, turn: &TurnId, ordinal: i64) -> rusqlite::Result<()> {
        self.turns += 1;
        connection
            .prepare_cached(
                "INSERT INTO executions (tenant, session, number, turn, started) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![self.session.0, self.session.1, self.turns, PackedId(turn.as_str()), ordinal])?;
        Ok(())
    }

    /// The end of a turn whose beginning is damaged counts as a turn all the same.
    fn end(&mut self, connection: &Connection, turn: &TurnId, ordinal: i64) -> rusqlite::Result<()> {
        if self.open.take().as_ref() != Some(turn) {
            self.begin(connection, turn, ordinal)?;
        }
        connection
            .prepare_cached("UPDATE executions SET ended = ?4 WHERE tenant = ?1 AND session = ?2 AND number = ?3")?
            .execute([self.session.0, self.session.1, self.turns, ordinal])?;
        Ok(())
    }
}
