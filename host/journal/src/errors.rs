//! What can go wrong, by what the caller can do about it. The texts are fit for outsiders: no SQL and no paths in them; the
//! log has the rest.

use mainstay_protocol::{Digest, Ordinal, SubmissionId, cursor::StoreEpoch, op::Accepted};
use rusqlite::ErrorCode;

/// Why the journal could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another host holds the folder.
    #[error(
        "another host{} has this data folder open: attach to it (`mainstay run` does so by itself), stop it first, or name \
         another folder", .pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
    )]
    Locked {
        /// Its process id, if it could be read.
        pid: Option<u32>,
    },
    /// A newer build wrote the store, and says that this one must not use it.
    #[error(
        "the journal has format {found} and needs a build that knows at least {minimum}; this one knows {supported}: use the \
         newer build, or restore a backup that was made before the upgrade"
    )]
    TooNew {
        /// The format of the store.
        found: u32,
        /// What a build must know to use it.
        minimum: u32,
        /// What this build knows.
        supported: u32,
    },
    /// An older build wrote the store, and only a host that opens it to write brings it to this build's format.
    #[error(
        "the journal has format {found} and this build reads format {needed}; run the host once on this data folder"
    )]
    TooOld {
        /// The format of the store.
        found: u32,
        /// What this build reads.
        needed: u32,
    },
    /// There is none, and nothing was to be made.
    #[error("the folder has no journal: no host ever ran there; is it the right data folder?")]
    NoJournal,
    /// A restore has taken place and was cut short before its end.
    #[error("a restore of this data folder was cut short; run the host once, or restore again, and it is ended")]
    RestorePending,
    /// The journal's file has nothing in it, and a journal was there. Nothing was changed.
    #[error(
        "the journal's file is empty, and it held a journal before: nothing was changed; restore a backup, or name another \
         data folder to begin anew"
    )]
    Emptied,
    /// The file is something else.
    #[error("the file in the journal's place is no journal of Mainstay; move it away, or name another data folder")]
    NotAJournal,
    /// The store is damaged.
    #[error("the journal is damaged; restore a copy of the data folder")]
    Corrupt,
    /// Another process keeps the store locked.
    #[error("another program keeps the journal locked; close it and try again")]
    Busy,
    /// The disk is full.
    #[error("the disk is full: the journal needs room to open; free some space and try again")]
    DiskFull,
    /// The file system refused something.
    #[error("could not {doing}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// SQLite refused something.
    #[error("could not {doing}: SQLite error {code}; the log has the details")]
    Sqlite {
        /// What was being done.
        doing: &'static str,
        /// SQLite's extended result code.
        code: i32,
    },
}

/// Why a transition was not committed. Nothing of it is in the journal, unless the variant says otherwise.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// The session moved on: the transition was decided on an old state. Read the session again and decide anew.
    #[error("the session is at record {found}, and this transition was decided at {expected}")]
    Conflict {
        /// Where the transition was decided.
        expected: Ordinal,
        /// Where the session is.
        found: Ordinal,
    },
    /// The submission was accepted before.
    #[error("submission `{submission}` was accepted before")]
    Duplicate {
        /// Its id.
        submission: SubmissionId,
        /// The digest of what was accepted: another digest now means another payload under the same id.
        digest: Digest,
        /// The answer that it got, with `already` set.
        accepted: Accepted,
    },
    /// The session was forgotten: nothing revives it. Not retryable.
    #[error("the session was forgotten; nothing is written to it any more: use another id")]
    Gone,
    /// There is no such session.
    #[error("there is no such session; look for it with `mainstay session list`")]
    UnknownSession,
    /// Another writer has taken the store over. This one writes nothing any more.
    #[error("another host has taken this journal over; this one has stopped writing")]
    Fenced,
    /// The disk is full. Retryable once there is room.
    #[error("the disk is full: nothing was written; free some space and try again")]
    DiskFull,
    /// Another program kept the store locked for too long. Retryable.
    #[error("another program keeps the journal locked; try again")]
    Busy,
    /// Another program has had an old view of the journal open for so long that the log can't be moved into the database. Retryable
    /// once that program has let go.
    #[error(
        "another program has been reading the journal for so long that its log has grown to its bound: end that program's \
         read and try again"
    )]
    LogHeld,
    /// The disk reported an error. Whether the transition is durable is known only after the session was read again.
    #[error("the disk reported an error (SQLite code {code}); read the session again before going on")]
    Io {
        /// SQLite's extended result code.
        code: i32,
    },
    /// The store is damaged where this transition needs it.
    #[error("the journal is damaged; restore a copy of the data folder")]
    Corrupt,
    /// The journal is closed, or closing.
    #[error("the journal is closed")]
    Closed,
    /// The transition contradicts itself or the store: a bug of the host. Not retryable.
    #[error("the transition breaks a rule of the journal: {rule}")]
    Integrity {
        /// Which.
        rule: &'static str,
    },
}

