//! All integration tests of the product, in one binary: through public APIs, on real SQLite, with real components in the
//! sandbox, and where something has to die, with real processes.
#![cfg(test)]

mod commands;
mod crash;
mod fuzz;
mod journal;
mod runtime;
mod sessions;
mod support;
