//! A manifest's entry and a package become a load request: what both keys allow, with the operator's limits.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use mainstay_manifest::{
    Access, Approval, Capability as ManifestCapability, ConfigSchema, EffectiveGrant, EnvSource, Execution,
    HostManifest, ManifestErrors, PluginEntry, PluginLimits, Pool, Served,
};
use mainstay_protocol::{Digest, InvalidId, PluginName, tool};
use mainstay_runtime::{
    Allocation, Capability, EngineOptions, Grant, GrantError, Hook, Limits, LoadRequest, ToolOverride, ToolOverrides,
};

use super::package::PackageFiles;

/// Why an entry and its package can't be joined.
#[derive(Debug, thiserror::Error)]
pub enum AssembleError {
    /// The configuration does not fit the plugin's schema, or the schema is broken.
    #[error("{0}")]
    Config(#[from] ManifestErrors),
    /// A grant can't be given.
    #[error("plugin `{plugin}`: {source}")]
    Grant {
        /// The plugin.
        plugin: String,
        /// Why.
        source: GrantError,
    },
    /// A granted folder does not exist.
    #[error(
        "plugin `{plugin}`: the folder granted as `{guest}` can't be opened: {source}; create it, or correct `grant.dirs`"
    )]
    Dir {
        /// The plugin.
        plugin: String,
        /// Where the guest would see it.
        guest: String,
        /// Why.
        source: std::io::Error,
    },
    /// A name that the host can't hold.
    #[error(transparent)]
    Name(#[from] InvalidId),
}

/// What this build of the host serves of a manifest.
pub(crate) fn served(manifest: &HostManifest) -> Result<(), ManifestErrors> {
    let capabilities =
        [ManifestCapability::Hooks, ManifestCapability::Imports, ManifestCapability::Dirs, ManifestCapability::Env];
    let hooks: Vec<_> = mainstay_manifest::Hook::ALL
        .iter()
        .copied()
        .filter(|hook| hook.as_str().parse::<Hook>().is_ok_and(Hook::is_served))
        .collect();
    manifest.check_served(&Served { capabilities: &capabilities, hooks: &hooks })
}

/// How to run the engine for a manifest.
pub(crate) fn engine_options(manifest: &HostManifest, cache_dir: std::path::PathBuf) -> EngineOptions {
    let default = EngineOptions::default();
    let limits = || manifest.plugins().map(|plugin| limits(plugin.limits()));
    let memory = limits().map(|limits| limits.memory).max().unwrap_or(default.max_memory_per_call);
    let tables = limits().map(|limits| limits.table_elements).max().unwrap_or(default.max_table_elements);
    EngineOptions {
        calls: manifest.host().instances().non_zero(),
        max_memory_per_call: memory.max(default.max_memory_per_call),
        max_table_elements: tables.max(default.max_table_elements),
        allocation: match manifest.host().pool() {
            Pool::Auto => Allocation::Auto,
            Pool::OnDemand => Allocation::OnDemand,
        },
        cache_dir: Some(cache_dir),
        ..default
    }
}

/// The operator's word over tools.
pub(crate) fn tool_overrides(manifest: &HostManifest) -> ToolOverrides {
    let mut overrides = BTreeMap::new();
    for entry in manifest.tools() {
        let word = ToolOverride {
            effect: entry.effect().map(|effect| match effect {
                mainstay_manifest::Effect::Pure => tool::Effect::Pure,
                mainstay_manifest::Effect::Idempotent => tool::Effect::Idempotent,
                mainstay_manifest::Effect::AtMostOnce => tool::Effect::AtMostOnce,
            }),
            execution: entry.execution().map(|execution| match execution {
                Execution::Parallel => tool::Execution::Parallel,
                Execution::Exclusive => tool::Execution::Exclusive,
            }),
            approval: entry.approval().map(|approval| match approval {
                Approval::Unneeded => tool::Approval::Unneeded,
                Approval::Ask => tool::Approval::Ask,
                Approval::AskEachTime => tool::Approval::AskEachTime,
            }),
        };
        overrides.insert(entry.name().as_str().to_owned(), word);
    }
    overrides
}

/// The request for an entry's build. `expected` is the digest that it must have.
pub(crate) fn load_request(
    manifest: &HostManifest,
    entry: &PluginEntry,
    manifest_dir: &Path,
    package: &PackageFiles,
    expected: Option<Digest>,
) -> Result<LoadRequest, AssembleError> {
    if let Some(schema) = &package.config_schema {
        let schema = ConfigSchema::parse(schema, &format!("the configuration schema of plugin `{}`", entry.name()))?;
        manifest.check_config(entry.name().as_str(), &schema)?;
    }
    let effective = EffectiveGrant::combine(&package.manifest, entry);
    let name = PluginName::new(entry.name().as_str())?;
    let mut request = LoadRequest::new(name, package.manifest.version().to_string(), Arc::clone(&package.component));
    request.expected = expected;
    request.grant = grant(&effective, entry, manifest_dir)?;
    request.limits = limits(entry.limits());
    request.config = entry.config().to_string();
    request.order = entry.order();
    request.on_failure = match entry.on_failure() {
        mainstay_manifest::FailurePolicy::Closed => mainstay_runtime::FailurePolicy::Closed,
        mainstay_manifest::FailurePolicy::Open => mainstay_runtime::FailurePolicy::Open,
    };
    request.state_schema = package.manifest.state_schema();
    Ok(request)
}

fn grant(effective: &EffectiveGrant, entry: &PluginEntry, manifest_dir: &Path) -> Result<Grant, AssembleError> {
    let plugin = || entry.name().to_string();
    let refused = |source| AssembleError::Grant { plugin: plugin(), source };
    let mut grant = Grant::nothing();
    for hook in effective.hooks() {
        if let Ok(hook) = hook.as_str().parse() {
            grant = grant.with_hook(hook);
        }
    }
    for import in effective.imports() {
        if let Ok(capability) = import.as_str().parse::<Capability>() {
            grant = grant.with_capability(capability);
        }
    }
    for dir in effective.dirs() {
        let guest = dir.guest().as_str();
        let unreadable = |source| AssembleError::Dir { plugin: plugin(), guest: guest.to_owned(), source };
        let host = dir.host().resolve(manifest_dir).canonicalize().map_err(unreadable)?;
        let access = match dir.access() {
            Access::ReadOnly => mainstay_runtime::Access::ReadOnly,
            Access::ReadWrite => mainstay_runtime::Access::ReadWrite,
        };
        grant = grant.with_dir(host, guest, access).map_err(refused)?;
    }
    for env in effective.env() {
        let value = match env.source() {
            EnvSource::Literal(value) => Some(value.clone()),
            EnvSource::Host => std::env::var(env.name().as_str()).ok(),
        };
        if let Some(value) = value {
            grant = grant.with_env(env.name().as_str(), &value).map_err(refused)?;
        }
    }
    Ok(grant)
}

/// The manifest's limits as the runtime takes them.
pub(crate) fn limits(limits: &PluginLimits) -> Limits {
    Limits {
        memory: limits.memory().bytes(),
        call_ms: limits.call().millis(),
        table_elements: limits.table_elements().non_zero(),
        instances: limits.instances().non_zero(),
        handles: limits.handles().non_zero(),
        hostcall: limits.hostcall().bytes(),
        output: limits.output().bytes(),
        log: limits.log().bytes(),
        state: limits.state().bytes(),
    }
}
