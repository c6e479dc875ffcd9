//! Imports: interfaces of the host that are always linked, and answer `denied` without a grant.

use std::collections::{BTreeMap, BTreeSet};

use super::read_why;
use crate::read::Node;
use crate::text::Line;

words! {
    /// An interface of the host that needs a grant.
    pub Import, "an import that needs a grant";
    /// The visible history of the session.
    Transcript = "transcript",
    /// What the current step sends to the model.
    CurrentStep = "current-step",
    /// The tools and models of the other plugins.
    Catalog = "catalog",
    /// The plugin's state across sessions.
    PluginState = "plugin-state",
    /// Large payloads.
    Blobs = "blobs",
    /// Placeholders for secrets; which secrets, `grant.secrets` says.
    Secrets = "secrets",
    /// Model calls of the plugin's own.
    Models = "models",
}

/// Interfaces that every plugin may use.
const NO_GRANT_NEEDED: &[&str] = &["context", "log", "progress", "suspension", "session-state"];

/// An author's ask for an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportAsk {
    import: Import,
    why: Line,
}

impl ImportAsk {
    /// Which import.
    pub fn import(&self) -> Import {
        self.import
    }

    /// What for, in the author's words.
    pub fn why(&self) -> &Line {
        &self.why
    }
}

pub(super) fn read_asks(node: &Node<'_>) -> Option<BTreeMap<Import, ImportAsk>> {
    node.keyed(|node| {
        node.fields(|fields| {
            let import = fields.required("name", "name the import", read_one);
            let why = read_why(fields);
            let import = import?;
            Some((import, ImportAsk { import, why: why? }))
        })
    })
}

pub(super) fn read_grants(node: &Node<'_>) -> Option<BTreeSet<Import>> {
    let imports = node.keyed(|node| read_one(node).map(|import| (import, ())))?;
    Some(imports.into_keys().collect())
}

fn read_one(node: &Node<'_>) -> Option<Import> {
    let text = node.text()?;
    if NO_GRANT_NEEDED.contains(&text) {
        return node.bad(format!("`{text}` needs no grant"), "remove it: every plugin may use this import");
    }
    if text.starts_with("wasi:") {
        return node.bad("WASI is granted by what it reaches", "use `dirs`, `env` or `http` instead");
    }
    node.word()
}
