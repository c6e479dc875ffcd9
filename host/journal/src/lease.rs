//! The lease: who may write. The folder's lock keeps a second host out; the epoch fences one that lost the lock and does not
//! know it (a folder on a network file system, a lock file that was deleted).

use rusqlite::Connection;

/// Takes the next epoch; whoever had the one before writes nothing any more.
pub(crate) fn take(connection: &Connection) -> rusqlite::Result<i64> {
    let sql = "UPDATE lease SET holder = randomblob(16), epoch = epoch + 1 RETURNING epoch";
    // In a transaction with an end of its own: the statement alone would be committed when it is reset, and an error there is
    // lost.
    let transaction = connection.unchecked_transaction()?;
    let epoch = transaction.query_row(sql, [], |row| row.get(0))?;
    transaction.commit()?;
    Ok(epoch)
}

/// The epoch that counts.
pub(crate) fn current(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("SELECT epoch FROM lease")?.query_row([], |row| row.get(0))
}
