//! The host: one data folder, its journal, its plugins and its sessions.

mod description;
mod forgetting;
mod lifecycle;
mod operations;
mod reads;
mod sessions;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use mainstay_manifest::HostManifest;
use mainstay_protocol::{Digest, Ordinal, PluginName, RouteName, SessionId, op::Labels};
use mainstay_runtime::Runtime;
use tokio::task::JoinSet;

pub use operations::recover_operations;

use crate::{failpoint::Failpoint, plugins::components::Components, session::table::Table, shared::Shared};

/// What a host is opened with.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// Where everything durable is. Made when it does not exist.
    pub data_dir: PathBuf,
    /// The operator's word.
    pub manifest: HostManifest,
    /// What relative paths of the manifest are relative to.
    pub manifest_dir: PathBuf,
    /// The folder with the packages that come with the product; the adapter that plays a script is taken from it when the
    /// manifest configures no route.
    pub bundled_plugins: Option<PathBuf>,
    /// How long a session without work keeps its task; [`DEFAULT_LINGER`] fits a conversation.
    pub linger: Duration,
    /// Where to die, for tests of crash safety.
    pub failpoint: Option<Arc<Failpoint>>,
}

/// Long enough that a conversation does not start a task for each message.
pub const DEFAULT_LINGER: Duration = Duration::from_secs(5);

/// A running host. A handle: clones share everything.
#[derive(Clone)]
pub struct Host {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) options: HostOptions,
    pub(crate) runtime: Runtime,
    pub(crate) shared: Arc<Shared>,
    pub(crate) components: Components,
    /// One swap at a time.
    pub(crate) swapping: tokio::sync::Mutex<()>,
    /// One session at a time is created or taken up: its first barrier must not race with its first op.
    pub(crate) opening: tokio::sync::Mutex<()>,
    pub(crate) table: Table,
    tasks: Mutex<JoinSet<()>>,
    draining: Mutex<Vec<(PluginName, Digest)>>,
    overridden: Mutex<BTreeSet<PluginName>>,
}

/// Which session to open, and how.
#[derive(Clone, Debug, Default)]
pub struct OpenSession {
    /// Which one; none makes a new one with an id of its own.
    pub session: Option<SessionId>,
    /// Whether to create it when it does not exist.
    pub create: bool,
    /// For a new session the route to start on, instead of the default; for an old one, what overrides the saved route.
    pub route: Option<RouteName>,
    /// Owner, workspace, origin; only a new session takes them.
    pub labels: Labels,
    /// A JSON object; replaces what an old session has.
    pub metadata: Option<String>,
    /// The builds, by the SHA-256 of their components, without which the session does not run; replaces what an old session
    /// requires. Without one of them, opening fails, and so does a turn that meets a swap; nothing is instantiated.
    pub requires: Option<BTreeMap<PluginName, Digest>>,
}

/// A session that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Its id.
    pub session: SessionId,
    /// Whether it is new.
    pub created: bool,
    /// Its last record.
    pub head: Ordinal,
}

impl Inner {
    /// Notes that a swap replaced what the manifest names.
    pub(crate) fn set_overridden(&self, plugin: &PluginName) {
        self.overridden.lock().unwrap_or_else(PoisonError::into_inner).insert(plugin.clone());
    }

    fn is_overridden(&self, plugin: &PluginName) -> bool {
        self.overridden.lock().unwrap_or_else(PoisonError::into_inner).contains(plugin)
    }

    /// Notes that a replaced build still serves calls.
    pub(crate) fn draining(&self, sha256: Digest, plugin: &PluginName) {
        let mut draining = self.draining.lock().unwrap_or_else(PoisonError::into_inner);
        draining.push((plugin.clone(), sha256));
    }

    /// Notes that its last call has ended.
    pub(crate) fn drained(&self, sha256: &Digest) {
        let mut draining = self.draining.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = draining.iter().position(|(_, old)| old == sha256) {
            draining.remove(place);
        }
    }

    fn draining_of(&self, plugin: &PluginName) -> Vec<Digest> {
        let draining = self.draining.lock().unwrap_or_else(PoisonError::into_inner);
        draining.iter().filter(|(name, _)| name == plugin).map(|(_, sha256)| *sha256).collect()
    }
}

impl Host {
    /// Runs a task that ends with the host.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.inner.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("tenant", &self.inner.shared.tenant).finish_non_exhaustive()
    }
}
