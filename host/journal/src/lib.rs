//! The journal: Mainstay's memory, in one SQLite file a data folder.
//!
//! Everything durable goes through [`Journal`]. One thread writes: it commits what waits as a group, one transaction and one
//! fsync for all, and answers after it. Readers have connections of their own and never wait for it. What is durable comes
//! back as [`Committed`], which nobody else can make: effects that ask for it can't run before their barrier.
//!
//! This crate knows nothing of WebAssembly, HTTP or the driver, and no type of SQLite leaves it.

mod codec;
mod committed;
mod connection;
mod errors;
mod journal;
mod lease;
mod lock;
mod metrics;
mod migrations;
mod query;
mod read;
mod schema;
mod sqlite;
pub mod testing;
mod transition;
mod verify;
mod write;
mod writer;

pub use committed::Committed;
pub use errors::{CommitError, OpenError, ReadError};
pub use journal::{Journal, host_session, host_tenant};
pub use metrics::Metrics;
pub use query::{
    Damage, Damaged, Direction, MAX_PAGE, OpenedSession, Page, Place, Range, SessionCursor, SessionRow, SessionsQuery,
};
pub use sqlite::{Options, Probe, SqliteJournal};
pub use transition::{
    Commit, GenerationChange, GenerationOrigin, GenerationRow, NewSubmission, Priority, StateWrite, Transition,
};
pub use verify::Verdict;
