//! Why no backup was made.

use std::io;

use super::MOST_LOG;
use crate::{
    OpenError, ReadError,
    errors::{code_of, is_full},
};

/// Why no backup was made. Nothing is left under its name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The name is taken.
    #[error("the folder for the backup exists and is not empty; name another one")]
    Exists,
    /// There is no room.
    #[error("the disk is full: nothing is left of the backup; free some space, or name a folder on another disk")]
    DiskFull,
    /// The store is damaged where it was read.
    #[error("the journal is damaged and can't be copied as it is; `mainstay journal verify` says where")]
    Damaged,
    /// Another process keeps the store locked.
    #[error("another program keeps the journal locked; close it and try again")]
    Busy,
    /// The host writes faster than the copy gets on.
    #[error(
        "the host wrote so much during the backup that its log has grown to {} MiB; nothing is left of the backup: try again \
         when the host has less to do", MOST_LOG >> 20
    )]
    LogGrown,
    /// The file system refused something.
    #[error("could not {doing}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// SQLite refused something.
    #[error("could not copy the journal: SQLite error {code}; the log has the details")]
    Sqlite {
        /// SQLite's extended result code.
        code: i32,
    },
    /// The copy can't be read back.
    #[error("the copy of the journal can't be read back: {0}")]
    Read(#[from] ReadError),
    /// The journal can't be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl BackupError {
    pub(super) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            _ => Self::Io { doing, source },
        }
    }

    pub(super) fn of(error: &rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseCorrupt, DatabaseLocked, NotADatabase, OperationInterrupted};
        tracing::error!(%error, "the journal could not be copied");
        match code_of(error) {
            _ if is_full(error) => Self::DiskFull,
            Some(OperationInterrupted) => Self::LogGrown,
            Some(DatabaseCorrupt | NotADatabase) | None => Self::Damaged,
            Some(DatabaseBusy | DatabaseLocked) => Self::Busy,
            Some(_) => Self::Sqlite { code: error.sqlite_error().map_or(0, |error| error.extended_code) },
        }
    }
}
