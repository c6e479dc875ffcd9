//! `mainstay.toml`: the operator's word about the host, its routes, plugins and tools, checked against itself.

mod cross;
pub(crate) mod plugin;
pub(crate) mod route;
pub(crate) mod settings;
pub(crate) mod tool;

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::sync::Arc;

use crate::capability::Capability;
use crate::capability::hooks::Hook;
use crate::config::ConfigSchema;
use crate::error::{ErrorKind, InvalidValue, ManifestError, ManifestErrors};
use crate::names::{PluginName, RouteName, ToolName};
use crate::read::{self, Entry, Fields, Node};
use crate::text::excerpt;
use plugin::PluginEntry;
use route::Route;
use settings::HostSettings;
use tool::ToolEntry;

/// The model adapter that comes with the host: routes may name it without a `[plugin.*]` entry, and it serves when there is
/// no route at all.
pub const BUNDLED_ADAPTER: &str = "rehearsal";

/// A validated `mainstay.toml`.
#[derive(Debug, Clone)]
pub struct HostManifest {
    file: Arc<str>,
    text: Arc<str>,
    host: HostSettings,
    routes: BTreeMap<RouteName, Route>,
    default_route: Option<RouteName>,
    plugins: BTreeMap<PluginName, PluginEntry>,
    tools: BTreeMap<ToolName, ToolEntry>,
}

impl HostManifest {
    /// Reads a manifest. The name, usually the file's, goes into errors only. An empty text is a legal manifest: all
    /// defaults, no routes, no plugins.
    ///
    /// # Errors
    /// Everything that is wrong with the text, at once. Only when it is not TOML are the fields not looked at.
    pub fn parse(text: &str, name_for_errors: &str) -> Result<Self, ManifestErrors> {
        let mut manifest = read::read(text, name_for_errors, |fields| Some(read_manifest(fields)))?;
        manifest.file = read::safe_name(name_for_errors);
        manifest.text = text.into();
        Ok(manifest)
    }

    /// Settings of the host itself.
    pub fn host(&self) -> &HostSettings {
        &self.host
    }

    /// All routes, by name; possibly none.
    pub fn routes(&self) -> impl ExactSizeIterator<Item = &Route> {
        self.routes.values()
    }

    /// A route by its name.
    pub fn route(&self, name: &str) -> Option<&Route> {
        self.routes.get(name)
    }

    /// The route of sessions that name none: the one called `default`, else the only one, else `host.default_route`. None
    /// only when there are no routes.
    pub fn default_route(&self) -> Option<&Route> {
        self.default_route.as_ref().and_then(|name| self.routes.get(name))
    }

    /// All plugins in the order in which their hooks run: by `order`, ties by name. Disabled ones are among them.
    pub fn plugins(&self) -> impl ExactSizeIterator<Item = &PluginEntry> {
        let mut plugins: Vec<&PluginEntry> = self.plugins.values().collect();
        plugins.sort_by_key(|plugin| plugin.order());
        plugins.into_iter()
    }

    /// A plugin by its name.
    pub fn plugin(&self, name: &str) -> Option<&PluginEntry> {
        self.plugins.get(name)
    }

