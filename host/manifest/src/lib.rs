//! Manifests of Mainstay: text to validated types, and the two-key grant that follows from them.
//!
//! Two files describe an installation. `mainstay.toml` is the operator's word ([`HostManifest`]): which plugins, which
//! digests, which grants and limits. `plugin.toml` is an author's word ([`PluginManifest`]): what a plugin is and what it
//! asks for. What a plugin may do is what both say ([`EffectiveGrant`]).
//!
//! This crate is pure. It opens no file, reads no clock and resolves no name: paths stay as written until the caller joins
//! them to a folder ([`ManifestPath::resolve`]). It never panics, whatever the text. A value that left this crate was
//! checked: its fields are private, its limits are not zero and below their hard maximum.
//!
//! Errors come all at once, each with its field path, line and column, what was found, why it is wrong and what to do
//! ([`ManifestErrors`]). Unknown keys are errors, so a misspelt `grant` can not pass for an absent one.
//!
//! ```
//! use mainstay_manifest::{EffectiveGrant, Hook, HostManifest, PluginManifest};
//!
//! let operator = HostManifest::parse(
//!     r#"
//!     [host]
//!     allow_unpinned = true
//!     [plugin.approvals]
//!     path = "plugins/approvals.wasm"
//!     grant.hooks = ["tool-gate"]
//!     "#,
//!     "mainstay.toml",
//! )?;
//! let author = PluginManifest::parse(
//!     r#"
//!     name = "approvals"
//!     version = "0.1.0"
//!     asks.hooks = ["tool-gate", "stop"]
//!     "#,
//!     "plugin.toml",
//! )?;
//! let grant = EffectiveGrant::combine(&author, operator.plugin("approvals").unwrap());
//! assert!(grant.allows_hook(Hook::ToolGate) && !grant.allows_hook(Hook::Stop));
//! assert_eq!(grant.missing()[0].to_string(), "hooks stop: asked, not granted");
//!
//! let errors = HostManifest::parse("[host]\ntenent = 'a'", "mainstay.toml").unwrap_err();
//! assert!(errors.to_string().starts_with("mainstay.toml:2:1: host.tenent: no such key\n  hint: did you mean `tenant`?"));
//! # Ok::<(), mainstay_manifest::ManifestErrors>(())
//! ```

#[macro_use]
mod words;

mod capability;
mod config;
mod effective;
mod error;
mod host;
mod limits;
mod names;
mod path;
mod plugin;
mod read;
mod schema_shape;
mod suggest;
mod text;
mod units;

pub use capability::dirs::{Access, DirAsk, DirGrant};
pub use capability::env::{EnvAsk, EnvGrant, EnvSource};
pub use capability::hooks::Hook;
pub use capability::http::{AskedHost, HostName, HttpAsk, HttpGrant, HttpHost, Method, Scheme};
pub use capability::imports::{Import, ImportAsk};
pub use capability::secrets::{HeaderName, SecretAsk, SecretGrant, SecretSource};
pub use capability::{Asks, Capability, Grants};
pub use config::{ConfigSchema, validate_config};
pub use effective::{EffectiveGrant, Gap};
pub use error::{ErrorKind, InvalidValue, ManifestError, ManifestErrors, Position};
pub use host::plugin::{FailurePolicy, PluginEntry};
pub use host::route::Route;
pub use host::settings::{HostSettings, OpenStepRecovery, Pool};
pub use host::tool::{Approval, Effect, Execution, ToolEntry};
pub use host::{BUNDLED_ADAPTER, HostManifest, Served};
pub use limits::{LimitRow, PluginLimits};
pub use mainstay_protocol::Digest;
pub use names::{EnvName, PluginName, RouteName, SecretName, TenantName, ToolName};
pub use path::{FileName, GuestPath, ManifestPath};
pub use plugin::PluginManifest;
pub use semver::Version;
pub use text::Line;
pub use units::{ByteSize, Count, Timespan};
