//! `mainstay plugin`: what is active, what a package is, and the hot swap.

use std::{io::Write, path::Path};

use mainstay_driver::{PackageFiles, inspect_package};
use mainstay_protocol::PluginName;
use mainstay_server::wire::v1::PluginView;
use serde_json::json;

use super::print_json;
use crate::{
    args::{PlaceArgs, PluginCommand},
    attach,
    exit::{Exit, Failure},
    manifest::Place,
    terminal::{
        escape,
        style::{GOOD, NAME, QUIET, WARNING, paint},
    },
};

pub(super) async fn run(place: &PlaceArgs, command: PluginCommand) -> Result<Exit, Failure> {
    match command {
        PluginCommand::List { json } => list(&Place::find(place)?, json).await,
        PluginCommand::Inspect { package, json } => inspect(&package, json).await,
        PluginCommand::Swap { plugin, package, json } => swap(&Place::find(place)?, &plugin, &package, json).await,
    }
}

async fn list(place: &Place, json: bool) -> Result<Exit, Failure> {
    let mut out = anstream::stdout();
    if let Some((client, _)) = attach::running_host(&place.data_dir).await? {
        for plugin in client.plugins().await? {
            if json { print_json(&mut out, &plugin)? } else { write!(out, "{}", describe(&plugin))? }
        }
        return Ok(Exit::Done);
    }
    if !json {
        writeln!(anstream::stderr(), "{}", paint(QUIET, "no host runs; these are the plugins of the manifest:"))?;
    }
    for entry in place.manifest.plugins() {
        let (name, enabled, path) = (entry.name().as_str(), entry.enabled(), entry.path().as_str());
        let sha256 = entry.sha256();
        if json {
            print_json(&mut out, &json!({"plugin": name, "enabled": enabled, "path": path, "sha256": sha256}))?;
        } else {
            let off = if enabled { "" } else { " (disabled)" };
            let pinned = sha256.map_or_else(|| "not pinned".to_owned(), |sha256| format!("sha256 {}", sha256.short()));
            writeln!(out, "{}{off}  {}  {}", paint(NAME, name), escape::line(path), paint(QUIET, pinned))?;
        }
    }
    Ok(Exit::Done)
}

fn describe(plugin: &PluginView) -> String {
    let (name, version) = (paint(NAME, &plugin.plugin), escape::line(&plugin.version));
    let mut out = format!("{name} {version}  {}", paint(QUIET, format!("sha256 {}", plugin.sha256.short())));
    if plugin.overridden {
        out += &paint(WARNING, "  swapped: not what the manifest names");
    }
    out += "\n";
    if !plugin.exports.is_empty() {
        out += &format!("  exports   {}\n", escape::line(&plugin.exports.join(", ")));
    }
    let tools: Vec<_> = plugin.tools.iter().map(|tool| escape::line(&tool.name)).collect();
    if !tools.is_empty() {
        out += &format!("  tools     {}\n", tools.join(", "));
    }
    for digest in &plugin.draining {
        out += &format!("  draining  {} still serves calls\n", digest.short());
    }
    out
}

