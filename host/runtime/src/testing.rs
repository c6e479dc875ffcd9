//! For benches only: the engine itself, so that a floor can be measured on exactly the settings that plugins get.

use crate::Runtime;

/// The engine of a runtime.
pub fn engine(runtime: &Runtime) -> wasmtime::Engine {
    runtime.shared.engine.clone()
}
