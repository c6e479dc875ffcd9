//! A long read keeps a running host from starting its write-ahead log over. The guard ends such a read before the log has grown so far
//! that the host would have to refuse work: reads can be done again, work can't wait.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use rusqlite::Connection;

use crate::read_only::companion;

/// Bytes to which the log may grow under one read: three quarters of what a host allows.
pub const MOST_LOG: u64 = 192 << 20;

/// Steps of SQLite's machine after which it is looked: a few milliseconds.
const STEPS: i32 = 50_000;

/// Watches the log under a connection.
#[derive(Debug)]
pub(crate) struct LogGuard {
    log: PathBuf,
    bound: u64,
    /// More ends the read.
    most: Arc<AtomicU64>,
}

impl LogGuard {
    /// Watches from now on, and calls `tell` now and then. What the connection does fails as interrupted once the log is too large.
    pub(crate) fn on(
        connection: &mut Connection,
        store: &Path,
        tell: impl FnMut() + Send + 'static,
    ) -> rusqlite::Result<Self> {
        Self::with_bound(connection, store, MOST_LOG, tell)
    }

    fn with_bound(
        connection: &mut Connection,
        store: &Path,
        bound: u64,
        mut tell: impl FnMut() + Send + 'static,
    ) -> rusqlite::Result<Self> {
        let guard = Self { log: companion(store, "-wal"), bound, most: Arc::default() };
        guard.renew();
        let (log, most) = (guard.log.clone(), guard.most.clone());
        let look = move || {
            tell();
            bytes(&log) > most.load(Relaxed)
        };
        connection.progress_handler(STEPS, Some(look))?;
        Ok(guard)
    }

    /// The connection has let go of what it read, and begins a new read. A log that is large already is not its fault.
    pub(crate) fn renew(&self) {
        self.most.store(self.bound.max(bytes(&self.log)), Relaxed);
    }
}

/// Not by opening it: closing it again would drop the locks that SQLite holds on it in this process.
fn bytes(log: &Path) -> u64 {
    log.metadata().map_or(0, |log| log.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_ends_when_the_log_grows_under_it_and_the_next_one_may_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let writer = Connection::open(&store).unwrap();
        let grow = "INSERT INTO a SELECT randomblob(100000) FROM (VALUES (1), (2), (3))";
        writer.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE a (b)").unwrap();
        let mut reader = Connection::open(&store).unwrap();
        let guard = LogGuard::with_bound(&mut reader, &store, 100_000, || {}).unwrap();
        // It would take very long.
        let long =
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 200000000) SELECT count(*) FROM c";
        let query = |reader: &Connection, sql: &str| reader.query_row(sql, [], |row| row.get::<_, i64>(0));
        let reading = std::thread::spawn(move || {
            let answer = query(&reader, long);
            (reader, answer)
        });
        writer.execute_batch(grow).unwrap();
        let (reader, answer) = reading.join().unwrap();
        assert_eq!(answer.unwrap_err().sqlite_error_code(), Some(rusqlite::ErrorCode::OperationInterrupted));
        guard.renew();
        let enough = long.replace("200000000", "200000");
        assert_eq!(query(&reader, &enough), Ok(200_000));
    }
}
