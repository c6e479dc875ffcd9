//! Folders of the host, opened for a plugin under a guest path (WASI preopens).

use std::collections::BTreeMap;

use super::read_why;
use crate::path::{GuestPath, ManifestPath};
use crate::read::Node;
use crate::text::Line;

words! {
    /// What may be done in a folder. The order is that of power: the lesser of two is what both allow.
    pub Access, "an access";
    /// List and read.
    ReadOnly = "read-only",
    /// List, read, write, create and remove.
    ReadWrite = "read-write",
}

/// An author's ask for a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirAsk {
    guest: GuestPath,
    access: Access,
    why: Line,
}

impl DirAsk {
    /// Where the plugin wants to see it.
    pub fn guest(&self) -> &GuestPath {
        &self.guest
    }

    /// What it wants to do there.
    pub fn access(&self) -> Access {
        self.access
    }

    /// What for, in the author's words.
    pub fn why(&self) -> &Line {
        &self.why
    }
}

/// A folder that an operator grants.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirGrant {
    guest: GuestPath,
    host: ManifestPath,
    access: Access,
}

impl DirGrant {
    /// Where the plugin sees it.
    pub fn guest(&self) -> &GuestPath {
        &self.guest
    }

    /// Where it is, as the manifest writes it.
    pub fn host(&self) -> &ManifestPath {
        &self.host
    }

    /// What the plugin may do there.
    pub fn access(&self) -> Access {
        self.access
    }

    /// What this grant and an ask allow together: the lesser access.
    pub(crate) fn narrowed(&self, ask: &DirAsk) -> Self {
        Self { access: self.access.min(ask.access), ..self.clone() }
    }
}

pub(super) fn read_asks(node: &Node<'_>) -> Option<BTreeMap<GuestPath, DirAsk>> {
    let mut seen = Vec::new();
    node.keyed(|node| {
        node.fields(|fields| {
            let guest = fields.required("guest", GUEST_HINT, |node| read_guest(node, &mut seen));
            let access = fields.required("access", ACCESS_HINT, Node::word);
            let why = read_why(fields);
            let guest: GuestPath = guest?;
            Some((guest.clone(), DirAsk { guest, access: access?, why: why? }))
        })
    })
}

pub(super) fn read_grants(node: &Node<'_>) -> Option<BTreeMap<GuestPath, DirGrant>> {
    let mut seen = Vec::new();
    node.keyed(|node| {
        node.fields(|fields| {
            let host = fields.required("host", "name the folder of the host", Node::word);
            let guest = fields.required("guest", GUEST_HINT, |node| read_guest(node, &mut seen));
            let access = fields.required("access", ACCESS_HINT, Node::word);
            let guest: GuestPath = guest?;
            Some((guest.clone(), DirGrant { guest, host: host?, access: access? }))
        })
    })
}

const GUEST_HINT: &str = "say where the plugin sees the folder, such as \"/workspace\"";
const ACCESS_HINT: &str = "write \"read-only\" or \"read-write\"";

/// A guest path apart from those before it: with nested preopens, which one serves a path would be the guest's guess.
fn read_guest(node: &Node<'_>, seen: &mut Vec<GuestPath>) -> Option<GuestPath> {
    let guest: GuestPath = node.word()?;
    if let Some(other) = seen.iter().find(|other| other.contains(&guest) || guest.contains(other)) {
        return node.conflict(
            format!("`{guest}` and `{other}` are the same or one lies in the other"),
            "give every folder a guest path of its own",
        );
    }
    seen.push(guest.clone());
    Some(guest)
}
