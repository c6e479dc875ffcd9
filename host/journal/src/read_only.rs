//! A journal that is only read, without the folder's lock: beside a running host, or where none runs. It changes nothing and
//! brings nothing to this build's format.

use std::path::{Path, PathBuf};

use mainstay_protocol::{SessionId, TenantId};
use rusqlite::Connection;

use crate::{
    OpenError, ReadError,
    connection::{self, StoreFile},
    emptied,
    log_guard::LogGuard,
    migrations, restore,
    verify::{self, Depth, Progress, Report},
    write::Lane,
};

/// Memory for pages while a store is verified, in KiB.
const VERIFY_CACHE_KIB: i64 = 32 << 10;

/// The journal of a data folder, or a backup of one, for the operator's commands. Everything here blocks.
#[derive(Debug)]
pub struct ReadOnlyJournal {
    /// The database file.
    pub(crate) path: PathBuf,
    pub(crate) format: u32,
    file: StoreFile,
}

impl ReadOnlyJournal {
    /// Looks at the journal in a folder.
    ///
    /// # Errors
    /// There is none, its file has lost what was in it, it is of an older format, a newer build keeps it for itself, a restore was cut
    /// short, or the file system refused.
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        if restore::is_pending(folder) {
            return Err(OpenError::RestorePending);
        }
        emptied::refuse_to_read(folder)?;
        let file = StoreFile::of(folder, None);
        // Not by opening it: closing it again would drop the locks that SQLite holds on it in this process.
        match file.path.symlink_metadata() {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(OpenError::NoJournal),
            Err(error) => return Err(OpenError::io("look at the journal")(error)),
        }
        let path = file.path.clone();
        match Self::look(path.clone(), file) {
            // SQLite wants to make files beside a store, and can't in a folder that nobody may write to.
            Err(error) if refused(&error) && !companion(&path, "-wal").exists() => {
                let file = StoreFile { path: immutable(&path), vfs: None };
                Self::look(path, file)
            }
            looked => looked,
        }
    }

    fn look(path: PathBuf, file: StoreFile) -> Result<Self, OpenError> {
        let mut journal = Self { path, format: 0, file };
        journal.format = migrations::inspect_for_reading(&journal.connect()?)?;
        Ok(journal)
    }

    /// The format of the store.
    pub fn format(&self) -> u32 {
        self.format
    }

    /// Verifies the whole store and tells how far it is from time to time.
    ///
    /// # Errors
    /// The store can't be read at all, or a running host writes so much meanwhile that it would have to wait. What of the store is
    /// damaged is in the report.
    pub fn verify(&self, depth: Depth, mut tell: impl FnMut(Progress)) -> Result<Report, ReadError> {
        let mut connection = self.reader()?;
        let guard = LogGuard::on(&mut connection, &self.path, || {})?;
        // Rows that refer to each other lie apart: with SQLite's own 2 MiB, pages would be read again and again.
        connection.pragma_update(None, "cache_size", -VERIFY_CACHE_KIB)?;
        verify::all(&connection, depth, self.format, &|| guard.renew(), &mut tell)
    }

    /// Verifies one session; none when there is no such session.
    ///
    /// # Errors
    /// As for [`ReadOnlyJournal::verify`].
    pub fn verify_session(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        depth: Depth,
        mut tell: impl FnMut(Progress),
    ) -> Result<Option<Report>, ReadError> {
        let lane = Lane { tenant: tenant.clone(), session: session.clone() };
        let mut connection = self.reader()?;
        LogGuard::on(&mut connection, &self.path, || {})?;
        let transaction = connection.unchecked_transaction()?;
        verify::one(&transaction, &lane, depth, self.format, &mut tell)
    }

    pub(crate) fn reader(&self) -> Result<Connection, ReadError> {
        Ok(connection::open_reader(&self.file)?)
    }

    /// A connection for what may write elsewhere, such as a copy. The store itself is opened for reading.
    pub(crate) fn connect(&self) -> Result<Connection, OpenError> {
        connection::open_reader(&self.file).map_err(OpenError::sqlite("open the journal"))
    }
}

/// A file beside the store.
pub(crate) fn companion(store: &Path, suffix: &str) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn refused(error: &OpenError) -> bool {
    let refused = [rusqlite::ffi::SQLITE_CANTOPEN, rusqlite::ffi::SQLITE_READONLY];
    matches!(error, OpenError::Sqlite { code, .. } if refused.contains(&(code & 0xff)))
}

/// The name by which SQLite opens a file that nobody changes, without locks and without files beside it.
fn immutable(path: &Path) -> PathBuf {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    let name: String =
        bytes.map(|byte| if plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") }).collect();
    format!("file:{name}?immutable=1").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_immutable_store_is_read_without_files_beside_it() {
        let folder = tempfile::Builder::new().prefix("a store? 50%#").tempdir().unwrap();
        let path = folder.path().join("journal.sqlite");
        let made = Connection::open(&path).unwrap();
        made.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE a (b); INSERT INTO a VALUES (7)").unwrap();
        drop(made);
        let file = StoreFile { path: immutable(&path), vfs: None };
        let reader = connection::open_reader(&file).unwrap();
        assert_eq!(reader.query_row("SELECT b FROM a", [], |row| row.get::<_, i64>(0)), Ok(7));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_without_a_journal_says_so() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(ReadOnlyJournal::open(folder.path()), Err(OpenError::NoJournal)));
        assert!(matches!(ReadOnlyJournal::open(&folder.path().join("none")), Err(OpenError::NoJournal)));
        std::fs::write(folder.path().join("journal.sqlite"), "").unwrap();
        assert!(matches!(ReadOnlyJournal::open(folder.path()), Err(OpenError::NoJournal)));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was made");
    }
}
