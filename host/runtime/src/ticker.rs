//! The clock of the epochs: one OS thread that lets the engine interrupt guests. It holds the engine weakly and ends with
//! it.

use std::{io, thread, time::Duration};

use wasmtime::Engine;

/// Starts the thread.
pub(crate) fn start(engine: &Engine, tick: Duration) -> io::Result<()> {
    let engine = engine.weak();
    let run = move || {
        loop {
            thread::sleep(tick);
            let Some(engine) = engine.upgrade() else { return };
            engine.increment_epoch();
        }
    };
    thread::Builder::new().name("mainstay-ticker".to_owned()).stack_size(64 << 10).spawn(run).map(drop)
}
