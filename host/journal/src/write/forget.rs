//! Forgetting a session. Its name goes in one transaction: from then on nobody finds it, and nothing revives it. Its rows follow in
//! pieces, each small enough that other jobs don't wait long for it, and go on when the journal is opened again.
//!
//! What is removed is no longer read; it is not wiped. SQLite uses the pages again before the file grows, and until then
//! they may hold the old bytes; so may copies, backups, and the log until its next checkpoint. A `VACUUM` with no host
//! running, or a backup that is put in the journal's place, leaves no trace: both write only what is still there.

use mainstay_protocol::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::oneshot;

use super::{Failure, Job, Lane, SessionKey, blobs, integrity, sessions::session_checksum};
use crate::{
    CommitError, Committed,
    codec::{PackedId, int},
    host_tenant,
};

/// Rows that one piece removes, about.
const ROWS: usize = 500;
/// Payloads that one piece lets go of: each may have many pages.
const PAYLOADS: u32 = 8;

/// Takes a session's name away and leaves an entry in its place.
pub(crate) struct Forget {
    lane: Lane,
    at: Timestamp,
    reply: oneshot::Sender<Result<Committed<()>, CommitError>>,
    /// Whether it was this job that took the name away, when it was applied last.
    removed: bool,
}

impl Forget {
    pub(crate) fn new(lane: Lane, at: Timestamp, reply: oneshot::Sender<Result<Committed<()>, CommitError>>) -> Self {
        Self { lane, at, reply, removed: false }
    }
}

impl Job for Forget {
    fn lane(&self) -> Option<&Lane> {
        Some(&self.lane)
    }

    fn apply(&mut self, connection: &Connection) -> Result<(), Failure> {
        self.removed = false;
        if self.lane.tenant == host_tenant() {
            return Err(integrity("the host's own session is not forgotten").into());
        }
        if is_forgotten(connection, &self.lane)? {
            return Ok(());
        }
        let removed: Option<SessionKey> = connection
            .prepare_cached(
                "DELETE FROM sessions WHERE tenant = (SELECT tenant FROM tenants WHERE id = ?1) AND id = ?2
                 RETURNING tenant, session",
            )?
            .query_row(params![self.lane.tenant.as_str(), PackedId(self.lane.session.as_str())], |row| {
                Ok(SessionKey { tenant: row.get(0)?, session: row.get(1)? })
            })
            .optional()?;
        let key = removed.ok_or(CommitError::UnknownSession)?;
        connection
            .prepare_cached("INSERT INTO forgotten (tenant, id, session, at, checksum) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![
                key.tenant,
                PackedId(self.lane.session.as_str()),
                key.session,
                int(self.at.0),
                session_checksum(key.tenant, self.lane.session.as_str())
            ])?;
        self.removed = true;
        Ok(())
    }

    /// Its entry tells, and stays. Where that was there before, nothing can be told by it.
    fn landed(&self, connection: &Connection) -> rusqlite::Result<Option<bool>> {
        self.removed.then(|| is_forgotten(connection, &self.lane)).transpose()
    }

    fn leftovers(&self) -> Option<Leftovers> {
        Some(Leftovers::Made)
    }

    fn answer(self: Box<Self>, outcome: Result<(), CommitError>) {
        let _ = self.reply.send(outcome.map(|()| Committed::new(())));
    }
}

/// Whether a session was forgotten. Asked only where no session was found: nothing else waits for it.
pub(crate) fn is_forgotten(connection: &Connection, lane: &Lane) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM tenants t JOIN forgotten f ON f.tenant = t.tenant AND f.id = ?2 WHERE t.id = ?1)",
        )?
        .query_row(params![lane.tenant.as_str(), PackedId(lane.session.as_str())], |row| row.get(0))
}

/// What a job has to do with the rows that are left of forgotten sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leftovers {
    /// It leaves some.
    Made,
    /// It removes a piece of them; whether that was not the last.
    Removed { more: bool },
}

/// Removes one piece of what is left of forgotten sessions. The writer has one of these at a time, whatever is left.
#[derive(Default)]
pub(crate) struct Sweep {
    more: bool,
}

