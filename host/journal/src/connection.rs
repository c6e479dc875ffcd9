//! Opening the database file: the same settings for every connection, in one place.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, config::DbConfig};

/// The database file in the data folder.
pub(crate) const FILE: &str = "journal.sqlite";

/// How long a connection waits for a lock of another program.
const BUSY: Duration = Duration::from_secs(5);

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
    use_log(&connection)?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update_and_check(None, "journal_size_limit", WAL_LIMIT, |_| Ok(()))?;
    Ok(connection)
}

/// A connection to look at a store that was cut off in the middle of a rollback journal: only one that can write may bring it
/// back to what it was. It changes nothing else.
pub(crate) fn open_to_roll_back(file: &StoreFile) -> rusqlite::Result<Connection> {
    open(file, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

/// A connection that can't write, and never migrates.
pub(crate) fn open_reader(file: &StoreFile) -> rusqlite::Result<Connection> {
    let connection = open(file, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// How a checkpoint treats readers that need the log.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Checkpoint {
    /// It moves what it can without them.
    Passive,
    /// It gives them this long to let go, and then empties the log.
    Emptying(Duration),
}

impl Checkpoint {
    /// Between groups every session waits with it.
    pub(crate) const PATIENT: Self = Self::Emptying(Duration::from_millis(100));
    /// Nothing goes on without it.
    pub(crate) const NEEDED: Self = Self::Emptying(BUSY);
}

/// The log after a checkpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log {
    /// Its pages; none when SQLite did not look.
    pub(crate) pages: Option<u32>,
    /// Whether all of it is in the database, and with an emptying checkpoint nothing is left of it.
    pub(crate) moved: bool,
}

/// Moves the log into the database.
pub(crate) fn checkpoint(connection: &Connection, how: Checkpoint) -> rusqlite::Result<Log> {
    let sql = match how {
        Checkpoint::Passive => "PRAGMA wal_checkpoint(PASSIVE)",
        Checkpoint::Emptying(wait) => {
            connection.busy_timeout(wait)?;
            "PRAGMA wal_checkpoint(TRUNCATE)"
        }
    };
    let done = connection.query_row(sql, [], |row| {
        let (busy, pages, moved): (bool, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(Log { pages: u32::try_from(pages).ok(), moved: !busy && moved == pages })
    });
    connection.busy_timeout(BUSY)?;
    done
}

/// What a log of so many pages takes: each has a header of its own, and so has the log.
pub(crate) const fn log_bytes(pages: u32) -> u64 {
    if pages == 0 { 0 } else { 32 + pages as u64 * (PAGE_SIZE as u64 + 24) }
}

/// Turns on the write-ahead log. The statement is run to its end: only then SQLite changes the file, and whoever reads the answer
/// alone never hears that it failed, and goes on with a rollback journal, whose deletion no power loss is safe from.
fn use_log(connection: &Connection) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("PRAGMA journal_mode = wal")?;
    let (mut answer, mut is_on) = (statement.query([])?, false);
    while let Some(row) = answer.next()? {
        is_on = row.get::<_, String>(0)?.eq_ignore_ascii_case("wal");
    }
    if is_on {
        return Ok(());
    }
    // A file system without shared memory: nothing else makes SQLite refuse without an error of its own.
    Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_SHMOPEN), None))
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
