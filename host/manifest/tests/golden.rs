//! Case-per-file golden tests. A case is `cases/<kind>-<name>.toml`; what must come of it is `<kind>-<name>.expected`:
//! the errors, or a summary of what was understood. The kinds:
//!
//! - `host`: a `mainstay.toml`;
//! - `plugin`: a `plugin.toml`;
//! - `config`: a `mainstay.toml` whose every plugin is checked against `<case>.schema.json`;
//! - `grant`: a `mainstay.toml` whose every plugin is combined with `<case>.asks.toml`.
//!
//! `UPDATE_GOLDEN=1 cargo test -p mainstay-manifest` writes the expectations anew; read the difference before you commit it.
#![allow(clippy::disallowed_methods, reason = "the cases are files; only the crate itself has to do without them")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use mainstay_manifest::{
    Capability, ConfigSchema, EffectiveGrant, Hook, HostManifest, ManifestErrors, PluginManifest, Served,
};

#[test]
fn every_case_gives_what_it_should() {
    let cases = cases();
    assert!(cases.len() >= 20, "only {} cases were found", cases.len());
    for case in &cases {
        check(case);
    }
}

#[test]
fn every_expectation_has_its_case() {
    for path in files().filter(|path| path.extension().is_some_and(|extension| extension == "expected")) {
        assert!(path.with_extension("toml").exists(), "{} has no case", path.display());
    }
}

/// Runs one case and compares, or rewrites its expectation.
fn check(case: &Path) {
    let text = read(case);
    let name = case.file_name().and_then(|name| name.to_str()).expect("case names are UTF-8");
    let outcome = match name.split('-').next() {
        Some("host") => HostManifest::parse(&text, "mainstay.toml").map(|manifest| describe(&manifest)),
        Some("plugin") => PluginManifest::parse(&text, "plugin.toml").map(|manifest| format!("{manifest:#?}\n")),
        Some("config") => config(&text, &case.with_extension("schema.json")),
        Some("grant") => grant(&text, &case.with_extension("asks.toml")),
        kind => panic!("{name}: no such kind of case: {kind:?}"),
    };
    let got = outcome.unwrap_or_else(|errors| format!("{errors}\n"));
    let expected = case.with_extension("expected");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&expected, got).expect("the expectation is written");
    } else {
        assert_eq!(got, read(&expected), "{name}; UPDATE_GOLDEN=1 rewrites the expectation");
    }
}

/// What was understood of a host manifest.
fn describe(manifest: &HostManifest) -> String {
    let mut out = format!("{:#?}\n", manifest.host());
    let default = manifest.default_route().map_or("none", |route| route.name().as_str());
    let _ = writeln!(out, "default route: {default}; bundled adapter: {}", manifest.needs_bundled_adapter());
    for route in manifest.routes() {
        let _ = writeln!(out, "{route:?}");
    }
    for plugin in manifest.plugins() {
        let _ = writeln!(
            out,
            "plugin {} order {} {} at {}",
            plugin.name(),
            plugin.order(),
            plugin.on_failure(),
            plugin.path()
        );
        let _ = writeln!(out, "  enabled {} sha256 {:?}", plugin.enabled(), plugin.sha256());
        let changed = plugin.limits().rows().into_iter().filter(|row| !row.is_default());
        let _ = writeln!(out, "  limits {:?}", changed.map(|row| row.to_string()).collect::<Vec<_>>());
        let _ = writeln!(out, "  grants {:?}", plugin.grants());
        let _ = writeln!(out, "  config {}", plugin.config());
    }
    for tool in manifest.tools() {
        let _ = writeln!(out, "{tool:?}");
    }
    let served = Served {
        capabilities: &[Capability::Hooks, Capability::Imports, Capability::Dirs, Capability::Env],
        hooks: &[Hook::Input, Hook::ToolGate, Hook::Stop],
    };
    if let Err(errors) = manifest.check_served(&served) {
        let _ = writeln!(out, "not served:\n{errors}");
    }
    out
}

fn config(text: &str, schema: &Path) -> Result<String, ManifestErrors> {
    let manifest = HostManifest::parse(text, "mainstay.toml")?;
    let schema = ConfigSchema::parse(&read(schema), "config.schema.json")?;
    for plugin in manifest.plugins() {
        manifest.check_config(plugin.name().as_str(), &schema)?;
    }
    Ok("ok\n".to_owned())
}

fn grant(text: &str, asks: &Path) -> Result<String, ManifestErrors> {
    let manifest = HostManifest::parse(text, "mainstay.toml")?;
    let author = PluginManifest::parse(&read(asks), "plugin.toml")?;
    let mut out = String::new();
    for plugin in manifest.plugins() {
        let grant = EffectiveGrant::combine(&author, plugin);
        out += &plugin.receipt_text(&grant);
        out.extend(grant.missing().iter().map(|gap| format!("missing {gap}\n")));
        out.extend(grant.unused().iter().map(|gap| format!("unused {gap}\n")));
    }
    Ok(out)
}

fn cases() -> Vec<PathBuf> {
    let is_case = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.ends_with(".toml") && !name.ends_with(".asks.toml")
    };
    let mut cases: Vec<PathBuf> = files().filter(is_case).collect();
    cases.sort();
    cases
}

fn files() -> impl Iterator<Item = PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    fs::read_dir(folder).expect("the cases are there").map(|entry| entry.expect("the folder can be read").path())
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
