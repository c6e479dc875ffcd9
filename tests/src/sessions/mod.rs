//! Sessions through the public API of the driver, on real SQLite, with every model, tool and middleware in the sandbox.

mod approvals;
mod barriers;
mod gates;
mod input;
mod interrupts;
mod leaving;
mod operations;
mod outcomes;
mod packages;
mod queueing;
mod replay;
mod requires;
mod runs;
mod stop;
mod swaps;
mod whole_outputs;
