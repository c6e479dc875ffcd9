//! What a plugin can be allowed to do. Each capability is one module with the author's ask, the operator's grant, how both
//! are read, and what they allow together; adding one touches its module and the lists here.

pub(crate) mod dirs;
pub(crate) mod env;
pub(crate) mod hooks;
pub(crate) mod http;
pub(crate) mod imports;
pub(crate) mod secrets;

use std::collections::{BTreeMap, BTreeSet};

use crate::names::{EnvName, SecretName};
use crate::path::GuestPath;
use crate::read::{Fields, Node};
use crate::text::Line;

use dirs::{DirAsk, DirGrant};
use env::{EnvAsk, EnvGrant};
use hooks::Hook;
use http::{HttpAsk, HttpGrant};
use imports::{Import, ImportAsk};
use secrets::{SecretAsk, SecretGrant};

words! {
    /// A kind of thing that needs two keys: the author asks, the operator grants.
    pub Capability, "a capability";
    /// Points where middleware decides.
    Hooks = "hooks",
    /// Interfaces of the host that answer `denied` without a grant.
    Imports = "imports",
    /// Folders of the host.
    Dirs = "dirs",
    /// Environment variables.
    Env = "env",
    /// Outgoing HTTP.
    Http = "http",
    /// Secrets that the plugin can use and never sees.
    Secrets = "secrets",
}

/// What the author of a plugin asks for: `asks` in `plugin.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asks {
    pub(crate) hooks: BTreeSet<Hook>,
    pub(crate) imports: BTreeMap<Import, ImportAsk>,
    pub(crate) dirs: BTreeMap<GuestPath, DirAsk>,
    pub(crate) env: BTreeMap<EnvName, EnvAsk>,
    pub(crate) http: Vec<HttpAsk>,
    pub(crate) secrets: BTreeMap<SecretName, SecretAsk>,
}

impl Asks {
    /// Hooks it exports and wants to be called for.
    pub fn hooks(&self) -> impl Iterator<Item = Hook> {
        self.hooks.iter().copied()
    }

    /// Imports that it wants answered, by name.
    pub fn imports(&self) -> impl Iterator<Item = &ImportAsk> {
        self.imports.values()
    }

    /// Folders, by guest path.
    pub fn dirs(&self) -> impl Iterator<Item = &DirAsk> {
        self.dirs.values()
    }

    /// Environment variables, by name.
    pub fn env(&self) -> impl Iterator<Item = &EnvAsk> {
        self.env.values()
    }

    /// HTTP targets, in the order of the manifest.
    pub fn http(&self) -> impl Iterator<Item = &HttpAsk> {
        self.http.iter()
    }

    /// Secrets, by name.
    pub fn secrets(&self) -> impl Iterator<Item = &SecretAsk> {
        self.secrets.values()
    }

    pub(crate) fn read(node: &Node<'_>) -> Option<Self> {
        node.fields(|fields| {
            Some(Self {
                hooks: fields.or("hooks", BTreeSet::new(), hooks::read),
                imports: fields.or("imports", BTreeMap::new(), imports::read_asks),
                dirs: fields.or("dirs", BTreeMap::new(), dirs::read_asks),
                env: fields.or("env", BTreeMap::new(), env::read_asks),
                http: fields.or("http", Vec::new(), http::read_asks),
                secrets: fields.or("secrets", BTreeMap::new(), secrets::read_asks),
            })
        })
    }
}

/// What the operator grants a plugin: `grant` in its entry of `mainstay.toml`. Nothing is granted that is not named.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grants {
    pub(crate) hooks: BTreeSet<Hook>,
    pub(crate) imports: BTreeSet<Import>,
    pub(crate) dirs: BTreeMap<GuestPath, DirGrant>,
    pub(crate) env: BTreeMap<EnvName, EnvGrant>,
    pub(crate) http: Vec<HttpGrant>,
    pub(crate) secrets: BTreeMap<SecretName, SecretGrant>,
}

impl Grants {
    /// Hooks that it may be called for.
    pub fn hooks(&self) -> impl Iterator<Item = Hook> {
        self.hooks.iter().copied()
    }

    /// Imports that answer it.
    pub fn imports(&self) -> impl Iterator<Item = Import> {
        self.imports.iter().copied()
    }

    /// Folders, by guest path.
    pub fn dirs(&self) -> impl Iterator<Item = &DirGrant> {
        self.dirs.values()
    }

    /// Environment variables, by name.
    pub fn env(&self) -> impl Iterator<Item = &EnvGrant> {
        self.env.values()
    }

    /// HTTP targets, sorted.
    pub fn http(&self) -> impl Iterator<Item = &HttpGrant> {
        self.http.iter()
    }

    /// Secrets, by name.
    pub fn secrets(&self) -> impl Iterator<Item = &SecretGrant> {
        self.secrets.values()
    }

    /// Whether anything of a capability is granted.
    pub fn uses(&self, capability: Capability) -> bool {
        match capability {
            Capability::Hooks => !self.hooks.is_empty(),
            Capability::Imports => !self.imports.is_empty(),
            Capability::Dirs => !self.dirs.is_empty(),
            Capability::Env => !self.env.is_empty(),
            Capability::Http => !self.http.is_empty(),
            Capability::Secrets => !self.secrets.is_empty(),
        }
    }

    pub(crate) fn read(node: &Node<'_>) -> Option<Self> {
        node.fields(|fields| {
            let http = fields.node("http");
            let targets = http.as_ref().map_or_else(|| Some(Vec::new()), http::read_grants);
            Some(Self {
                hooks: fields.or("hooks", BTreeSet::new(), hooks::read),
                imports: fields.or("imports", BTreeSet::new(), imports::read_grants),
                dirs: fields.or("dirs", BTreeMap::new(), dirs::read_grants),
                env: fields.or("env", BTreeMap::new(), env::read_grants),
                secrets: fields.or("secrets", BTreeMap::new(), |node| secrets::read_grants(node, targets.as_deref())),
                http: targets.unwrap_or_default(),
            })
        })
    }
}

/// The `why` of an ask: a word to the operator who decides.
fn read_why(fields: &mut Fields<'_>) -> Option<Line> {
    fields.required("why", "tell the operator in one line what it is for", Node::word)
}
