//! `[plugin.<name>]`: a build of a plugin, pinned by digest, with its limits, grants and configuration.

use mainstay_protocol::Digest;
use serde_json::{Map, Value};

use crate::capability::Grants;
use crate::effective::EffectiveGrant;
use crate::limits::PluginLimits;
use crate::names::PluginName;
use crate::path::ManifestPath;
use crate::read::{Fields, Node};

words! {
    /// What follows when a hook of the plugin traps, times out or answers badly.
    pub FailurePolicy, "a failure policy";
    /// What it guards is refused. Default.
    Closed = "closed",
    /// It is skipped, and the failure is recorded.
    Open = "open",
}

/// A plugin as the operator installs it. Two entries are equal when they say the same.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginEntry {
    name: PluginName,
    path: ManifestPath,
    sha256: Option<Digest>,
    enabled: bool,
    order: i32,
    on_failure: FailurePolicy,
    limits: PluginLimits,
    grants: Grants,
    config: Value,
}

impl PluginEntry {
    /// The name under which it is installed; the author's own name for it may differ.
    pub fn name(&self) -> &PluginName {
        &self.name
    }

    /// The component.
    pub fn path(&self) -> &ManifestPath {
        &self.path
    }

    /// The digest that the component must have. None only where `host.allow_unpinned` is true.
    pub fn sha256(&self) -> Option<Digest> {
        self.sha256
    }

    /// Whether it takes part. Default true.
    pub fn enabled(&self) -> bool {
        self.enabled
    }

    /// The place of its hooks among those of others: lower runs first, ties go by name. Default 0.
    pub fn order(&self) -> i32 {
        self.order
    }

    /// What follows when one of its hooks fails.
    pub fn on_failure(&self) -> FailurePolicy {
        self.on_failure
    }

    /// What one call may use at most.
    pub fn limits(&self) -> &PluginLimits {
        &self.limits
    }

    /// What the operator grants. What the plugin may do is less or as much: [`EffectiveGrant::combine`].
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// Its configuration, a JSON object; not yet checked against the plugin's schema ([`crate::HostManifest::check_config`]).
    pub fn config(&self) -> &Value {
        &self.config
    }

    /// What a receipt's digest of grant, limits and configuration is computed over. Stable: equal permissions, limits and
    /// configurations have equal texts, whatever the order in which they were written.
    pub fn receipt_text(&self, grant: &EffectiveGrant) -> String {
        let config = canonical_json(&self.config);
        format!("{}limits\n{}config\n{config}\n", grant.canonical(), self.limits.canonical())
    }

    pub(super) fn read(name: Option<PluginName>, node: &Node<'_>, allow_unpinned: bool) -> Option<Self> {
        node.fields(|fields| {
            let path = fields.required("path", "name the component's file", Node::word);
            let sha256 = read_pin(fields, allow_unpinned);
            let enabled = fields.or("enabled", true, Node::flag);
            let order = fields.or("order", 0, read_order);
            let on_failure = fields.or("on_failure", FailurePolicy::Closed, Node::word);
            let limits = fields.or("limits", PluginLimits::default(), PluginLimits::read);
            let grants = fields.or("grant", Grants::default(), Grants::read);
            let config = Value::Object(fields.or("config", Map::new(), Node::json_object));
            Some(Self { name: name?, path: path?, sha256, enabled, order, on_failure, limits, grants, config })
        })
    }
}

fn read_order(node: &Node<'_>) -> Option<i32> {
    node.integer(i32::MIN.into(), i32::MAX.into()).and_then(|order| order.try_into().ok())
}

/// The pin; its absence is an error that was reported unless the host allows it.
fn read_pin(fields: &mut Fields<'_>, allow_unpinned: bool) -> Option<Digest> {
    let Some(node) = fields.node("sha256") else {
        let hint = "pin the build (`sha256sum FILE`), or set `allow_unpinned = true` under [host]";
        return if allow_unpinned { None } else { fields.missing("sha256", "is missing", hint) };
    };
    let hint = "write 64 hexadecimal digits in lower case (`sha256sum FILE`)";
    node.text()?.parse().map_or_else(|_| node.bad("not a sha256", hint), Some)
}

/// JSON with sorted keys and no spaces.
fn canonical_json(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entry =
                |(key, value): &(&String, &Value)| format!("{}:{}", Value::from(key.as_str()), canonical_json(value));
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical_json).collect::<Vec<_>>().join(",")),
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_json_sorts_keys_at_every_level() {
        let value: Value = serde_json::from_str(r#"{"b":[{"d":1,"c":null}],"a":"x\n"}"#).unwrap();
        assert_eq!(canonical_json(&value), r#"{"a":"x\n","b":[{"c":null,"d":1}]}"#);
    }
}
