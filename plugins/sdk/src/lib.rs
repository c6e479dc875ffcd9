//! Write plugins for Mainstay in Rust: one trait for each thing that a plugin can serve, one macro that exports it.
//!
//! A plugin is a WebAssembly component. What it exports says what it can serve; what it may do is the operator's grant.
//! A tool with typed arguments is this much:
//!
//! ```
//! use mainstay_sdk::prelude::*;
//!
//! /// What `add` takes.
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct Add {
//!     /// The first number.
//!     a: f64,
//!     /// The second number.
//!     b: f64,
//! }
//!
//! struct Calc;
//!
//! impl Tools for Calc {
//!     fn toolbox() -> Toolbox {
//!         Toolbox::new().with(
//!             Tool::new("add", "Adds two numbers.", |add: Add| Ok(format!("{}", add.a + add.b)))
//!                 .pure()
//!                 .parallel()
//!                 .unattended(),
//!         )
//!     }
//! }
//!
//! mainstay_sdk::export!(Calc: tools);
//! ```
//!
//! Build it with `cargo build --release --target wasm32-wasip2`. In an ordinary `cargo test` the same code runs natively,
//! against the stand-in host of [`testing`].

#[doc(hidden)]
pub mod bindings;

mod content;
mod errors;
mod export;
mod exports;
mod imports;
mod suspend;
pub mod testing;
mod toolbox;

pub use content::text_of;
pub use exports::*;
pub use imports::*;
pub use suspend::{Answer, ask, wait};
pub use toolbox::{IntoOutput, Json, NoArguments, Outcome, Tool, Toolbox, parse_arguments};

#[doc(no_inline)]
pub use {schemars, serde, serde_json};

/// Types that several exports and imports share.
pub mod types {
    use crate::bindings::imports::mainstay::plugin as wit;

    pub use wit::content::{Extension, Media, Part, Source};
    pub use wit::context::PluginIdentity;
    pub use wit::errors::{Error, ErrorKind};
    pub use wit::items::{CallResult, Item, ItemBody, Message, Notice, Role, ToolCall};
    pub use wit::model_data::{Finish, FinishReason, ModelRequest, ToolChoice, ToolOffer, Usage};
    pub use wit::outcomes::{Grounds, Interruption};
    pub use wit::suspension::{Cause, Form, NeedInput, Resumption, Wait};
    pub use wit::tool_definitions::{Approval, Effect, Execution, ToolDefinition};
}

/// Everything that most plugins need, in one import.
pub mod prelude {
    pub use crate::exports::*;
    pub use crate::imports::*;
    pub use crate::suspend::{Answer, ask, wait};
    pub use crate::toolbox::{IntoOutput, Json, NoArguments, Outcome, Tool, Toolbox};
    pub use crate::types::*;
    pub use crate::{debug, error, info, warn};
    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};
}

/// Language and version of this SDK, as written into each plugin.
#[doc(hidden)]
pub const PROVENANCE: &[u8; concat!("rust ", env!("CARGO_PKG_VERSION")).len()] = {
    const TEXT: &str = concat!("rust ", env!("CARGO_PKG_VERSION"));
    match TEXT.as_bytes().first_chunk() {
        Some(bytes) => bytes,
        None => unreachable!(),
    }
};