impl Sweep {
    /// Whether the last host left anything.
    pub(crate) fn is_needed(connection: &Connection) -> rusqlite::Result<bool> {
        Ok(next(connection)?.is_some())
    }
}

impl Job for Sweep {
    fn lane(&self) -> Option<&Lane> {
        None
    }

    fn apply(&mut self, connection: &Connection) -> Result<(), Failure> {
        self.more = match next(connection)? {
            None => false,
            Some(key) => {
                sweep(connection, key)?;
                next(connection)?.is_some()
            }
        };
        Ok(())
    }

    fn leftovers(&self) -> Option<Leftovers> {
        Some(Leftovers::Removed { more: self.more })
    }

    fn answer(self: Box<Self>, outcome: Result<(), CommitError>) {
        if let Err(error) = outcome {
            tracing::warn!(%error, "rows of forgotten sessions are left for now: the next commits take them along, or the next start");
        }
    }
}

/// A forgotten session of which rows are left.
fn next(connection: &Connection) -> rusqlite::Result<Option<SessionKey>> {
    connection
        .prepare_cached("SELECT tenant, session FROM forgotten WHERE session IS NOT NULL LIMIT 1")?
        .query_row([], |row| Ok(SessionKey { tenant: row.get(0)?, session: row.get(1)? }))
        .optional()
}

/// Removes one piece of a session, or, when there is none any more, its head, and the note that something is left.
fn sweep(connection: &Connection, key: SessionKey) -> rusqlite::Result<()> {
    if blobs::release_all(connection, key, PAYLOADS)? > 0 {
        return Ok(());
    }
    let mut room = ROWS;
    for piece in PIECES {
        room = room.saturating_sub(piece.remove(connection, key, room)?);
        if room == 0 {
            return Ok(());
        }
    }
    connection
        .prepare_cached("DELETE FROM heads WHERE tenant = ?1 AND session = ?2")?
        .execute([key.tenant, key.session])?;
    connection
        .prepare_cached("UPDATE forgotten SET session = NULL WHERE tenant = ?1 AND session = ?2")?
        .execute([key.tenant, key.session])?;
    Ok(())
}

/// The oldest rows of a table, up to the last key of about as many as there is room for.
struct Piece {
    /// The rows that go with those of the piece, in another table.
    before: Option<&'static str>,
    delete: &'static str,
}

impl Piece {
    fn remove(&self, connection: &Connection, key: SessionKey, most: usize) -> rusqlite::Result<usize> {
        let bounds = [key.tenant, key.session, int(most as u64)];
        if let Some(before) = self.before {
            connection.prepare_cached(before)?.execute(bounds)?;
        }
        connection.prepare_cached(self.delete)?.execute(bounds)
    }
}

macro_rules! oldest {
    ($table:literal, $key:literal) => {
        concat!(
            "DELETE FROM ",
            $table,
            " WHERE tenant = ?1 AND session = ?2 AND ",
            $key,
            " <= (SELECT max(",
            $key,
            ") FROM (SELECT ",
            $key,
            " FROM ",
            $table,
            " WHERE tenant = ?1 AND session = ?2 ORDER BY ",
            $key,
            " LIMIT ?3))"
        )
    };
}

/// Records go last, with their events: until then the session's other rows can still be told to be of it.
const PIECES: [Piece; 6] = [
    Piece { before: None, delete: oldest!("queue", "accepted") },
    Piece { before: None, delete: oldest!("submissions", "submission") },
    Piece {
        before: None,
        delete: "DELETE FROM plugin_state WHERE rowid IN
                 (SELECT rowid FROM plugin_state WHERE tenant = ?1 AND session = ?2 LIMIT ?3)",
    },
    Piece { before: None, delete: oldest!("executions", "number") },
    Piece { before: None, delete: oldest!("items", "item") },
    Piece {
        before: Some(
            "DELETE FROM feed WHERE seq IN (SELECT seq FROM records WHERE tenant = ?1 AND session = ?2 ORDER BY ordinal LIMIT ?3)
             AND tenant = ?1 AND session = ?2",
        ),
        delete: oldest!("records", "ordinal"),
    },
];
