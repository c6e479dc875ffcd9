//! Sessions through the public API of the driver, on real SQLite, with every model, tool and middleware in the sandbox.

mod approvals;
mod barriers;
mod gates;
mod input;
mod interrupts;
mod leaving;
mod outcomes;
mod packages;
mod queueing;
mod replay;
mod runs;
mod stop;
mod swaps;
