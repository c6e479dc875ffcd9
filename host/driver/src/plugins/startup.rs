//! Which builds a fresh host starts with: those of the manifest, but for plugins that a swap replaced since that entry last
//! changed.

use std::{path::Path, sync::Arc};

use mainstay_journal::{GenerationChange, GenerationOrigin, GenerationRow, Journal};
use mainstay_manifest::{BUNDLED_ADAPTER, PluginEntry};
use mainstay_protocol::{
    Digest, PluginName,
    record::{NewRecord, RecordBody, v1::PluginLifecycle},
};
use mainstay_runtime::{Generation, LoadRequest, Runtime};

use super::{
    assemble,
    components::Components,
    package::{PackageFiles, read_package},
};
use crate::{clock, errors::HostError, host::HostOptions};

/// A build that is to become active.
pub(crate) struct Starting {
    pub(crate) generation: Arc<Generation>,
    pub(crate) origin: GenerationOrigin,
}

impl Starting {
    /// Whether a swap chose it, over the manifest.
    pub(crate) fn is_override(&self) -> bool {
        matches!(self.origin, GenerationOrigin::Override { .. })
    }
}

/// Loads everything that the manifest enables.
pub(crate) async fn load_all(
    options: &HostOptions,
    runtime: &Runtime,
    journal: &dyn Journal,
    components: &Components,
) -> Result<Vec<Starting>, HostError> {
    assemble::served(&options.manifest)?;
    let active = journal.generations().await?;
    let mut starting = Vec::new();
    for entry in options.manifest.plugins().filter(|entry| entry.enabled()) {
        let row = active.iter().find(|row| row.plugin.as_str() == entry.name().as_str());
        starting.push(load_entry(options, runtime, components, entry, row).await?);
    }
    if options.manifest.needs_bundled_adapter() {
        starting.push(load_bundled(options, runtime).await?);
    }
    Ok(starting)
}

async fn load_entry(
    options: &HostOptions,
    runtime: &Runtime,
    components: &Components,
    entry: &PluginEntry,
    row: Option<&GenerationRow>,
) -> Result<Starting, HostError> {
    let overriding = row.filter(
        |row| matches!(&row.origin, GenerationOrigin::Override { entry: at } if *at == assemble::entry_digest(entry)),
    );
    let failed = |source: anyhow::Error| HostError::Plugin { plugin: entry.name().to_string(), source };
    if let Some(row) = overriding {
        match components.read(&row.sha256) {
            Ok(package) => {
                let generation = load(options, runtime, entry, package, Some(row.sha256)).await.map_err(failed)?;
                return Ok(Starting { generation, origin: row.origin.clone() });
            }
            Err(error) => {
                tracing::warn!(plugin = %entry.name(), "the swapped build is gone, the manifest's is taken: {error}");
            }
        }
    }
    let path = entry.path().resolve(&options.manifest_dir);
    let package = read_package(&path).map_err(|error| failed(error.into()))?;
    components.keep(&Digest::of(&package.component), &package, &path).map_err(HostError::DataFolder)?;
    let generation = load(options, runtime, entry, package, entry.sha256()).await.map_err(failed)?;
    Ok(Starting { generation, origin: GenerationOrigin::Manifest })
}

/// Loads one build for an entry.
pub(crate) async fn load(
    options: &HostOptions,
    runtime: &Runtime,
    entry: &PluginEntry,
    package: PackageFiles,
    expected: Option<Digest>,
) -> anyhow::Result<Arc<Generation>> {
    let request = assemble::load_request(&options.manifest, entry, &options.manifest_dir, package, expected)?;
    Ok(runtime.load(request).await?)
}

/// Whether the adapter that plays a script is where it is looked for.
pub(crate) fn has_bundled_adapter(options: &HostOptions) -> bool {
    options.bundled_plugins.as_deref().is_some_and(|folder| folder.join(BUNDLED_ADAPTER).is_dir())
}

/// The adapter that plays a script, with nothing granted.
async fn load_bundled(options: &HostOptions, runtime: &Runtime) -> Result<Starting, HostError> {
    let failed = |source: anyhow::Error| HostError::Plugin { plugin: BUNDLED_ADAPTER.to_owned(), source };
    let folder = options.bundled_plugins.as_deref().ok_or(HostError::NoBundledPlugins)?;
    let package = read_package(&folder.join(BUNDLED_ADAPTER)).map_err(|error| failed(error.into()))?;
    let name = PluginName::new(BUNDLED_ADAPTER).map_err(|error| failed(error.into()))?;
    let version = package.manifest.version().to_string();
    let request = LoadRequest::new(name, version, package.component);
    let generation = runtime.load(request).await.map_err(|error| failed(error.into()))?;
    Ok(Starting { generation, origin: GenerationOrigin::Manifest })
}

/// Records the builds that were not active when the host last ran, and those that are gone.
pub(crate) async fn record(journal: &dyn Journal, starting: &[Starting]) -> Result<(), HostError> {
    let active = journal.generations().await?;
    let at = clock::now();
    let mut records = Vec::new();
    let mut changes = Vec::new();
    for Starting { generation, origin } in starting {
        let receipt = generation.receipt();
        let row = active.iter().find(|row| row.plugin == receipt.plugin);
        if row.is_some_and(|row| row.sha256 == receipt.sha256 && row.origin == *origin) {
            continue;
        }
        let replaces = row.map(|row| row.sha256).filter(|old| *old != receipt.sha256);
        let body = lifecycle(generation, replaces);
        records.push(NewRecord { at, body: RecordBody::PluginActivated(body) });
        changes.push(GenerationChange::Activate(row_of(generation, origin.clone())));
    }
    let stays = |row: &GenerationRow| starting.iter().any(|one| *one.generation.name() == row.plugin);
    for row in active.iter().filter(|row| !stays(row)) {
        let (plugin, sha256, version) = (row.plugin.clone(), row.sha256, row.version.clone());
        let body = PluginLifecycle { plugin: plugin.clone(), sha256, version, replaces: None, reason: None };
        records.push(NewRecord { at, body: RecordBody::PluginDrained(body) });
        changes.push(GenerationChange::Retire { plugin, at });
    }
    if !records.is_empty() {
        journal.append_host_records(records, changes).await?;
    }
    Ok(())
}

/// The body of a lifecycle record about a generation.
pub(crate) fn lifecycle(generation: &Generation, replaces: Option<Digest>) -> PluginLifecycle {
    let receipt = generation.receipt();
    PluginLifecycle {
        plugin: receipt.plugin.clone(),
        sha256: receipt.sha256,
        version: receipt.version.clone(),
        replaces,
        reason: None,
    }
}

/// The journal's row of a generation.
pub(crate) fn row_of(generation: &Generation, origin: GenerationOrigin) -> GenerationRow {
    let receipt = generation.receipt();
    GenerationRow {
        plugin: receipt.plugin.clone(),
        sha256: receipt.sha256,
        version: receipt.version.clone(),
        activated_at: clock::now(),
        origin,
    }
}

/// Where a package of the manifest lies.
pub(crate) fn package_path(options: &HostOptions, entry: &PluginEntry) -> std::path::PathBuf {
    entry.path().resolve(&options.manifest_dir)
}

/// The folder that holds the compile cache.
pub(crate) fn cache_dir(options: &HostOptions) -> std::path::PathBuf {
    match options.manifest.host().compile_cache() {
        Some(path) => path.resolve(&options.manifest_dir),
        None => Path::new(&options.data_dir).join("cache"),
    }
}
