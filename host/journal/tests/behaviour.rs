//! Runs the journal's integration tests with this crate alone; `mainstay-tests` has them in its one binary.

#![allow(unreachable_pub, reason = "the modules are shared with another crate")]

#[path = "../../../tests/src/journal/mod.rs"]
mod journal;
