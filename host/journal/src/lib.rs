//! The journal: Mainstay's memory, in one SQLite file a data folder.
//!
//! Everything durable goes through [`Journal`]. One thread writes: it commits what waits as a group, one transaction and one
//! fsync for all, and answers after it. Readers have connections of their own and never wait for it. What is durable comes
//! back as [`Committed`], which nobody else can make: effects that ask for it can't run before their barrier.
//!
//! This crate knows nothing of WebAssembly, HTTP or the driver, and no type of SQLite leaves it.

pub mod backup;
mod codec;
mod committed;
mod connection;
mod emptied;
mod errors;
mod feed;
mod folder_copy;
mod journal;
mod lease;
mod lock;
mod log_file;
mod log_guard;
mod metrics;
mod migrations;
mod payload;
mod query;
mod read;
mod read_only;
pub mod restore;
mod schema;
mod sqlite;
pub mod stats;
pub mod testing;
mod transition;
pub mod verify;
mod write;
mod writer;

pub use committed::Committed;
pub use errors::{CommitError, OpenError, ReadError};
pub use feed::{DamagedEvent, FeedDelivery, FeedFilter, FeedPage, FeedQuery, FeedSubscription};
pub use journal::{Journal, host_session, host_tenant};
pub use metrics::{Histogram, Metrics, ReserveState};
pub use query::{
    Damage, Damaged, Direction, Execution, MAX_PAGE, MAX_PAGE_BYTES, OpenedSession, Page, Place, Range, RunState,
    SessionCursor, SessionRow, SessionsQuery,
};
pub use read::{Batch, Replay};
pub use read_only::ReadOnlyJournal;
pub use sqlite::{Options, Probe, SqliteJournal};
pub use transition::{
    Commit, GenerationChange, GenerationOrigin, GenerationRow, NewSubmission, Priority, StateWrite, Transition,
};
