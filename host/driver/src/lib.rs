//! The driver: joins the pure session core with the journal and the plugin runtime. It runs what sessions owe, recovers them
//! after a crash, and swaps plugins under them.
//!
//! The main road of a request: [`Host::op`] -> `session::ops` (decide, commit, acknowledge) -> `session::actor` (what is owed
//! next) -> `effects` (hooks on a proposal; models and tools from committed state) -> commit -> [`News`].
//!
//! [`News`]: mainstay_protocol::news::News

mod blob_reader;
mod clock;
mod effects;
mod errors;
mod failpoint;
pub mod feed;
mod host;
mod hub;
mod operator;
mod plugins;
mod reader;
mod routes;
mod session;
mod shared;
mod state_reader;
pub mod view;

pub use errors::{ForgetError, HostError, OpenError, SwapError};
pub use failpoint::Failpoint;
pub use host::{DEFAULT_LINGER, Host, HostOptions, OpenSession, Opened, recover_operations};
pub use operator::{COMPONENTS, WriterView};
pub use plugins::{
    assemble::AssembleError,
    check::{CheckReport, InspectError, PluginCheck, check, inspect_package},
    package::{PackageError, PackageFiles, read_package},
};
pub use reader::Reader;
pub use session::required::MissingBuild;
