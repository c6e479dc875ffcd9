//! `mainstay check`: what the manifest asks of this host, before anything runs.

use std::io::Write;

use mainstay_driver::{CheckReport, PluginCheck};
use serde_json::json;

use super::print_json;
use crate::{
    args::CheckArgs,
    exit::{Exit, Failure},
    manifest::Place,
    terminal::{
        escape,
        style::{BAD, GOOD, NAME, QUIET, WARNING, paint},
    },
};

pub(super) async fn run(place: &Place, args: &CheckArgs) -> Result<Exit, Failure> {
    let report = mainstay_driver::check(&place.host_options()?).await;
    let mut out = anstream::stdout();
    if args.json {
        print_json(&mut out, &document(&report))?;
    } else {
        let manifest =
            place.manifest_file.as_ref().map_or("the built-in manifest".to_owned(), |file| file.display().to_string());
        write!(out, "{}", describe(&report, &manifest))?;
    }
    Ok(if report.problems.is_empty() { Exit::Done } else { Exit::Configuration })
}

fn document(report: &CheckReport) -> serde_json::Value {
    json!({
        "problems": report.problems,
        "warnings": report.warnings,
        "plugins": report.plugins.iter().map(plugin_document).collect::<Vec<_>>(),
    })
}

fn plugin_document(plugin: &PluginCheck) -> serde_json::Value {
    let limits: serde_json::Map<_, _> = plugin.limits.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    json!({
        "plugin": plugin.plugin,
        "version": plugin.version,
        "sha256": plugin.sha256,
        "exports": plugin.exports,
        "imports": plugin.imports,
        "granted": plugin.granted,
        "missing": plugin.missing,
        "unused": plugin.unused,
        "limits": limits,
        "warnings": plugin.warnings,
    })
}

fn describe(report: &CheckReport, manifest: &str) -> String {
    let mut out = format!("{} {}\n", paint(QUIET, "manifest"), escape::line(manifest));
    report.plugins.iter().for_each(|plugin| out += &describe_plugin(plugin));
    if report.plugins.is_empty() {
        out += &paint(QUIET, "no plugins are enabled and readable\n");
    }
    for warning in &report.warnings {
        out += &format!("{} {}\n", paint(WARNING, "warning:"), escape::block(warning));
    }
    for problem in &report.problems {
        out += &format!("{} {}\n", paint(BAD, "problem:"), escape::block(problem).replace('\n', "\n  "));
    }
    out += &match report.problems.len() {
        0 => paint(GOOD, "no problems"),
        1 => paint(BAD, "1 problem"),
        count => paint(BAD, format!("{count} problems")),
    };
    out + "\n"
}

/// What both keys say; nothing is left out, because what is not shown can't be judged.
fn describe_plugin(plugin: &PluginCheck) -> String {
    let (name, version) = (paint(NAME, escape::line(&plugin.plugin)), escape::line(&plugin.version));
    let mut out = format!("{name} {version}  {}\n", paint(QUIET, format!("sha256 {}", plugin.sha256)));
    let mut row = |title: &str, values: &[String]| {
        for (index, value) in values.iter().enumerate() {
            let title = if index == 0 { title } else { "" };
            out += &format!("  {title:<8}  {}\n", escape::line(value));
        }
    };
    row("exports", &plugin.exports);
    row("granted", &plugin.granted);
    row("missing", &plugin.missing);
    row("unused", &plugin.unused);
    let limits: Vec<_> = plugin.limits.iter().map(|(key, value)| format!("{key} {value}")).collect();
    row("limits", &[limits.join(", ")]);
    row("warnings", &plugin.warnings);
    out
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use mainstay_protocol::Digest;

    use super::*;

    #[test]
    fn a_report_shows_both_keys_and_the_problems() {
        let plugin = PluginCheck {
            plugin: "files".into(),
            version: "0.1.0".into(),
            sha256: Digest::ZERO,
            exports: vec!["tools".into()],
            imports: vec![],
            granted: vec!["dirs /workspace read-write".into()],
            missing: vec!["env LANG: asked, not granted".into(), "env \u{1b}: asked, not granted".into()],
            unused: vec![],
            limits: vec![("memory".into(), "64 MiB".into()), ("call".into(), "60 s".into())],
            warnings: vec![],
        };
        let report = CheckReport { problems: vec!["one\n  hint: two".into()], warnings: vec![], plugins: vec![plugin] };
        let expected = "\
manifest mainstay.toml
files 0.1.0  sha256 0000000000000000000000000000000000000000000000000000000000000000
  exports   tools
  granted   dirs /workspace read-write
  missing   env LANG: asked, not granted
            env \\u{1b}: asked, not granted
  limits    memory 64 MiB, call 60 s
problem: one
    hint: two
1 problem
";
        assert_eq!(strip_str(&describe(&report, "mainstay.toml")).to_string(), expected);
    }
}
