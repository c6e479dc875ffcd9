//! The floor of durable records: a plain loop of SQLite statements over the journal's own tables, with the same rows, indexes and
//! group size, and nothing else: no checks, no digests, no encoding, no threads.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Result;
use rusqlite::{Connection, params};

/// A journal's file, written by hand.
pub(crate) struct Floor {
    connection: Connection,
    /// Each session's key, last ordinal and state.
    sessions: Vec<(i64, i64, i64, Vec<u8>)>,
    kind: i64,
    next: usize,
    body: String,
}

impl Floor {
    /// Takes over the file of a journal that is closed and holds some sessions, each with a record like those to come.
    pub(crate) fn over(folder: &Path) -> Result<Self> {
        let connection = Connection::open(folder.join("journal.sqlite"))?;
        for pragma in ["journal_mode = wal", "synchronous = full", "foreign_keys = on", "temp_store = memory"] {
            connection.execute_batch(&format!("PRAGMA {pragma}"))?;
        }
        connection.set_prepared_statement_cache_capacity(16);
        let sessions = connection
            .prepare("SELECT tenant, session, head, state FROM heads WHERE state NOT NULL")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let last = "SELECT kind, body FROM records WHERE seq NOT NULL ORDER BY seq DESC LIMIT 1";
        let (kind, body) = connection.query_row(last, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Self { connection, sessions, kind, next: 0, body })
    }

    /// Makes groups of records durable; tells how long each took.
    pub(crate) fn run(&mut self, groups: usize, size: usize) -> Result<Vec<Duration>> {
        (0..groups).map(|_| self.group(size)).collect()
    }

    fn group(&mut self, size: usize) -> Result<Duration> {
        let began = Instant::now();
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        for _ in 0..size {
            self.record()?;
        }
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(began.elapsed())
    }

    fn record(&mut self) -> Result<()> {
        let index = self.next % self.sessions.len();
        self.next += 1;
        let (tenant, session, head, state) = &mut self.sessions[index];
        *head += 1;
        let (at, digest) = (1_700_000_000_000_i64 + *head, [7_u8; 32]);
        self.connection
            .prepare_cached("INSERT INTO feed (tenant, session, ordinal, kind) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![*tenant, *session, *head, self.kind])?;
        let seq = self.connection.last_insert_rowid();
        self.connection
            .prepare_cached(
                "INSERT INTO records (tenant, session, ordinal, seq, at, kind, digest, chain, body)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8)",
            )?
            .execute(params![*tenant, *session, *head, seq, at, self.kind, digest, self.body])?;
        self.connection
            .prepare_cached(
                "UPDATE heads SET head = ?3, chain = ?4, active_at = ?5, state = ?6, checksum = ?7
                 WHERE tenant = ?1 AND session = ?2",
            )?
            .execute(params![*tenant, *session, *head, digest, at, state.as_slice(), [7_u8; 8]])?;
        Ok(())
    }
}
