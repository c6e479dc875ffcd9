//! The writer's connection, which is closed and opened again when it can't be trusted, and the log behind it, which must not
//! grow without bound.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use rusqlite::Connection;

use super::{
    reserve::Reserve,
    trouble::{self, Trouble},
};
use crate::{
    CommitError,
    connection::{self, Checkpoint, StoreFile},
    metrics::{Counters, ReserveState},
};

pub(super) struct Store {
    pub(super) epoch: i64,
    file: StoreFile,
    connection: Option<Connection>,
    /// The connection that met an error, until another one has emptied the log.
    doubted: Option<Connection>,
    reserve: Reserve,
    log: Log,
    counters: Arc<Counters>,
}

/// How long the log is and may be, in pages.
struct Log {
    /// After the last commit.
    pages: Arc<AtomicU32>,
    /// When it was last moved into the database, or could not be.
    checkpointed: u32,
    bounds: Bounds,
}

/// When something is done about the log, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    /// It has grown by this many: it is moved into the database, after the writer has answered.
    step: u32,
    /// It is moved even if the writer has to wait for readers.
    soft: u32,
    /// Only what must end is written.
    hard: u32,
}

impl Bounds {
    fn of(bytes: u64) -> Self {
        let hard = u32::try_from(bytes / connection::log_bytes(1)).unwrap_or(u32::MAX).max(1);
        Self { step: (hard / 4).clamp(1, 1_000), soft: hard / 2, hard }
    }
}

impl Store {
    /// Takes a connection that was opened just now. `log` bounds the log, in bytes.
    pub(super) fn new(
        file: StoreFile,
        epoch: i64,
        connection: Connection,
        reserve: Reserve,
        log: u64,
        counters: Arc<Counters>,
    ) -> rusqlite::Result<Self> {
        let log = Log { pages: Arc::default(), checkpointed: 0, bounds: Bounds::of(log) };
        let mut store = Self { epoch, file, connection: None, doubted: None, reserve, log, counters };
        // A process before this one may have been killed while its disk failed: see `reopen`. Readers of other programs, or a
        // disk without room, are no reason not to open.
        match store.empty(&connection, Checkpoint::PATIENT) {
            Err(error) if Trouble::of(&error) == Trouble::Broken => return Err(error),
            _ => {}
        }
        store.adopt(connection)?;
        // One that was given up to open at all is not looked for at once.
        if store.reserve.state() == ReserveState::Missing {
            store.reserve.restore();
        }
        store.note();
        Ok(store)
    }

    /// The connection, opened anew if need be.
    pub(super) fn connection(&mut self) -> rusqlite::Result<&mut Connection> {
        if self.connection.is_none() {
            self.reopen()?;
        }
        Ok(self.connection.as_mut().expect("it was opened just now"))
    }

    /// Opens the store after an error of the disk, and empties the log before anything else happens.
    ///
    /// After an fsync that failed the kernel may have dropped the pages that were to be written and still show them to readers, and the
    /// next fsync succeeds without them ("fsyncgate"). So nothing that was written to the log lately counts as durable because
    /// it can be read. The checkpoint writes all of it anew, into the database file, and syncs that.
    ///
    /// The connection that met the error stays open meanwhile. With it stays the log's index, in memory, which leaves out what a
    /// failed commit wrote; an opening without it would read the log from its start, take that over as committed, and could
    /// be cut off by a power loss with half of it in the database and none of it in the log.
    fn reopen(&mut self) -> rusqlite::Result<()> {
        let connection = connection::open_writer(&self.file)?;
        if !self.empty(&connection, Checkpoint::NEEDED)? {
            return Err(trouble::busy());
        }
        self.adopt(connection)?;
        self.doubted = None;
        self.counters.reopened.fetch_add(1, Relaxed);
        tracing::info!("the journal is open again");
        Ok(())
    }

    /// Lets a connection tell how long the log is. This also turns off SQLite's own checkpoints, which would run before the answer.
    fn adopt(&mut self, mut connection: Connection) -> rusqlite::Result<()> {
        let log_pages = self.log.pages.clone();
        connection.wal_hook(Some(move |_: &mut _, pages| {
            log_pages.store(u32::try_from(pages).unwrap_or(0), Relaxed);
            Ok(())
        }))?;
        self.connection = Some(connection);
        Ok(())
    }

