//! One module for each import. In a component they ask the host; natively they ask the stand-in host of `testing`.

pub mod blobs;
pub mod catalog;
pub mod context;
pub mod current_step;
pub mod log;
pub mod models;
pub mod plugin_state;
pub mod progress;
pub mod secrets;
pub mod session_state;
pub mod suspension;
pub mod transcript;

#[cfg(target_arch = "wasm32")]
use crate::bindings::imports::mainstay::plugin as host;
#[cfg(not(target_arch = "wasm32"))]
use crate::testing::host;

pub use context::config;
