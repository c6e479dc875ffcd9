//! Checks across the tables of a manifest: every name has something that answers to it.

use super::plugin::PluginEntry;
use super::settings::HostSettings;
use super::{BUNDLED_ADAPTER, Declared};
use crate::names::{PluginName, RouteName};
use crate::read::{Fields, Node};
use crate::suggest;
use std::collections::BTreeMap;

/// The route that serves sessions which name none, whatever else there is.
const DEFAULT: &str = "default";

/// `host.default_route`: a route of this manifest, and no second opinion beside a route called `default`.
pub(super) fn read_default_route(node: &Node<'_>, declared: &Declared) -> Option<RouteName> {
    let name: RouteName = node.word()?;
    if !declared.routes.contains(name.as_str()) {
        let known: Vec<&str> = declared.routes.iter().map(String::as_str).collect();
        return unknown(node, "route", name.as_str(), &known);
    }
    if name.as_str() != DEFAULT && declared.routes.contains(DEFAULT) {
        let problem = format!("the route `{DEFAULT}` is the default already");
        return node.conflict(problem, format!("remove this key, or rename `[route.{DEFAULT}]`"));
    }
    Some(name)
}

/// The route of sessions that name none. `host` is the table `[host]`, if there is one.
pub(super) fn default_route(
    fields: &Fields<'_>,
    host: Option<&Node<'_>>,
    settings: &HostSettings,
    declared: &Declared,
) -> Option<RouteName> {
    if let Some(name) = settings.default_route() {
        return Some(name.clone());
    }
    let only = (declared.routes.len() == 1).then(|| declared.routes.first()).flatten();
    let chosen = declared.routes.get(DEFAULT).or(only);
    let reported = host.is_some_and(|node| node.has("default_route"));
    if chosen.is_none() && !declared.routes.is_empty() && !reported {
        let names: Vec<&str> = declared.routes.iter().map(String::as_str).collect();
        let hint = format!("name one of {}, or call one route `{DEFAULT}`", suggest::list(&names));
        return fields.missing_in(
            "host",
            "default_route",
            format!("is missing: none of several routes is `{DEFAULT}`"),
            hint,
        );
    }
    chosen.and_then(|name| name.parse().ok())
}

/// The adapter of a route: an enabled plugin of this manifest, or the bundled one.
pub(super) fn read_adapter(
    node: &Node<'_>,
    declared: &Declared,
    plugins: &BTreeMap<PluginName, PluginEntry>,
) -> Option<PluginName> {
    let name = read_plugin(node, declared)?;
    if plugins.get(&name).is_some_and(|plugin| !plugin.enabled()) {
        let hint = "enable it, or remove the route";
        return node.conflict(format!("the plugin `{name}` is disabled"), hint);
    }
    Some(name)
}

/// The name of a plugin of this manifest, or of the bundled adapter.
pub(super) fn read_plugin(node: &Node<'_>, declared: &Declared) -> Option<PluginName> {
    let name: PluginName = node.word()?;
    if name.as_str() == BUNDLED_ADAPTER || declared.plugins.contains(name.as_str()) {
        return Some(name);
    }
    let mut known: Vec<&str> = declared.plugins.iter().map(String::as_str).collect();
    if !known.contains(&BUNDLED_ADAPTER) {
        known.push(BUNDLED_ADAPTER);
    }
    unknown(node, "plugin", name.as_str(), &known)
}

fn unknown<T>(node: &Node<'_>, what: &str, name: &str, known: &[&str]) -> Option<T> {
    let problem = format!("there is no {what} `{name}` in this manifest");
    let near = suggest::nearest(name, known.iter().copied());
    let near = near.map(|near| format!("did you mean `{near}`? "));
    node.conflict(
        problem,
        format!("{}add `[{what}.{name}]`, or name one of {}", near.unwrap_or_default(), suggest::list(known)),
    )
}