    /// After most errors, closes the connection: the next transaction opens the store anew.
    pub(super) fn recover(&mut self, error: &rusqlite::Error) {
        tracing::error!(%error, "the journal could not write");
        if trouble::is_sound_after(error) {
            return;
        }
        if let Some(connection) = self.connection.take() {
            if connection.is_autocommit() && self.doubted.is_none() {
                self.doubted = Some(connection);
            } else {
                // It would keep its lock on the store.
                close(connection);
            }
        }
    }

    /// Whether jobs of normal priority are taken; those that must end are always.
    pub(super) fn admits(&mut self) -> Result<(), CommitError> {
        self.reserve.restore();
        self.note();
        if self.is_short_of_room() {
            return Err(CommitError::DiskFull);
        }
        if self.pages() < self.log.bounds.hard {
            return Ok(());
        }
        match self.checkpoint(Checkpoint::PATIENT) {
            Ok(()) if self.pages() >= self.log.bounds.hard => Err(CommitError::LogHeld),
            Ok(()) => Ok(()),
            Err(error) => Err(CommitError::of(&error)),
        }
    }

    /// Moves the log into the database when it has grown by enough.
    pub(super) fn tend(&mut self) {
        let pages = self.pages();
        if pages < self.log.checkpointed {
            self.log.checkpointed = 0;
        }
        if pages >= self.log.checkpointed.saturating_add(self.log.bounds.step) {
            let how = if pages >= self.log.bounds.soft { Checkpoint::PATIENT } else { Checkpoint::Passive };
            // What failed was logged, and is tried again when the log has grown as much again.
            let _ = self.checkpoint(how);
        }
        self.note();
    }

    /// On a full disk: moves the log into the database as far as there is room, so that it starts over in the room that it has.
    pub(super) fn make_room(&mut self) {
        let _ = self.checkpoint(Checkpoint::Passive);
    }

    /// Gives the reserve's room to the journal; false when there is none left.
    pub(super) fn spend_reserve(&mut self) -> bool {
        let given = self.reserve.give_up();
        if given {
            self.make_room();
        }
        self.note();
        given
    }

    /// Whether what room there is must be left to what must end.
    pub(super) fn is_short_of_room(&self) -> bool {
        self.reserve.state() == ReserveState::Spent
    }

    /// The log starts over at the next commit, unless readers still need it.
    fn checkpoint(&mut self, how: Checkpoint) -> rusqlite::Result<()> {
        self.log.checkpointed = self.pages();
        let Some(connection) = self.connection.take() else {
            return Ok(());
        };
        let done = self.empty(&connection, how);
        self.connection = Some(connection);
        match done {
            Ok(_) => {
                self.counters.checkpoints.fetch_add(1, Relaxed);
                Ok(())
            }
            Err(error) => {
                self.recover(&error);
                Err(error)
            }
        }
    }

    /// Whether all of the log is in the database.
    fn empty(&mut self, connection: &Connection, how: Checkpoint) -> rusqlite::Result<bool> {
        let log = connection::checkpoint(connection, how)?;
        if let Some(pages) = log.pages {
            self.log.pages.store(pages, Relaxed);
        }
        Ok(log.moved)
    }

    /// How long the log is, in pages.
    pub(super) fn pages(&self) -> u32 {
        self.log.pages.load(Relaxed)
    }

    /// Bytes that went to the log since it had so many pages.
    pub(super) fn written_since(&self, before: u32) -> u64 {
        let now = self.pages();
        // When it is shorter it has started over.
        connection::log_bytes(now.checked_sub(before).unwrap_or(now))
    }

    /// Puts what can be seen from outside into the metrics.
    pub(super) fn note(&self) {
        self.counters.note(connection::log_bytes(self.pages()), self.reserve.state());
    }

    pub(super) fn close(&mut self) {
        [self.connection.take(), self.doubted.take()].into_iter().flatten().for_each(close);
    }
}

fn close(connection: Connection) {
    if let Err((_, error)) = connection.close() {
        tracing::warn!(%error, "the journal's connection did not close cleanly");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_the_log_are_in_order_for_any_size() {
        assert_eq!(Bounds::of(256 << 20), Bounds { step: 1_000, soft: 32_326, hard: 64_652 });
        assert_eq!(Bounds::of(1), Bounds { step: 1, soft: 0, hard: 1 });
        assert_eq!(Bounds::of(u64::MAX).hard, u32::MAX);
    }
}