/// Compiling can take seconds: it runs off the threads that answer.
async fn inspect(package: &Path, json: bool) -> Result<Exit, Failure> {
    let path = package.to_owned();
    let inspected = tokio::task::spawn_blocking(move || inspect_package(&path)).await;
    let inspected =
        inspected.map_err(|error| Failure::new(Exit::Failed, format!("the inspection broke off: {error}")))?;
    let (files, shape) = inspected.map_err(|error| {
        Failure::new(Exit::Configuration, error).context(format!("inspect `{}`", package.display()))
    })?;
    let words = |values: &[String]| values.iter().map(|value| escape::line(value)).collect::<Vec<_>>().join(", ");
    let exports: Vec<String> = shape.exports.iter().map(ToString::to_string).collect();
    let mut out = anstream::stdout();
    if json {
        let document = json!({
            "name": files.manifest.name().as_str(),
            "version": files.manifest.version().to_string(),
            "sha256": shape.digest,
            "bytes": shape.bytes,
            "asks": asks(&files),
            "exports": exports,
            "other_exports": shape.other_exports,
            "imports": shape.imports,
        });
        print_json(&mut out, &document)?;
        return Ok(Exit::Done);
    }
    writeln!(out, "{} {}", paint(NAME, files.manifest.name()), files.manifest.version())?;
    if let Some(description) = files.manifest.description() {
        writeln!(out, "  {}", escape::line(description.as_str()))?;
    }
    if let Some(license) = files.manifest.license() {
        writeln!(out, "  license   {}", escape::line(license.as_str()))?;
    }
    writeln!(out, "  sha256    {}", shape.digest)?;
    writeln!(out, "  size      {} bytes, {} compiled", shape.bytes, shape.compiled_bytes)?;
    writeln!(out, "  exports   {}", words(&exports))?;
    if !shape.other_exports.is_empty() {
        writeln!(out, "  ignored   {}", words(&shape.other_exports))?;
    }
    for ask in asks(&files) {
        writeln!(out, "  asks      {}", escape::line(&ask))?;
    }
    for import in &shape.imports {
        writeln!(out, "  imports   {}", escape::line(import))?;
    }
    Ok(Exit::Done)
}

/// What the author asks for, one line each, with their reasons.
fn asks(files: &PackageFiles) -> Vec<String> {
    let asks = files.manifest.asks();
    let hooks = asks.hooks().map(|hook| format!("hook {hook}"));
    let imports = asks.imports().map(|ask| format!("import {} ({})", ask.import(), ask.why()));
    let dirs = asks.dirs().map(|ask| format!("dir {} {} ({})", ask.guest(), ask.access(), ask.why()));
    let env = asks.env().map(|ask| format!("env {} ({})", ask.name(), ask.why()));
    let http = asks.http().map(|ask| format!("http {} ({})", ask.target(), ask.why()));
    let secrets = asks.secrets().map(|ask| format!("secret {} ({})", ask.name(), ask.why()));
    hooks.chain(imports).chain(dirs).chain(env).chain(http).chain(secrets).collect()
}

async fn swap(place: &Place, plugin: &PluginName, package: &Path, json: bool) -> Result<Exit, Failure> {
    let client = attach::require_host(place, "a swap").await?;
    // The host has another working folder.
    let path = package.canonicalize().map_err(|error| {
        Failure::new(Exit::Configuration, format!("could not find the package `{}`: {error}", package.display()))
            .hint("name a package folder, or a component with its plugin.toml beside it")
    })?;
    let doing = format!("swap `{plugin}`");
    let swapped = client.swap(plugin, &path).await.map_err(|error| swap_failure(error).context(doing))?;
    let mut out = anstream::stdout();
    if json {
        print_json(&mut out, &swapped)?;
        return Ok(Exit::Done);
    }
    let (version, digest) = (escape::line(&swapped.version), swapped.sha256.short());
    let before = swapped.replaced.map_or_else(String::new, |old| format!(", in place of {}", old.short()));
    writeln!(out, "{} {plugin} {version} ({digest}) serves from the next step on{before}", paint(GOOD, "swapped:"))?;
    for warning in &swapped.warnings {
        writeln!(out, "{} {}", paint(WARNING, "warning:"), escape::line(warning))?;
    }
    Ok(Exit::Done)
}

/// A build that was refused is a problem of the package.
fn swap_failure(error: mainstay_server::client::ClientError) -> Failure {
    use mainstay_server::client::ClientError;
    match &error {
        ClientError::Answered { status: 422, .. } => Failure::new(Exit::Configuration, error)
            .hint("nothing has changed; `mainstay plugin inspect` looks at the package"),
        _ => error.into(),
    }
}