impl CommitError {
    /// Whether the same transition may succeed later.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::DiskFull | Self::Busy | Self::LogHeld)
    }

    /// The error of a failed statement.
    pub(crate) fn of(error: &rusqlite::Error) -> Self {
        match code_of(error) {
            _ if is_full(error) => Self::DiskFull,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt,
            Some(ErrorCode::ConstraintViolation) => Self::Integrity { rule: "a row breaks a constraint" },
            Some(ErrorCode::TooBig) => Self::Integrity { rule: "a value is larger than the store can hold" },
            Some(_) => Self::Io { code: extended_code(error) },
            None => Self::Corrupt,
        }
    }
}

/// Why something could not be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A page of nothing was asked for.
    #[error("a page holds at least one row; ask for 1 to {max}", max = crate::query::MAX_PAGE)]
    ZeroLimit,
    /// The place in the feed belongs to another life of this store: it was restored from a backup, or put back by other means. What
    /// came after that place is not known here.
    #[error(
        "this place is not in the feed any more: the journal was restored or replaced (its epoch is now {current}); go on from \
         now, or begin from the start"
    )]
    EpochChanged {
        /// The life that the store has now.
        current: StoreEpoch,
    },
    /// A row that the answer stands or falls with is damaged.
    #[error("the {what} is damaged; what else the journal holds can still be read")]
    Damaged {
        /// What.
        what: &'static str,
    },
    /// An older build wrote the store, and only a host that opens it to write brings it to this build's format.
    #[error(
        "the journal has format {found} and this build reads format {needed}; run the host once on this data folder"
    )]
    TooOld {
        /// The format of the store.
        found: u32,
        /// What this build reads.
        needed: u32,
    },
    /// The session was forgotten: nothing of it can be read, and nothing revives it.
    #[error("the session was forgotten; nothing of it is left to read")]
    Gone,
    /// A newer build wrote what this one can't read.
    #[error("the {what} was written by a newer build; use that one")]
    TooNew {
        /// What.
        what: &'static str,
    },
    /// A long read was ended: under it the log of the running host would have grown too large. Retryable.
    #[error("the host writes so much that it would have to wait for this; try again when it has less to do")]
    LogGrown,
    /// The store is damaged.
    #[error("the journal is damaged; restore a copy of the data folder")]
    Corrupt,
    /// Another program kept the store locked for too long. Retryable.
    #[error("another program keeps the journal locked; try again")]
    Busy,
    /// The disk reported an error.
    #[error("the disk reported an error (SQLite code {code})")]
    Io {
        /// SQLite's extended result code.
        code: i32,
    },
    /// The journal is closed, or closing.
    #[error("the journal is closed")]
    Closed,
}

impl From<rusqlite::Error> for ReadError {
    fn from(error: rusqlite::Error) -> Self {
        tracing::error!(%error, "the journal could not be read");
        match code_of(&error) {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) | None => Self::Corrupt,
            Some(ErrorCode::OperationInterrupted) => Self::LogGrown,
            Some(_) => Self::Io { code: extended_code(&error) },
        }
    }
}

impl OpenError {
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::DiskFull,
            _ => Self::Io { doing, source },
        }
    }

    pub(crate) fn reading(doing: &'static str) -> impl FnOnce(ReadError) -> Self {
        move |error| match error {
            ReadError::Busy => Self::Busy,
            ReadError::Io { code } => Self::Sqlite { doing, code },
            _ => Self::Corrupt,
        }
    }

    pub(crate) fn sqlite(doing: &'static str) -> impl FnOnce(rusqlite::Error) -> Self {
        move |error| {
            tracing::error!(%error, "could not {doing}");
            match code_of(&error) {
                Some(ErrorCode::NotADatabase) => Self::NotAJournal,
                Some(ErrorCode::DatabaseCorrupt) | None => Self::Corrupt,
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
                Some(_) if is_full(&error) => Self::DiskFull,
                Some(_) => Self::Sqlite { doing, code: extended_code(&error) },
            }
        }
    }
}

/// SQLite's result code; none when the row could be read but not understood.
pub(crate) fn code_of(error: &rusqlite::Error) -> Option<ErrorCode> {
    error.sqlite_error_code()
}

/// Whether the disk has no room. Growing the shared memory beside the log reports an error of its own for that.
pub(crate) fn is_full(error: &rusqlite::Error) -> bool {
    code_of(error) == Some(ErrorCode::DiskFull) || extended_code(error) == rusqlite::ffi::SQLITE_IOERR_SHMSIZE
}

fn extended_code(error: &rusqlite::Error) -> i32 {
    error.sqlite_error().map_or(0, |error| error.extended_code)
}
