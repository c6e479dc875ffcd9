//! Which builds a fresh host starts with: those of the manifest, but for plugins that a swap replaced since that entry last
//! changed.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use mainstay_journal::{GenerationChange, GenerationOrigin, GenerationRow, Journal, ReadError};
use mainstay_manifest::{BUNDLED_ADAPTER, PluginEntry};
use mainstay_protocol::{
    Digest, PluginName,
    record::{
        NewRecord, RecordBody,
        v1::{PluginLifecycle, Reason},
    },
};
use mainstay_runtime::{Generation, LoadRequest, Runtime};

use super::{
    assemble,
    components::{Components, PackageId},
    entry,
    package::{PackageFiles, read_package_off_thread},
};
use crate::{clock, errors::HostError, host::HostOptions};

/// A build that is to become active.
pub(crate) struct Starting {
    pub(crate) generation: Arc<Generation>,
    pub(crate) package: Digest,
    pub(crate) origin: GenerationOrigin,
    /// The build that a swap chose and that can't be loaded any more: this one stands in for it.
    pub(crate) refused: Option<PluginLifecycle>,
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
    sweep(options, journal, components, &active).await?;
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

/// Removes kept packages that no build of a plugin names: those of plugins that are gone, and those that a host kept and did not
/// live to record.
async fn sweep(
    options: &HostOptions,
    journal: &dyn Journal,
    components: &Components,
    active: &[GenerationRow],
) -> Result<(), HostError> {
    let mut plugins: BTreeSet<_> = active.iter().map(|row| row.plugin.clone()).collect();
    for entry in options.manifest.plugins() {
        plugins.insert(PluginName::new(entry.name().as_str())?);
    }
    let mut named = BTreeSet::new();
    for plugin in &plugins {
        match journal.generation_history(plugin).await {
            Ok(history) => named.extend(history.iter().map(package_id)),
            Err(error @ ReadError::Damaged { .. }) => {
                tracing::error!(%plugin, "no kept package is removed: {error}");
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
    }
    if let Err(error) = components.sweep(named).await {
        tracing::warn!("kept packages that nothing names could not be removed: {error}");
    }
    Ok(())
}

fn package_id(row: &GenerationRow) -> PackageId {
    PackageId { sha256: row.sha256, package: row.package }
}

/// The build that a swap chose for an entry as it stands; the manifest's, when there is none or it can't be loaded.
async fn load_entry(
    options: &HostOptions,
    runtime: &Runtime,
    components: &Components,
    entry: &PluginEntry,
    row: Option<&GenerationRow>,
) -> Result<Starting, HostError> {
    let overriding = row.filter(
        |row| matches!(&row.origin, GenerationOrigin::Override { entry: at } if *at == entry::entry_digest(entry)),
    );
    let Some(row) = overriding else { return load_manifests(options, runtime, components, entry).await };
    match load_kept(options, runtime, components, entry, row).await {
        Ok(generation) => Ok(Starting { generation, package: row.package, origin: row.origin.clone(), refused: None }),
        Err(error) => {
            tracing::error!(plugin = %entry.name(), "the swapped build can't be loaded, the manifest's is taken: {error:#}");
            let starting = load_manifests(options, runtime, components, entry).await?;
            Ok(Starting { refused: Some(refused(row, &error)), ..starting })
        }
    }
}

async fn load_kept(
    options: &HostOptions,
    runtime: &Runtime,
    components: &Components,
    entry: &PluginEntry,
    row: &GenerationRow,
) -> anyhow::Result<Arc<Generation>> {
    let package = components.read(package_id(row)).await?;
    load(options, runtime, entry, &package, Some(row.sha256)).await
}

/// The body of the record that a build which was active is so no more.
fn refused(row: &GenerationRow, error: &anyhow::Error) -> PluginLifecycle {
    PluginLifecycle {
        plugin: row.plugin.clone(),
        sha256: row.sha256,
        version: row.version.clone(),
        replaces: None,
        reason: Some(Reason::new("refused", format!("{error:#}"))),
    }
}

/// The build that the manifest names. It is kept too: once another replaced it, its package may be gone.
async fn load_manifests(
    options: &HostOptions,
    runtime: &Runtime,
    components: &Components,
    entry: &PluginEntry,
) -> Result<Starting, HostError> {
    let failed = |source: anyhow::Error| HostError::Plugin { plugin: entry.name().to_string(), source };
    let package = read_package_off_thread(&package_path(options, entry)).await.map_err(|error| failed(error.into()))?;
    let generation = load(options, runtime, entry, &package, entry.sha256()).await.map_err(failed)?;
    components.keep(&package).await.map_err(HostError::DataFolder)?;
    Ok(Starting { generation, package: package.id.package, origin: GenerationOrigin::Manifest, refused: None })
}

/// Loads one build for an entry.
pub(crate) async fn load(
    options: &HostOptions,
    runtime: &Runtime,
    entry: &PluginEntry,
    package: &PackageFiles,
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
    let package = read_package_off_thread(&folder.join(BUNDLED_ADAPTER)).await.map_err(|error| failed(error.into()))?;
    let name = PluginName::new(BUNDLED_ADAPTER).map_err(|error| failed(error.into()))?;
    let version = package.manifest.version().to_string();
    let request = LoadRequest::new(name, version, package.component);
    let generation = runtime.load(request).await.map_err(|error| failed(error.into()))?;
    Ok(Starting { generation, package: package.id.package, origin: GenerationOrigin::Manifest, refused: None })
}

/// Records the builds that were not active when the host last ran, and those that are gone.
pub(crate) async fn record(journal: &dyn Journal, starting: &[Starting]) -> Result<(), HostError> {
    let active = journal.generations().await?;
    let at = clock::now();
    let mut records = Vec::new();
    let mut changes = Vec::new();
    for Starting { generation, package, origin, refused } in starting {
        let receipt = generation.receipt();
        let row = active.iter().find(|row| row.plugin == receipt.plugin);
        if row.is_some_and(|row| row.sha256 == receipt.sha256 && row.package == *package && row.origin == *origin) {
            continue;
        }
        records.extend(refused.clone().map(|body| NewRecord { at, body: RecordBody::PluginRefused(body) }));
        let replaces = row.map(|row| row.sha256).filter(|old| *old != receipt.sha256);
        let body = lifecycle(generation, replaces);
        records.push(NewRecord { at, body: RecordBody::PluginActivated(body) });
        changes.push(GenerationChange::Activate(row_of(generation, *package, origin.clone())));
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
pub(crate) fn row_of(generation: &Generation, package: Digest, origin: GenerationOrigin) -> GenerationRow {
    let receipt = generation.receipt();
    GenerationRow {
        plugin: receipt.plugin.clone(),
        sha256: receipt.sha256,
        package,
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
