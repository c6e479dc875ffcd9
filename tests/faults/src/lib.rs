//! A file system for SQLite that fails on demand and remembers everything: what tests need to see a store through broken disks
//! and lost power. Nothing of the product uses it.
//!
//! # Use
//!
//! [`Faults::register`] makes a file system of its own for a test; its [`name`](Faults::name) goes wherever a SQLite VFS is named
//! (`Options.vfs` of the journal). It passes everything to the platform's own, and on the way
//! - counts what SQLite does, by [`Class`] and [`Role`]: [`Faults::count`];
//! - lets the nth of something fail, once or for good: [`Faults::inject`], [`Faults::heal`];
//! - leaves out real syncs, and the waits of SQLite's busy handler, where a test has no use for them:
//!   [`Faults::skip_syncs`], [`Faults::skip_sleeps`];
//! - records each write, truncation, sync and deletion: [`Faults::record`], [`Faults::log`]. [`Faults::mark`] puts a test's own
//!   marks between them, such as "this was acknowledged now".
//!
//! A [`Disk`] replays a [`Log`] up to any position and [`crash`](Disk::crash)es there: the [`Image`] holds what one power loss
//! of many may have left. Written to a fresh folder, it is what a fresh process finds after the power is back.
//! One recording is about the files of one folder; files are known by their names.
//!
//! A test of whole turns does the same one floor up: it opens the driver's journal on the file system, marks what clients
//! were told, and opens a host on each image.
//!
//! # The model
//!
//! - What a file held when it was synced is there. Of what was written since, any part may be there, in any order, torn at
//!   sectors of 512 bytes or at pages of 4 KiB. A sector that was not written within a file that grew holds anything.
//! - A name that was made or deleted is durable once its folder was synced. SQLite does that with the first sync of a
//!   journal or log that it made, and with some deletions; until then either state may be found.
//! - A sync that failed has lost its grip: as on Linux, the writes before it look written to every reader and count as clean,
//!   so that no later sync covers them. Only writing them again helps.
//! - A write touches no byte outside its range (SQLite's "powersafe overwrite", which the platform's file system claims too).
//! - The shared memory beside a log (`-shm`) never survives.
//!
//! # Why there is `unsafe` here
//!
//! SQLite calls a file system through tables of C functions with raw pointers, and no safe wrapper passes on everything that
//! the write-ahead log needs (shared memory, locks, mapped reads). All of it is in `shim/`, which says why it is sound; what
//! fails, what is counted and what is recorded is decided in safe code behind one lock.

mod disk;
mod fault;
mod faults;
mod image;
mod log;
mod numbers;
mod shim;
mod state;
#[cfg(test)]
mod tests;

pub use disk::Disk;
pub use fault::{Class, Effect, Fault, Role, code};
pub use faults::Faults;
pub use image::{Image, Variant};
pub use log::{Event, FileId, Log};
pub use numbers::Numbers;
