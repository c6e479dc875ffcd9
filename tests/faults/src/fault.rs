//! What can be made to fail: the nth operation of a class, once or for good.

use rusqlite::ffi;

/// What SQLite asks of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Opening a file, making it if need be.
    Open,
    /// Reading from a file.
    Read,
    /// Writing to a file.
    Write,
    /// Making what was written durable.
    Sync,
    /// Cutting a file.
    Truncate,
    /// Deleting a file.
    Delete,
    /// Mapping shared memory.
    ShmMap,
}

/// Which file an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The database.
    Database,
    /// Its write-ahead log.
    Wal,
    /// Any other: a rollback journal, a temporary file.
    Other,
}

/// What happens instead of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing is done, and SQLite gets this result code.
    Fail(i32),
    /// Half of a write is done, and then SQLite gets this result code. Other operations fail with nothing done.
    Short(i32),
    /// Nothing is done, and SQLite is told that all went well.
    Swallow,
}

/// SQLite's result codes for what fails.
pub mod code {
    pub use rusqlite::ffi::{
        SQLITE_CANTOPEN, SQLITE_FULL, SQLITE_IOERR_DELETE, SQLITE_IOERR_FSYNC, SQLITE_IOERR_READ, SQLITE_IOERR_SHMMAP,
        SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_WRITE,
    };
}

/// An operation that will not go as usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub(crate) class: Class,
    pub(crate) role: Option<Role>,
    pub(crate) nth: u64,
    pub(crate) lasting: bool,
    pub(crate) effect: Effect,
}

impl Fault {
    /// The `nth` operation of a class from now on, counted from 1, and only that one.
    pub const fn nth(class: Class, nth: u64, effect: Effect) -> Self {
        Self { class, role: None, nth, lasting: false, effect }
    }

    /// Each operation of a class from now on.
    pub const fn each(class: Class, effect: Effect) -> Self {
        Self::nth(class, 1, effect).lasting()
    }

    /// Only operations on files of this role count.
    #[must_use]
    pub const fn of(mut self, role: Role) -> Self {
        self.role = Some(role);
        self
    }

    /// The nth and all after it.
    #[must_use]
    pub const fn lasting(mut self) -> Self {
        self.lasting = true;
        self
    }
}

/// A fault that waits for its operation.
#[derive(Debug)]
pub(crate) struct Armed {
    fault: Fault,
    seen: u64,
}

impl Armed {
    pub(crate) const fn new(fault: Fault) -> Self {
        Self { fault, seen: 0 }
    }

    /// Counts an operation; its effect when it is struck.
    pub(crate) fn strike(&mut self, class: Class, role: Role) -> Option<Effect> {
        let Fault { class: wanted, role: of, nth, lasting, effect } = self.fault;
        if class != wanted || of.is_some_and(|of| of != role) {
            return None;
        }
        self.seen += 1;
        (self.seen == nth || lasting && self.seen > nth).then_some(effect)
    }
}

impl Role {
    /// From the flags that SQLite opens a file with.
    pub(crate) const fn of_flags(flags: i32) -> Self {
        if flags & ffi::SQLITE_OPEN_MAIN_DB != 0 {
            Self::Database
        } else if flags & ffi::SQLITE_OPEN_WAL != 0 {
            Self::Wal
        } else {
            Self::Other
        }
    }

    /// From a file's name, where there is nothing else to go by.
    pub(crate) fn of_name(name: &str) -> Self {
        if name.ends_with("-wal") { Self::Wal } else { Self::Other }
    }
}
