//! `[route.<name>]`: a named way to a model.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::plugin::PluginEntry;
use super::{Declared, cross};
use crate::names::{PluginName, RouteName};
use crate::read::Node;
use crate::text::Line;

/// A route: adapter, model and settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    name: RouteName,
    adapter: PluginName,
    model: Line,
    context_group: RouteName,
    settings: Map<String, Value>,
}

impl Route {
    /// Its name.
    pub fn name(&self) -> &RouteName {
        &self.name
    }

    /// The plugin that exports `model`: an enabled plugin of the manifest, or [`crate::BUNDLED_ADAPTER`].
    pub fn adapter(&self) -> &PluginName {
        &self.adapter
    }

    /// The model, as the adapter calls it.
    pub fn model(&self) -> &str {
        self.model.as_str()
    }

    /// Routes of one group share private reasoning. Default: the adapter's name.
    pub fn context_group(&self) -> &RouteName {
        &self.context_group
    }

    /// Settings for the adapter.
    pub fn settings(&self) -> &Map<String, Value> {
        &self.settings
    }

    pub(super) fn read(
        name: Option<RouteName>,
        node: &Node<'_>,
        declared: &Declared,
        plugins: &BTreeMap<PluginName, PluginEntry>,
    ) -> Option<Self> {
        node.fields(|fields| {
            let hint = "name the plugin that serves the model";
            let adapter = fields.required("adapter", hint, |node| cross::read_adapter(node, declared, plugins));
            let model = fields.required("model", "name the model as the adapter calls it", Node::word);
            let group = fields.optional("context_group", Node::word);
            let settings = fields.or("settings", Map::new(), Node::json_object);
            let adapter = adapter?;
            let context_group = group.unwrap_or_else(|| RouteName::from(&adapter));
            Some(Self { name: name?, adapter, model: model?, context_group, settings })
        })
    }
}
