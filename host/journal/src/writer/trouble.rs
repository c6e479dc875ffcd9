//! What a failed group means for its jobs and for the store.

use rusqlite::{Error, ErrorCode, ffi};

use crate::{CommitError, errors};

/// How far a group came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The store could not be opened again.
    Opening,
    /// A job could not be applied, or no transaction begun. Nothing of the group is in the store.
    Applying,
    /// The commit failed. Whether the group is in the store is not known.
    Committing,
}

/// A group that failed as a whole.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) error: Error,
    pub(super) stage: Stage,
}

impl Failed {
    pub(super) fn at(stage: Stage) -> impl FnOnce(Error) -> Self {
        move |error| Self { error, stage }
    }

    pub(super) fn trouble(&self) -> Trouble {
        Trouble::of(&self.error)
    }

    pub(super) fn outcome(&self) -> CommitError {
        CommitError::of(&self.error)
    }

    /// Whether the group may be in the store all the same. A commit that ended in good order wrote nothing that counts.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.stage == Stage::Committing && !is_sound_after(&self.error)
    }
}

/// What is wrong, by what helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Room.
    Full,
    /// Waiting: another program has the lock.
    Busy,
    /// Opening the store anew.
    Broken,
}

impl Trouble {
    pub(super) fn of(error: &Error) -> Self {
        match errors::code_of(error) {
            _ if errors::is_full(error) => Self::Full,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            _ => Self::Broken,
        }
    }
}

/// Whether a connection that met an error is as good as before: SQLite ends a transaction for want of room or of a lock in good
/// order. After anything else nothing that the connection has in memory is trusted.
pub(super) fn is_sound_after(error: &Error) -> bool {
    matches!(errors::code_of(error), Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// What SQLite would say of a lock that it did not get.
pub(super) fn busy() -> Error {
    Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), None)
}
