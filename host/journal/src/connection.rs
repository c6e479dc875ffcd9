//! Opening the database file: the same settings for every connection, in one place.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, config::DbConfig};

/// The database file in the data folder.
const FILE: &str = "journal.sqlite";

/// How long a connection waits for a lock of another program.
const BUSY: Duration = Duration::from_secs(5);

/// How long a checkpoint waits for readers: every session waits with it.
const CHECKPOINT_WAIT: Duration = Duration::from_millis(100);

/// Statements that a connection keeps prepared: more than there are.
const STATEMENTS: usize = 128;

/// Fixed when the file is made.
const PAGE_SIZE: u32 = 4096;

/// The log shrinks to this after a checkpoint that emptied it.
const WAL_LIMIT: i64 = 64 << 20;

/// Where the database is, and through which of SQLite's file systems.
#[derive(Clone, Debug)]
pub(crate) struct StoreFile {
    pub(crate) path: PathBuf,
    pub(crate) vfs: Option<&'static str>,
}

impl StoreFile {
    /// The journal of a data folder.
    pub(crate) fn of(folder: &Path, vfs: Option<&'static str>) -> Self {
        Self { path: folder.join(FILE), vfs }
    }
}

/// The one connection that writes.
pub(crate) fn open_writer(file: &StoreFile) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = open(file, flags)?;
    connection.pragma_update(None, "page_size", PAGE_SIZE)?;
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update_and_check(None, "journal_size_limit", WAL_LIMIT, |_| Ok(()))?;
    Ok(connection)
}

/// A connection that can't write, and never migrates.
pub(crate) fn open_reader(file: &StoreFile) -> rusqlite::Result<Connection> {
    let connection = open(file, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// Moves the log into the database as far as readers allow; with `wait`, gives readers a moment to let go and empties the log.
pub(crate) fn checkpoint(connection: &Connection, wait: bool) -> rusqlite::Result<()> {
    if !wait {
        return connection.pragma(None, "wal_checkpoint", "PASSIVE", |_| Ok(()));
    }
    connection.busy_timeout(CHECKPOINT_WAIT)?;
    let done = connection.pragma(None, "wal_checkpoint", "TRUNCATE", |_| Ok(()));
    connection.busy_timeout(BUSY)?;
    done
}

fn open(file: &StoreFile, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = match file.vfs {
        Some(vfs) => Connection::open_with_flags_and_vfs(&file.path, flags, vfs)?,
        None => Connection::open_with_flags(&file.path, flags)?,
    };
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // A statement's plan does not depend on the values bound to it. Otherwise SQLite prepares some anew for each execution.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    Ok(connection)
}