    /// The operator's words about tools, by tool name.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = &ToolEntry> {
        self.tools.values()
    }

    /// The operator's word about a tool.
    pub fn tool(&self, name: &str) -> Option<&ToolEntry> {
        self.tools.get(name)
    }

    /// Whether the caller must add the bundled adapter: there is no route at all, or one names it, and no plugin entry
    /// takes its name.
    pub fn needs_bundled_adapter(&self) -> bool {
        let named = |route: &Route| route.adapter().as_str() == BUNDLED_ADAPTER;
        !self.plugins.contains_key(BUNDLED_ADAPTER) && (self.routes.is_empty() || self.routes.values().any(named))
    }

    /// Refuses what is legal in a manifest and not served by this build of the host, for every enabled plugin. A grant that
    /// did nothing would be a lie.
    ///
    /// # Errors
    /// One error for each grant that is not served.
    pub fn check_served(&self, served: &Served<'_>) -> Result<(), ManifestErrors> {
        let enabled = self.plugins.values().filter(|plugin| plugin.enabled());
        let errors: Vec<ManifestError> = enabled.flat_map(|plugin| self.unserved(plugin, served)).collect();
        ManifestErrors::from_list(errors, 0).map_or(Ok(()), Err)
    }

    fn unserved(&self, plugin: &PluginEntry, served: &Served<'_>) -> Vec<ManifestError> {
        let capabilities = Capability::ALL.iter().copied();
        let capabilities = capabilities.filter(|one| plugin.grants().uses(*one) && !served.capabilities.contains(one));
        let capabilities = capabilities.map(|one| self.not_served(plugin, one, &format!("`grant.{one}`")));
        let hooks = plugin.grants().hooks().filter(|hook| !served.hooks.contains(hook));
        let hooks = hooks.map(|hook| self.not_served(plugin, Capability::Hooks, &format!("the hook `{hook}`")));
        capabilities.chain(hooks).collect()
    }

    fn not_served(&self, plugin: &PluginEntry, capability: Capability, what: &str) -> ManifestError {
        let name = plugin.name().as_str();
        let segments = ["plugin", name, "grant", capability.as_str()].map(str::to_owned);
        let problem = format!("this build of the host does not serve {what}");
        ManifestError::new(ErrorKind::Unserved, &self.file, segments.join("."), problem)
            .at(read::locate(&self.text, &segments))
            .hint("remove the grant, disable the plugin, or use a host that serves it")
    }

    /// Checks the configuration of a plugin against the JSON schema that came with it.
    ///
    /// # Errors
    /// Every violation, with its place in this manifest. A plugin that the manifest does not name has none.
    pub fn check_config(&self, plugin: &str, schema: &ConfigSchema) -> Result<(), ManifestErrors> {
        let Some(entry) = self.plugins.get(plugin) else { return Ok(()) };
        let prefix = ["plugin", plugin, "config"].map(str::to_owned);
        let locate = |segments: &[String]| read::locate(&self.text, segments);
        schema.check(&self.file, &prefix, entry.config(), &locate)
    }
}

impl Default for HostManifest {
    /// What an empty manifest says.
    fn default() -> Self {
        Self {
            file: "mainstay.toml".into(),
            text: "".into(),
            host: HostSettings::default(),
            routes: BTreeMap::new(),
            default_route: None,
            plugins: BTreeMap::new(),
            tools: BTreeMap::new(),
        }
    }
}

impl PartialEq for HostManifest {
    /// Manifests are equal when they say the same, however they are laid out.
    fn eq(&self, other: &Self) -> bool {
        self.host == other.host
            && self.routes == other.routes
            && self.default_route == other.default_route
            && self.plugins == other.plugins
            && self.tools == other.tools
    }
}

/// What a build of the host serves, for [`HostManifest::check_served`].
#[derive(Debug, Clone, Copy)]
pub struct Served<'a> {
    /// Capabilities that may be granted.
    pub capabilities: &'a [Capability],
    /// Hooks that may be granted.
    pub hooks: &'a [Hook],
}

/// The names that the text declares, whether or not what they name could be read: a plugin with a wrong limit is not a
/// missing plugin. Names that are not legal stand escaped: they answer to nothing, and hints may show them.
struct Declared {
    plugins: BTreeSet<String>,
    routes: BTreeSet<String>,
}

fn read_manifest(fields: &mut Fields<'_>) -> HostManifest {
    let host = fields.node("host");
    let routes = entries(fields, "route");
    let plugins = entries(fields, "plugin");
    let tools = entries(fields, "tool");
    let names = |entries: &[Entry<'_>]| entries.iter().map(|entry| excerpt(entry.key())).collect();
    let declared = Declared { plugins: names(&plugins), routes: names(&routes) };

    let settings = host.as_ref().and_then(|node| HostSettings::read(node, &declared)).unwrap_or_default();
    let unpinned = settings.allow_unpinned();
    let plugins = named(&plugins, |name, node| PluginEntry::read(name, node, unpinned));
    let routes = named(&routes, |name, node| Route::read(name, node, &declared, &plugins));
    let tools = named(&tools, |name, node| ToolEntry::read(name, node, &declared));
    let default_route = cross::default_route(fields, host.as_ref(), &settings, &declared);
    HostManifest { host: settings, routes, default_route, plugins, tools, ..HostManifest::default() }
}

fn entries<'r>(fields: &mut Fields<'r>, key: &'static str) -> Vec<Entry<'r>> {
    fields.or(key, Vec::new(), Node::entries)
}

/// Reads a table of named things; those that are wrong, in name or value, were reported and are left out.
fn named<'r, N: FromStr<Err = InvalidValue> + Ord + Clone, T>(
    entries: &[Entry<'r>],
    mut read: impl FnMut(Option<N>, &Node<'r>) -> Option<T>,
) -> BTreeMap<N, T> {
    let mut map = BTreeMap::new();
    for entry in entries {
        let name = entry.name::<N>();
        let value = read(name.clone(), entry.node());
        if let (Some(name), Some(value)) = (name, value) {
            map.insert(name, value);
        }
    }
    map
}
