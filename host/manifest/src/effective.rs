//! The two keys together: what a plugin asked for and was granted, and what either side said alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::capability::Capability;
use crate::capability::dirs::DirGrant;
use crate::capability::env::{EnvGrant, EnvSource};
use crate::capability::hooks::Hook;
use crate::capability::http::{HttpAsk, HttpGrant, Method};
use crate::capability::imports::Import;
use crate::capability::secrets::{SecretGrant, SecretSource};
use crate::host::plugin::PluginEntry;
use crate::names::{EnvName, SecretName};
use crate::path::GuestPath;
use crate::plugin::PluginManifest;
use crate::text::Line;

/// What a plugin may do. There is no way to one but [`EffectiveGrant::combine`], and none that allows everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveGrant {
    hooks: BTreeSet<Hook>,
    imports: BTreeSet<Import>,
    dirs: BTreeMap<GuestPath, DirGrant>,
    env: BTreeMap<EnvName, EnvGrant>,
    http: Vec<HttpGrant>,
    secrets: BTreeMap<SecretName, SecretGrant>,
    missing: Vec<Gap>,
    unused: Vec<Gap>,
}

/// Something that only one of the two keys covers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    capability: Capability,
    subject: String,
    detail: String,
    why: Option<Line>,
}

impl Gap {
    fn new(capability: Capability, subject: impl fmt::Display, detail: impl Into<String>, why: Option<&Line>) -> Self {
        Self { capability, subject: subject.to_string(), detail: detail.into(), why: why.cloned() }
    }

    /// Which kind of thing it is about.
    pub fn capability(&self) -> Capability {
        self.capability
    }

    /// Which one: a hook, a guest path, a variable, a target.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// What was asked and what was granted.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// What the author wants it for; for what was asked and not granted.
    pub fn why(&self) -> Option<&Line> {
        self.why.as_ref()
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.capability, self.subject, self.detail)?;
        self.why.as_ref().map_or(Ok(()), |why| write!(f, " ({why})"))
    }
}

const NOT_GRANTED: &str = "asked, not granted";
const NOT_ASKED: &str = "granted, not asked";

impl EffectiveGrant {
    /// What both keys allow: an author's asks and an operator's entry. Whatever only one of them names is allowed by
    /// neither; where they differ in degree, the lesser holds.
    pub fn combine(author: &PluginManifest, operator: &PluginEntry) -> Self {
        let (asks, grants) = (author.asks(), operator.grants());
        let mut gaps = Gaps::default();
        let asked_imports: BTreeMap<_, _> = asks.imports.iter().map(|(import, ask)| (*import, ask.why())).collect();
        let asked_hooks: BTreeMap<_, _> = asks.hooks.iter().map(|hook| (*hook, ())).collect();
        let mut effective = Self {
            hooks: gaps.both(Capability::Hooks, &asked_hooks, &grants.hooks, |()| None),
            imports: gaps.both(Capability::Imports, &asked_imports, &grants.imports, |why| Some(*why)),
            dirs: gaps.dirs(author, operator),
            env: gaps.named(Capability::Env, &asks.env, &grants.env, |ask| ask.why()),
            http: gaps.http(author, operator),
            secrets: gaps.named(Capability::Secrets, &asks.secrets, &grants.secrets, |ask| ask.why()),
            missing: Vec::new(),
            unused: Vec::new(),
        };
        (effective.missing, effective.unused) = gaps.sorted();
        effective
    }

    /// Hooks that it is called for.
    pub fn hooks(&self) -> impl Iterator<Item = Hook> {
        self.hooks.iter().copied()
    }

    /// Whether it is called for a hook.
    pub fn allows_hook(&self, hook: Hook) -> bool {
        self.hooks.contains(&hook)
    }

    /// Imports that answer it.
    pub fn imports(&self) -> impl Iterator<Item = Import> {
        self.imports.iter().copied()
    }

    /// Whether an import answers it.
    pub fn allows_import(&self, import: Import) -> bool {
        self.imports.contains(&import)
    }

    /// Folders that are opened for it, by guest path.
    pub fn dirs(&self) -> impl Iterator<Item = &DirGrant> {
        self.dirs.values()
    }

    /// Environment variables that it sees, by name.
    pub fn env(&self) -> impl Iterator<Item = &EnvGrant> {
        self.env.values()
    }

    /// HTTP targets that it may reach, sorted.
    pub fn http(&self) -> impl Iterator<Item = &HttpGrant> {
        self.http.iter()
    }

    /// Secrets that it may use, by name.
    pub fn secrets(&self) -> impl Iterator<Item = &SecretGrant> {
        self.secrets.values()
    }

    /// What was asked and not granted: the plugin may work worse than its author meant.
    pub fn missing(&self) -> &[Gap] {
        &self.missing
    }

    /// What was granted and not asked: it has no effect, and is better removed.
    pub fn unused(&self) -> &[Gap] {
        &self.unused
    }

    /// A stable text: one permission a line, sorted, under a line with the version of the form. Grants that allow the same
    /// have the same text, however they were written down; a receipt's grant digest is computed over it. Texts of the
    /// operator stand as JSON strings, so that none can look like another line.
    pub fn canonical(&self) -> String {
        let mut out = String::from("mainstay-grant 1\n");
        let lines = self.hooks.iter().map(|hook| format!("hook {hook}"));
        let lines = lines.chain(self.imports.iter().map(|import| format!("import {import}")));
        let lines = lines.chain(self.dirs.values().map(dir_line)).chain(self.env.values().map(env_line));
        let lines = lines.chain(self.http.iter().map(http_line)).chain(self.secrets.values().map(secret_line));
        for line in lines {
            out.push_str(&line);
            out.push('\n');
        }
        out
    }
}

