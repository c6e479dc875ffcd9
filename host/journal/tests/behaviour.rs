//! Runs the journal's integration tests with this crate alone; `mainstay-tests` has them in its one binary.

#[path = "../../../tests/src/journal/mod.rs"]
mod journal;
