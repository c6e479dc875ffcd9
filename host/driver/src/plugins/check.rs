//! `check`: what a manifest asks of this host, plugin by plugin, without starting anything or writing to the data folder.

use mainstay_manifest::{EffectiveGrant, PluginEntry};
use mainstay_protocol::Digest;
use mainstay_runtime::{Inspection, LoadError, Runtime, Snapshot};

use super::{
    assemble,
    package::{PackageError, PackageFiles, off_thread, read_package, read_package_off_thread},
    startup,
};
use crate::{host::HostOptions, routes::Routes};

/// What `check` found.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// What would keep the host from starting, or a route from working. Empty: all is well.
    pub problems: Vec<String>,
    /// What deserves a look.
    pub warnings: Vec<String>,
    /// Each enabled plugin that could be read.
    pub plugins: Vec<PluginCheck>,
}

/// What `check` found out about a plugin.
#[derive(Clone, Debug)]
pub struct PluginCheck {
    /// Its name in the manifest.
    pub plugin: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of its component.
    pub sha256: Digest,
    /// What it exports of the interface package.
    pub exports: Vec<String>,
    /// What it imports.
    pub imports: Vec<String>,
    /// What it may do.
    pub granted: Vec<String>,
    /// What it asks for and is not granted.
    pub missing: Vec<String>,
    /// What is granted and it does not ask for.
    pub unused: Vec<String>,
    /// Its limits, by setting.
    pub limits: Vec<(String, String)>,
    /// The warnings of its self-check.
    pub warnings: Vec<String>,
}

/// Why a package can't be inspected.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// It can't be read.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// It is no component of this interface.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The engine does not start.
    #[error(transparent)]
    Engine(#[from] mainstay_runtime::EngineError),
}

/// Looks at a package without running it.
///
/// # Errors
/// The package can't be read, or is no component of this interface.
pub fn inspect_package(path: &std::path::Path) -> Result<(PackageFiles, Inspection), InspectError> {
    let package = read_package(path)?;
    let runtime = Runtime::new(mainstay_runtime::EngineOptions::default())?;
    let inspection = runtime.inspect(&package.component)?;
    Ok((package, inspection))
}

/// Checks a manifest: reads each package, joins both keys, loads the plugins in a throwaway runtime.
pub async fn check(options: &HostOptions) -> CheckReport {
    let mut report = CheckReport::default();
    if let Err(errors) = assemble::served(&options.manifest) {
        report.problems.extend(errors.iter().map(ToString::to_string));
    }
    if let Err(error) = Routes::from_manifest(&options.manifest) {
        report.problems.push(error.to_string());
    }
    let mut engine = assemble::engine_options(&options.manifest, startup::cache_dir(options));
    engine.cache_dir = None;
    let runtime = match Runtime::new(engine) {
        Ok(runtime) => runtime,
        Err(error) => {
            report.problems.push(error.to_string());
            return report;
        }
    };
    let mut generations = Vec::new();
    for entry in options.manifest.plugins().filter(|entry| entry.enabled()) {
        match check_entry(options, &runtime, entry).await {
            Ok((plugin, generation)) => {
                report.plugins.push(plugin);
                generations.push(generation);
            }
            Err(error) => report.problems.push(format!("plugin `{}`: {error:#}", entry.name())),
        }
    }
    match Snapshot::new(generations, &assemble::tool_overrides(&options.manifest)) {
        Ok(snapshot) => {
            check_routes(options, &snapshot, &mut report);
            let unused = snapshot.unused_overrides().iter();
            report.warnings.extend(unused.map(|name| format!("[tool.{name}] is for a tool that no plugin serves")));
        }
        Err(error) => report.problems.push(error.to_string()),
    }
    report
}

async fn check_entry(
    options: &HostOptions,
    runtime: &Runtime,
    entry: &PluginEntry,
) -> anyhow::Result<(PluginCheck, std::sync::Arc<mainstay_runtime::Generation>)> {
    let package = read_package_off_thread(&startup::package_path(options, entry)).await?;
    let effective = EffectiveGrant::combine(&package.manifest, entry);
    let sha256 = package.id.sha256;
    let version = package.manifest.version().to_string();
    let (inspecting, component) = (runtime.clone(), std::sync::Arc::clone(&package.component));
    let inspection = off_thread(move || inspecting.inspect(&component)).await??;
    let generation = startup::load(options, runtime, entry, &package, entry.sha256()).await?;
    let limits = entry.limits().rows();
    let plugin = PluginCheck {
        plugin: entry.name().to_string(),
        version,
        sha256,
        exports: inspection.exports.iter().map(ToString::to_string).collect(),
        imports: inspection.imports,
        granted: effective.canonical().lines().skip(1).map(ToOwned::to_owned).collect(),
        missing: effective.missing().iter().map(ToString::to_string).collect(),
        unused: effective.unused().iter().map(ToString::to_string).collect(),
        limits: limits.iter().map(|row| (row.key().to_owned(), row.value().to_owned())).collect(),
        warnings: generation.warnings().to_vec(),
    };
    Ok((plugin, generation))
}

fn check_routes(options: &HostOptions, snapshot: &Snapshot, report: &mut CheckReport) {
    if options.manifest.needs_bundled_adapter() && !startup::has_bundled_adapter(options) {
        report.problems.push(crate::errors::HostError::NoBundledPlugins.to_string());
    }
    if options.manifest.host().listen().is_some() {
        let warning = "host.listen is not served by this version: clients use the control socket in the data folder";
        report.warnings.push(warning.to_owned());
    }
    for route in options.manifest.routes() {
        let adapter = mainstay_protocol::PluginName::new(route.adapter().as_str()).ok();
        let found = adapter.and_then(|adapter| snapshot.model_adapter(&adapter).cloned());
        let bundled = options.manifest.needs_bundled_adapter();
        if found.is_none() && !(bundled && route.adapter().as_str() == mainstay_manifest::BUNDLED_ADAPTER) {
            let (name, adapter) = (route.name(), route.adapter());
            report.problems.push(format!(
                "route.{name}.adapter: `{adapter}` is no active plugin that exports `model`; name one that does"
            ));
        }
    }
}