fn dir_line(dir: &DirGrant) -> String {
    format!("dir {} {} from {}", json(dir.guest().as_str()), dir.access(), json(dir.host().as_str()))
}

fn env_line(env: &EnvGrant) -> String {
    match env.source() {
        EnvSource::Host => format!("env {} from host", env.name()),
        EnvSource::Literal(value) => format!("env {} = {}", env.name(), json(value)),
    }
}

fn http_line(http: &HttpGrant) -> String {
    format!("http {} methods {} addresses {}", http.target(), joined(http.methods()), joined(http.addresses()))
}

fn secret_line(secret: &SecretGrant) -> String {
    let source = match secret.source() {
        SecretSource::Env(name) => format!("env {name}"),
        SecretSource::File(path) => format!("file {}", json(path.as_str())),
    };
    let hosts = joined(secret.hosts());
    let (name, header, prefix, body) = (secret.name(), secret.header(), json(secret.prefix()), secret.body());
    format!("secret {name} from {source} hosts {hosts} header {header} prefix {prefix} body {body}")
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn joined(items: impl Iterator<Item = impl fmt::Display>) -> String {
    let items: Vec<String> = items.map(|item| item.to_string()).collect();
    format!("[{}]", items.join(","))
}

/// What was found to be said by one side only.
#[derive(Default)]
struct Gaps {
    missing: Vec<Gap>,
    unused: Vec<Gap>,
}

impl Gaps {
    /// Capabilities without a degree: in both, or not allowed.
    fn both<K: Ord + Copy + fmt::Display, V>(
        &mut self,
        capability: Capability,
        asked: &BTreeMap<K, V>,
        granted: &BTreeSet<K>,
        why: impl for<'v> Fn(&'v V) -> Option<&'v Line>,
    ) -> BTreeSet<K> {
        for (key, ask) in asked.iter().filter(|(key, _)| !granted.contains(key)) {
            self.missing.push(Gap::new(capability, key, NOT_GRANTED, why(ask)));
        }
        for key in granted.iter().filter(|key| !asked.contains_key(key)) {
            self.unused.push(Gap::new(capability, key, NOT_ASKED, None));
        }
        granted.iter().filter(|key| asked.contains_key(key)).copied().collect()
    }

    /// The same for what the operator grants in detail: the grant's own words hold.
    fn named<K: Ord + Clone + fmt::Display, A, G: Clone>(
        &mut self,
        capability: Capability,
        asked: &BTreeMap<K, A>,
        granted: &BTreeMap<K, G>,
        why: impl Fn(&A) -> &Line,
    ) -> BTreeMap<K, G> {
        for (key, ask) in asked.iter().filter(|(key, _)| !granted.contains_key(key)) {
            self.missing.push(Gap::new(capability, key, NOT_GRANTED, Some(why(ask))));
        }
        for key in granted.keys().filter(|key| !asked.contains_key(key)) {
            self.unused.push(Gap::new(capability, key, NOT_ASKED, None));
        }
        let both = granted.iter().filter(|(key, _)| asked.contains_key(key));
        both.map(|(key, grant)| (key.clone(), grant.clone())).collect()
    }

    /// Folders: the guest path is the key, and the lesser access holds.
    fn dirs(&mut self, author: &PluginManifest, operator: &PluginEntry) -> BTreeMap<GuestPath, DirGrant> {
        let asked = &author.asks().dirs;
        let both = self.named(Capability::Dirs, asked, &operator.grants().dirs, |ask| ask.why());
        let mut effective = BTreeMap::new();
        for (guest, grant) in both {
            let Some(ask) = asked.get(&guest) else { continue };
            let detail = || format!("asked {}, granted {}", ask.access(), grant.access());
            if ask.access() > grant.access() {
                self.missing.push(Gap::new(Capability::Dirs, &guest, detail(), Some(ask.why())));
            }
            if ask.access() < grant.access() {
                self.unused.push(Gap::new(Capability::Dirs, &guest, detail(), None));
            }
            effective.insert(guest, grant.narrowed(ask));
        }
        effective
    }

    /// HTTP: a target is allowed with the methods that both sides name for it.
    fn http(&mut self, author: &PluginManifest, operator: &PluginEntry) -> Vec<HttpGrant> {
        let (asks, grants) = (&author.asks().http, &operator.grants().http);
        for ask in asks {
            let covered = grants.iter().filter(|grant| ask.covers(grant)).flat_map(HttpGrant::methods).collect();
            let lacking: BTreeSet<Method> = ask.method_set().difference(&covered).copied().collect();
            if !lacking.is_empty() {
                let detail = format!("asked, not granted for {}", joined(lacking.iter()));
                self.missing.push(Gap::new(Capability::Http, ask.target(), detail, Some(ask.why())));
            }
        }
        let mut effective = Vec::new();
        for grant in grants {
            let asked = asks.iter().filter(|ask| ask.covers(grant)).flat_map(HttpAsk::methods).collect();
            let idle: BTreeSet<Method> = grant.method_set().difference(&asked).copied().collect();
            if !idle.is_empty() {
                let detail = format!("granted, not asked for {}", joined(idle.iter()));
                self.unused.push(Gap::new(Capability::Http, grant.target(), detail, None));
            }
            let methods: BTreeSet<Method> = grant.method_set().intersection(&asked).copied().collect();
            if !methods.is_empty() {
                effective.push(grant.with_methods(methods));
            }
        }
        effective
    }

    fn sorted(mut self) -> (Vec<Gap>, Vec<Gap>) {
        self.missing.sort();
        self.unused.sort();
        (self.missing, self.unused)
    }
}
