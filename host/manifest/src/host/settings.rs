//! `[host]`: where the host keeps its data and how it runs plugins.

use std::net::SocketAddr;

use super::{Declared, cross};
use crate::names::{RouteName, TenantName};
use crate::path::ManifestPath;
use crate::read::{Fields, Node};
use crate::units::{Count, Timespan};

words! {
    /// How instances get their memory.
    pub Pool, "a pool";
    /// From a pool that is sized from the manifest after a probe; on demand where the address space is too tight. Default.
    Auto = "auto",
    /// Mapped for each call: slower, and at home in a tight address space.
    OnDemand = "on-demand",
}

words! {
    /// What becomes of a step that was open when the host stopped.
    pub OpenStepRecovery, "a way to recover an open step";
    /// It is closed as interrupted, and its turn is aborted. Default.
    Abort = "abort",
    /// It is opened again when none of its tools had an intent.
    Retry = "retry",
}

/// Settings of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSettings {
    data_dir: ManifestPath,
    listen: Option<SocketAddr>,
    allow_unpinned: bool,
    tenant: TenantName,
    default_route: Option<RouteName>,
    instances: Count,
    pool: Pool,
    compile_cache: Option<ManifestPath>,
    open_step: OpenStepRecovery,
    gate_bound: Option<Timespan>,
}

impl HostSettings {
    /// How many calls run at once unless `instances` says otherwise.
    pub const DEFAULT_INSTANCES: u32 = 64;

    /// The hard maximum of `instances`.
    pub const MAX_INSTANCES: u32 = 4096;

    /// The folder of the journal and all that belongs to it. Default `data`.
    pub fn data_dir(&self) -> &ManifestPath {
        &self.data_dir
    }

    /// Where the HTTP server listens; none when it does not.
    pub fn listen(&self) -> Option<SocketAddr> {
        self.listen
    }

    /// Whether plugins may lack a `sha256`. Default false.
    pub fn allow_unpinned(&self) -> bool {
        self.allow_unpinned
    }

    /// The tenant of a single-user host. Default `default`.
    pub fn tenant(&self) -> &TenantName {
        &self.tenant
    }

    /// How many calls into plugins may run at once, which is the size of the pool. Default 64, at most 4,096.
    pub fn instances(&self) -> Count {
        self.instances
    }

    /// How instances get their memory.
    pub fn pool(&self) -> Pool {
        self.pool
    }

    /// The folder of compiled code; none leaves the place to the host.
    pub fn compile_cache(&self) -> Option<&ManifestPath> {
        self.compile_cache.as_ref()
    }

    /// What becomes of a step that was open when the host stopped.
    pub fn open_step(&self) -> OpenStepRecovery {
        self.open_step
    }

    /// How long gates may take before the model's output is committed without their decisions; none lets it wait.
    pub fn gate_bound(&self) -> Option<Timespan> {
        self.gate_bound
    }

    pub(super) fn default_route(&self) -> Option<&RouteName> {
        self.default_route.as_ref()
    }

    pub(super) fn read(node: &Node<'_>, declared: &Declared) -> Option<Self> {
        node.fields(|fields| Some(Self::from_fields(fields, declared)))
    }

    fn from_fields(fields: &mut Fields<'_>, declared: &Declared) -> Self {
        let default = Self::default();
        Self {
            data_dir: fields.or("data_dir", default.data_dir, Node::word),
            listen: fields.optional("listen", read_listen),
            allow_unpinned: fields.or("allow_unpinned", default.allow_unpinned, Node::flag),
            tenant: fields.or("tenant", default.tenant, Node::word),
            default_route: fields.optional("default_route", |node| cross::read_default_route(node, declared)),
            instances: fields.or("instances", default.instances, read_instances),
            pool: fields.or("pool", default.pool, Node::word),
            compile_cache: fields.optional("compile_cache", Node::word),
            open_step: fields.or("recovery", default.open_step, read_recovery),
            gate_bound: fields.optional("gate_bound", read_gate_bound),
        }
    }
}

impl Default for HostSettings {
    fn default() -> Self {
        Self {
            data_dir: ManifestPath::constant("data"),
            listen: None,
            allow_unpinned: false,
            tenant: TenantName::default_tenant(),
            default_route: None,
            instances: Count::constant(Self::DEFAULT_INSTANCES),
            pool: Pool::Auto,
            compile_cache: None,
            open_step: OpenStepRecovery::Abort,
            gate_bound: None,
        }
    }
}

fn read_listen(node: &Node<'_>) -> Option<SocketAddr> {
    let text = node.text()?;
    text.parse().map_or_else(|_| node.bad("not an address with a port", "write it like \"127.0.0.1:7777\""), Some)
}

fn read_instances(node: &Node<'_>) -> Option<Count> {
    node.quantity(Count::constant(1), Count::constant(HostSettings::MAX_INSTANCES))
}

fn read_recovery(node: &Node<'_>) -> Option<OpenStepRecovery> {
    node.fields(|fields| Some(fields.or("open_step", OpenStepRecovery::Abort, Node::word)))
}

fn read_gate_bound(node: &Node<'_>) -> Option<Timespan> {
    node.quantity(Timespan::millis_const(1), Timespan::millis_const(60_000))
}
