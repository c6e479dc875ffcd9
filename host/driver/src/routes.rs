//! The routes of the manifest. Without any there is one, to the bundled adapter that plays a script: a fresh installation
//! works offline.

use std::collections::BTreeMap;

use mainstay_manifest::{BUNDLED_ADAPTER, HostManifest};
use mainstay_protocol::{InvalidId, PluginName, RouteName};

/// A way to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) adapter: PluginName,
    pub(crate) model: String,
    pub(crate) context_group: String,
    /// A JSON object.
    pub(crate) settings: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Routes {
    by_name: BTreeMap<RouteName, Route>,
    default: RouteName,
}

impl Routes {
    /// The routes of a manifest, or the bundled one.
    ///
    /// # Errors
    /// A name that the journal could not hold.
    pub(crate) fn from_manifest(manifest: &HostManifest) -> Result<Self, InvalidId> {
        let mut by_name = BTreeMap::new();
        for route in manifest.routes() {
            let settings = serde_json::Value::Object(route.settings().clone()).to_string();
            let made = Route {
                adapter: PluginName::new(route.adapter().as_str())?,
                model: route.model().to_owned(),
                context_group: route.context_group().as_str().to_owned(),
                settings,
            };
            by_name.insert(RouteName::new(route.name().as_str())?, made);
        }
        if by_name.is_empty() {
            by_name.insert(RouteName::new("default")?, bundled()?);
        }
        let default = match manifest.default_route() {
            Some(route) => RouteName::new(route.name().as_str())?,
            None => RouteName::new("default")?,
        };
        Ok(Self { by_name, default })
    }

    pub(crate) fn find(&self, name: &RouteName) -> Option<&Route> {
        self.by_name.get(name)
    }

    pub(crate) fn default_route(&self) -> &RouteName {
        &self.default
    }

    /// A route whose adapter is this plugin.
    pub(crate) fn through(&self, plugin: &PluginName) -> Option<&RouteName> {
        self.by_name.iter().find(|(_, route)| route.adapter == *plugin).map(|(name, _)| name)
    }

    /// The names, for messages.
    pub(crate) fn known(&self) -> String {
        self.by_name.keys().map(RouteName::as_str).collect::<Vec<_>>().join(", ")
    }
}

fn bundled() -> Result<Route, InvalidId> {
    Ok(Route {
        adapter: PluginName::new(BUNDLED_ADAPTER)?,
        model: BUNDLED_ADAPTER.to_owned(),
        context_group: BUNDLED_ADAPTER.to_owned(),
        settings: "{}".to_owned(),
    })
}
