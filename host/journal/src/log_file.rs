//! The write-ahead log as a file, which a fresh host writes anew before it relies on it.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::OpenError;

/// Bytes that are read and written at once.
const PIECE: usize = 1 << 20;

/// Writes the log that an earlier host left once more, byte for byte where it is, and syncs it; false when there is none.
///
/// That host may have met an fsync that failed. The kernel then shows what was written to everyone and counts it as clean: no later
/// fsync covers it (see `Store::reopen`). A host that was killed in that moment can't tell its successor, which reads the log as
/// if nothing were wrong. Moving such a log into the database is no way out: a power loss half way would leave the new
/// database beside a log that ends early, and its older pages would be laid over the newer ones. Written again, the
/// bytes are dirty again, and this fsync covers them; whoever is cut off meanwhile leaves the same bytes.
pub(crate) fn renew(connection: &Connection, database: &Path) -> Result<bool, OpenError> {
    if !log_of(database).metadata().is_ok_and(|log| log.len() > 0) {
        return Ok(false);
    }
    let doing = "write the journal's log anew";
    // Programs that don't know the folder's lock need this one to write.
    let _lock =
        Transaction::new_unchecked(connection, TransactionBehavior::Immediate).map_err(OpenError::sqlite(doing))?;
    rewrite(&log_of(database)).map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => OpenError::DiskFull,
        _ => OpenError::io(doing)(error),
    })?;
    Ok(true)
}

fn log_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

fn rewrite(path: &Path) -> io::Result<()> {
    let log = OpenOptions::new().read(true).write(true).open(path)?;
    let length = log.metadata()?.len();
    let (mut piece, mut at) = (vec![0; PIECE], 0);
    while at < length {
        let size = usize::try_from(length - at).unwrap_or(PIECE).min(PIECE);
        again(&log, &mut piece[..size], at)?;
        at += size as u64;
    }
    log.sync_all()
}

fn again(log: &File, piece: &mut [u8], at: u64) -> io::Result<()> {
    log.read_exact_at(piece, at)?;
    log.write_all_at(piece, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_the_same_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("db");
        let writer = Connection::open(&database).unwrap();
        writer.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())).unwrap();
        assert!(!renew(&writer, &database).unwrap(), "there is none");
        writer.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (randomblob(3000000))").unwrap();
        let before = std::fs::read(log_of(&database)).unwrap();
        assert!(before.len() > 2 * PIECE);
        let other = Connection::open(&database).unwrap();
        assert!(renew(&other, &database).unwrap());
        assert!(std::fs::read(log_of(&database)).unwrap() == before);
        assert!(other.is_autocommit());
        writer.execute_batch("BEGIN IMMEDIATE").unwrap();
        other.busy_timeout(std::time::Duration::ZERO).unwrap();
        assert!(matches!(renew(&other, &database), Err(OpenError::Busy)));
    }
}
