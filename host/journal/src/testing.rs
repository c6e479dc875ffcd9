//! For tests only: ways around the journal's promises, to bring about what must never happen. Nothing of the product calls
//! these.

use std::path::Path;

use rusqlite::Connection;

use crate::{
    Commit, CommitError, Committed, OpenError, SqliteJournal, Transition,
    connection::{self, StoreFile},
    write::{CommitTransition, Prepared},
};

/// Runs SQL on the journal of a folder, over a connection of its own, whether a host has it open or not.
///
/// # Errors
/// The SQL fails.
pub fn execute_sql(folder: &Path, sql: &str) -> Result<(), OpenError> {
    let connection = open(folder)?;
    connection.execute_batch(sql).map_err(OpenError::sqlite("run a test's SQL"))
}

/// A number that some SQL selects.
///
/// # Errors
/// The SQL fails, or selects no number.
pub fn query_number(folder: &Path, sql: &str) -> Result<i64, OpenError> {
    let connection = open(folder)?;
    connection.query_row(sql, [], |row| row.get(0)).map_err(OpenError::sqlite("run a test's SQL"))
}

/// Takes the lease as another host would that does not see the folder's lock: the journal that is open is fenced.
///
/// # Errors
/// The store can't be written.
pub fn take_lease(folder: &Path) -> Result<(), OpenError> {
    execute_sql(folder, "UPDATE lease SET epoch = epoch + 1")
}

/// Commits a transition wherever the session stands: `expected` counts for nothing but the check against the state.
///
/// # Errors
/// As for a commit, without conflicts.
pub async fn plant(journal: &SqliteJournal, transition: Transition) -> Result<Committed<Commit>, CommitError> {
    journal.write(|reply| Ok(CommitTransition::without_comparison(Prepared::new(transition)?, reply))).await
}

fn open(folder: &Path) -> Result<Connection, OpenError> {
    connection::open_writer(&StoreFile::of(folder, None)).map_err(OpenError::sqlite("open the journal for a test"))
}
