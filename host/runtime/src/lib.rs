//! The WebAssembly runtime of Mainstay: it loads plugins, runs each call in a fresh sandbox under hard limits, and tells
//! every way in which a call can end apart.
//!
//! The main road: [`Runtime::load`] makes a [`Generation`]; a [`Registry`] makes it active; a step pins a [`Snapshot`] and
//! calls [`Generation::call_tool`], [`Generation::check_input`], [`Generation::gate_call`], [`Generation::check_stop`] or
//! [`Generation::start_model`], each with an [`Invocation`], and gets a [`Called`] back.
//!
//! This crate knows nothing of SQLite, HTTP servers or the sessions' state machine. It stores nothing but compiled code:
//! durable state comes in through traits ([`StateReader`], [`Transcript`]...) and goes out as [`StagedState`].

mod allocation;
mod bindings;
mod cache;
mod call;
mod called;
mod capabilities;
mod capture;
mod check;
mod convert;
mod engine;
mod exports;
mod generation;
mod grant;
mod hook;
mod inspect;
mod interface;
mod invocation;
mod limiter;
mod limits;
mod load;
mod load_error;
mod mapped;
mod outcome;
mod places;
mod probe;
mod registry;
mod staged;
mod store;
pub mod testing;
mod ticker;
mod wasi;

pub use allocation::{Allocated, Allocation};
pub use called::{Called, LogLevel, LogLine, Logs};
pub use engine::{EngineError, EngineOptions, Runtime};
pub use exports::{
    Completion, Delivery, Grounds, InputChange, InputDecision, ModelInfo, StopDecision, ToolOutput, Verdict,
};
pub use generation::{Exports, FailurePolicy, Generation};
pub use grant::{Access, DirGrant, Grant, GrantError};
pub use hook::{Capability, Export, Hook, UnknownName};
pub use inspect::Inspection;
pub use interface::{PACKAGE, VERSION};
pub use invocation::{
    BlobReader, Invocation, NewsSink, PluginStateReader, ReadFailure, StateReader, StateUsage, Transcript,
    VersionedValue,
};
pub use limits::Limits;
pub use load::LoadRequest;
pub use load_error::LoadError;
pub use registry::{CatalogTool, PreparedChange, Registry, Snapshot, SnapshotError, ToolOverride, ToolOverrides};
pub use staged::{StagedPut, StagedState};
pub use wasi::DirError;
