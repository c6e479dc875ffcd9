//! A plugin's entry of the manifest as a stable text: what an override by a swap is tied to. The text is written by hand, key by
//! key, so that it changes when the entry does and not when a type of ours does.

use std::fmt::{Display, Write as _};

use mainstay_manifest::{DirGrant, EnvGrant, EnvSource, Grants, HttpGrant, PluginEntry, SecretGrant, SecretSource};
use mainstay_protocol::Digest;
use serde_json::Value;

/// What tells two states of a manifest's entry apart: an override by a swap lasts until it changes.
pub(crate) fn entry_digest(entry: &PluginEntry) -> Digest {
    Digest::of_fields("mainstay/plugin-entry/1", &[entry_text(entry).as_bytes()])
}

/// Entries that say the same have the same text, whatever the order in which they were written.
fn entry_text(entry: &PluginEntry) -> String {
    let pin = entry.sha256().map_or_else(|| "none".to_owned(), |sha256| sha256.to_string());
    let mut text = String::new();
    line(&mut text, format_args!("path {}", quoted(entry.path().as_str())));
    line(&mut text, format_args!("sha256 {pin}"));
    line(&mut text, format_args!("order {}", entry.order()));
    line(&mut text, format_args!("on_failure {}", entry.on_failure()));
    text += &entry.limits().canonical();
    grant_lines(&mut text, entry.grants());
    line(&mut text, format_args!("config {}", canonical_json(entry.config())));
    text
}

fn grant_lines(text: &mut String, grants: &Grants) {
    grants.hooks().for_each(|hook| line(text, format_args!("hook {hook}")));
    grants.imports().for_each(|import| line(text, format_args!("import {import}")));
    grants.dirs().for_each(|dir| line(text, dir_line(dir)));
    grants.env().for_each(|env| line(text, env_line(env)));
    grants.http().for_each(|http| line(text, http_line(http)));
    grants.secrets().for_each(|secret| line(text, secret_line(secret)));
}

fn dir_line(dir: &DirGrant) -> String {
    format!("dir {} {} from {}", quoted(dir.guest().as_str()), dir.access(), quoted(dir.host().as_str()))
}

fn env_line(env: &EnvGrant) -> String {
    match env.source() {
        EnvSource::Host => format!("env {} from host", env.name()),
        EnvSource::Literal(value) => format!("env {} = {}", env.name(), quoted(value)),
    }
}

fn http_line(http: &HttpGrant) -> String {
    format!("http {} methods {} addresses {}", http.target(), list(http.methods()), list(http.addresses()))
}

fn secret_line(secret: &SecretGrant) -> String {
    let source = match secret.source() {
        SecretSource::Env(name) => format!("env {name}"),
        SecretSource::File(path) => format!("file {}", quoted(path.as_str())),
    };
    let (name, hosts, header) = (secret.name(), list(secret.hosts()), secret.header());
    let (prefix, body) = (quoted(secret.prefix()), secret.body());
    format!("secret {name} from {source} hosts {hosts} header {header} prefix {prefix} body {body}")
}

fn line(text: &mut String, line: impl Display) {
    // Writing to a string can't fail.
    let _infallible = writeln!(text, "{line}");
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn list(items: impl Iterator<Item = impl Display>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(",")
}

/// JSON with sorted keys and no spaces.
fn canonical_json(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            format!("{{{}}}", list(entries.into_iter().map(|(key, value)| member(key, value))))
        }
        Value::Array(items) => format!("[{}]", list(items.iter().map(canonical_json))),
        scalar => scalar.to_string(),
    }
}

fn member(key: &str, value: &Value) -> String {
    format!("{}:{}", quoted(key), canonical_json(value))
}

#[cfg(test)]
mod tests {
    use mainstay_manifest::HostManifest;

    use super::*;

    const ENTRY: &str = r#"
        path = "plugins/files"
        order = -3
        on_failure = "open"
        limits = { memory = "128 MiB" }
        grant.hooks = ["tool-gate", "input"]
        grant.imports = ["transcript"]
        grant.dirs = [{ host = "work space", guest = "/workspace", access = "read-write" }]
        grant.env = ["LANG", { name = "MODE", value = "strict" }]
        config = { b = [{ d = 1, c = "x" }], a = true }
    "#;

    const TEXT: &str = r#"path "plugins/files"
sha256 none
order -3
on_failure open
memory = 128 MiB
call = 1 min
table_elements = 20000
instances = 32
handles = 1024
hostcall = 8 MiB
output = 16 MiB
log = 256 KiB
state = 16 MiB
http = 16 MiB
hook input
hook tool-gate
import transcript
dir "/workspace" read-write from "work space"
env LANG from host
env MODE = "strict"
config {"a":true,"b":[{"c":"x","d":1}]}
"#;

    fn parsed(entry: &str) -> PluginEntry {
        let text = format!("[host]\nallow_unpinned = true\n[plugin.files]\n{entry}");
        let manifest = HostManifest::parse(&text, "mainstay.toml").unwrap_or_else(|errors| panic!("{errors}"));
        manifest.plugin("files").cloned().expect("an entry")
    }

    #[test]
    fn the_text_of_an_entry_is_stable() {
        assert_eq!(entry_text(&parsed(ENTRY)), TEXT);
    }

    /// Journals hold this digest: with another one, every override in the field would end.
    #[test]
    fn the_digest_of_an_entry_is_stable() {
        let digest = entry_digest(&parsed(ENTRY)).to_string();
        assert_eq!(digest, "05face98266ddce60d0dc1954fd7d26b9a5db8c46b11e012180fb76acdf76398");
    }

    #[test]
    fn every_change_of_an_entry_changes_its_digest() {
        let before = entry_digest(&parsed(ENTRY));
        let pinned = format!("sha256 = \"{}\"\n{ENTRY}", Digest::of(b"pinned"));
        assert_ne!(entry_digest(&parsed(&pinned)), before);
        for (from, to) in [
            ("plugins/files", "plugins/other"),
            ("-3", "3"),
            ("\"open\"", "\"closed\""),
            ("128 MiB", "129 MiB"),
            ("\"tool-gate\", ", ""),
            ("\"transcript\"", ""),
            ("work space", "workspace"),
            ("read-write", "read-only"),
            ("\"LANG\", ", ""),
            ("strict", "lax"),
            ("d = 1", "d = 2"),
        ] {
            assert_ne!(entry_digest(&parsed(&ENTRY.replace(from, to))), before, "{from} -> {to}");
        }
    }

    #[test]
    fn the_order_in_which_an_entry_is_written_does_not_count() {
        let other = ENTRY
            .replace("\"tool-gate\", \"input\"", "\"input\", \"tool-gate\"")
            .replace("b = [{ d = 1, c = \"x\" }], a = true", "a = true, b = [{ c = \"x\", d = 1 }]");
        assert_ne!(other, ENTRY);
        assert_eq!(entry_digest(&parsed(&other)), entry_digest(&parsed(ENTRY)));
    }
}
