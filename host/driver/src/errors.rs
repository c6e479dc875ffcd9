//! Errors of the host, by what the caller can do about them.

use mainstay_journal::{CommitError, OpenError as JournalOpenError, ReadError};
use mainstay_manifest::ManifestErrors;
use mainstay_protocol::{InvalidId, PluginName, RouteName, SessionId, TurnId, op::Refusal};
use mainstay_runtime::{EngineError, SnapshotError};

use crate::{plugins::package::PackageError, session::required::MissingBuild};

/// Why a host can't start, or can't answer.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Another host has the data folder.
    #[error("{0}")]
    Locked(JournalOpenError),
    /// The journal can't be opened.
    #[error("the journal can't be opened: {0}")]
    Journal(JournalOpenError),
    /// The journal can't be read.
    #[error("the journal can't be read: {0}")]
    Read(#[from] ReadError),
    /// The journal can't be written.
    #[error("the journal can't be written: {0}")]
    Commit(#[from] CommitError),
    /// The data folder can't be used.
    #[error("the data folder can't be used: {0}; check that it exists, and that this user may write to it")]
    DataFolder(std::io::Error),
    /// The engine does not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The manifest asks for something that this build does not serve.
    #[error("{0}")]
    Manifest(#[from] ManifestErrors),
    /// A plugin can't be loaded.
    #[error("plugin `{plugin}` can't be loaded: {source:#}")]
    Plugin {
        /// Its name.
        plugin: String,
        /// Why.
        source: anyhow::Error,
    },
    /// The plugins don't fit together.
    #[error("{0}")]
    Plugins(#[from] SnapshotError),
    /// No route is configured, and the bundled adapter is not where it is looked for.
    #[error(
        "no model route is configured, and the bundled plugins were not found; add a [route.default] to the manifest, or set \
         MAINSTAY_PLUGINS to the folder that holds `rehearsal`"
    )]
    NoBundledPlugins,
    /// A name that the journal can't hold.
    #[error(transparent)]
    Name(#[from] InvalidId),
    /// A page token that this host did not make.
    #[error("`{0}` is no page token of this host; take it from `next` of the page before")]
    PageToken(String),
}

impl HostError {
    /// Whether the session was forgotten.
    pub const fn is_gone(&self) -> bool {
        matches!(self, Self::Read(ReadError::Gone) | Self::Commit(CommitError::Gone))
    }
}

/// Why a session was not forgotten. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum ForgetError {
    /// There is none.
    #[error("there is no session `{0}`; `mainstay session list` shows those that exist")]
    Unknown(SessionId),
    /// It was forgotten before.
    #[error("session `{0}` was forgotten before")]
    Gone(SessionId),
    /// A turn runs.
    #[error("turn `{turn}` of the session is running; interrupt it or wait for its end, and then forget the session")]
    TurnRunning {
        /// The turn.
        turn: TurnId,
    },
    /// Too many requests wait for the session. Retryable.
    #[error("the session is busy: {waiting} requests are waiting; try again")]
    Busy {
        /// How many.
        waiting: u64,
    },
    /// The host ended meanwhile, or the session's driver did.
    #[error("the host was ending; look whether the session is still there once a host runs again")]
    Closing,
    /// The host can't answer.
    #[error(transparent)]
    Host(#[from] HostError),
}

/// Why a session can't be opened. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is none, and it was not to be created.
    #[error("there is no session `{0}`; `mainstay session list` shows those that exist")]
    Unknown(SessionId),
    /// The route does not exist.
    #[error("no route is named `{route}`; the manifest has: {known}")]
    UnknownRoute {
        /// The route.
        route: RouteName,
        /// Those that exist.
        known: String,
    },
    /// The saved route is no longer in the manifest.
    #[error(
        "the session's saved route `{route}` is no longer in the manifest, which has: {known}; put it back, or name another to \
         override it"
    )]
    RouteGone {
        /// The route.
        route: RouteName,
        /// Those that exist.
        known: String,
    },
    /// The metadata is not a JSON object, or too large.
    #[error("the session's metadata must be a JSON object of at most 64 KiB")]
    Metadata,
    /// The labels are too large.
    #[error("the session's labels have more than 64 KiB")]
    Labels,
    /// It requires more builds than a session may.
    #[error("a session may require at most {0} builds")]
    TooManyRequired(usize),
    /// A build that the session requires is not the active one. Nothing of the session was instantiated.
    #[error(transparent)]
    RequiredBuildMissing(#[from] MissingBuild),
    /// The saved session has no route.
    #[error("the saved session has no model route; name one to override it")]
    NoRoute,
    /// The session refuses.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The host can't answer.
    #[error(transparent)]
    Host(#[from] HostError),
}

/// Why a swap did not happen. The old build serves on.
#[derive(Debug, thiserror::Error)]
pub enum SwapError {
    /// The manifest has no such plugin.
    #[error("the manifest enables no plugin `{plugin}`; it has: {known}")]
    UnknownPlugin {
        /// The plugin.
        plugin: PluginName,
        /// Those that exist.
        known: String,
    },
    /// The package can't be read.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// The build was refused.
    #[error("the build was refused, and the old one serves on: {0:#}")]
    Refused(#[from] anyhow::Error),
    /// It does not fit beside the other plugins.
    #[error("the build was refused, and the old one serves on: {0}")]
    Snapshot(#[from] SnapshotError),
    /// A route would be left without its adapter.
    #[error("the build was refused, and the old one serves on: it exports no `model`, and route `{route}` needs one")]
    NoAdapter {
        /// The route.
        route: RouteName,
    },
    /// The change could not be recorded.
    #[error("the swap could not be recorded, and the old build serves on: {0}")]
    Journal(#[from] CommitError),
    /// The data folder can't be used.
    #[error("the component can't be kept in the data folder: {0}")]
    DataFolder(std::io::Error),
    /// The host ended meanwhile.
    #[error(
        "the host ended before the swap was done; `mainstay plugin list` shows which build is active once it runs again"
    )]
    Ended,
}
