//! Why a backup was not restored.

use std::io;

use crate::{
    OpenError,
    errors::{code_of, is_full},
};

/// Why a backup was not restored. What was in the data folder is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The folder holds no backup.
    #[error("this is no backup of a journal: {0}; name the folder that `mainstay journal backup` made")]
    NotABackup(&'static str),
    /// A newer build made it.
    #[error("the backup was made by a newer build (its page has version {0}); use that one")]
    TooNew(u32),
    /// A file of it is not what it was.
    #[error("`{file}` of the backup {what}; the backup can't be trusted, use another one")]
    Altered {
        /// The file, in the backup.
        file: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The store in it is damaged.
    #[error("the journal in the backup is damaged ({0}); use another backup")]
    Damaged(String),
    /// There is a journal.
    #[error("the data folder has a journal; to move it aside and restore in its place, say so with --replace")]
    Occupied,
    /// There is something else.
    #[error("the data folder is not empty and holds no journal; name a new folder, or an empty one")]
    NotEmpty,
    /// There is no room.
    #[error("the disk is full: the data folder is as it was; free some space and try again")]
    DiskFull,
    /// A host has the folder, or the store can't be used by this build.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The file system refused something.
    #[error("could not {doing}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// SQLite refused something.
    #[error("could not prepare the journal: SQLite error {code}; the log has the details")]
    Sqlite {
        /// SQLite's extended result code.
        code: i32,
    },
}

impl RestoreError {
    pub(super) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            _ => Self::Io { doing, source },
        }
    }

    pub(super) fn altered(file: &str, what: &'static str) -> Self {
        Self::Altered { file: file.to_owned(), what }
    }
}

impl From<rusqlite::Error> for RestoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        tracing::error!(%error, "the restored journal could not be prepared");
        match code_of(&error) {
            _ if is_full(&error) => Self::DiskFull,
            Some(DatabaseCorrupt | NotADatabase) | None => Self::Damaged("it can't be read".to_owned()),
            Some(_) => Self::Sqlite { code: error.sqlite_error().map_or(0, |error| error.extended_code) },
        }
    }
}
