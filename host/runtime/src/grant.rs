//! What the operator allows one plugin. A `Grant` has no default and private fields; it is the only way to a WASI context
//! and to a capability that answers anything but `denied`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use mainstay_protocol::Digest;

use crate::hook::{Capability, Hook};

/// What may be done in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// List and read.
    ReadOnly,
    /// List, read, write, create and remove.
    ReadWrite,
}

/// A folder of the host that the guest sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirGrant {
    host: PathBuf,
    guest: String,
    access: Access,
}

impl DirGrant {
    /// Where the guest sees it.
    pub fn guest(&self) -> &str {
        &self.guest
    }

    /// What the guest may do there.
    pub const fn access(&self) -> Access {
        self.access
    }

    pub(crate) fn host(&self) -> &Path {
        &self.host
    }
}

/// Why something can not be granted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// The guest path is not absolute.
    #[error("the guest path `{0}` of a granted folder must begin with `/`")]
    GuestPath(String),
    /// Two folders would be seen at one place, or one inside another: which one serves a path would be the guest's guess.
    #[error("the guest paths `{0}` and `{1}` of granted folders overlap; give every folder a path of its own")]
    Overlap(String, String),
    /// The host path is relative: it would depend on the process's current folder.
    #[error("the host path of the folder that the guest sees as `{0}` must be absolute")]
    HostPath(String),
    /// The name or value of an environment variable has a forbidden character.
    #[error(
        "the environment variable `{0}` can not be granted: a name is not empty and has no `=`, and neither name nor value has a NUL"
    )]
    Env(String),
}

/// What the operator allows one plugin, both keys already combined: what its manifest asks for *and* the operator grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    hooks: BTreeSet<Hook>,
    capabilities: BTreeSet<Capability>,
    dirs: Vec<DirGrant>,
    env: BTreeMap<String, String>,
}

impl Grant {
    /// Nothing at all. Everything else is said explicitly.
    pub const fn nothing() -> Self {
        Self { hooks: BTreeSet::new(), capabilities: BTreeSet::new(), dirs: Vec::new(), env: BTreeMap::new() }
    }

    /// Lets the plugin decide at a hook.
    #[must_use]
    pub fn with_hook(mut self, hook: Hook) -> Self {
        self.hooks.insert(hook);
        self
    }

    /// Opens an import.
    #[must_use]
    pub fn with_capability(mut self, capability: Capability) -> Self {
        self.capabilities.insert(capability);
        self
    }

    /// Shows a folder to the guest. The folder is opened when the plugin is loaded and stays the same one then: a path
    /// that is swapped for a link later does not widen the grant.
    ///
    /// # Errors
    /// A path is not absolute, or the guest path overlaps one that is granted already.
    pub fn with_dir(mut self, host: impl Into<PathBuf>, guest: &str, access: Access) -> Result<Self, GrantError> {
        let host = host.into();
        if !guest.starts_with('/') {
            return Err(GrantError::GuestPath(guest.to_owned()));
        }
        if !host.is_absolute() {
            return Err(GrantError::HostPath(guest.to_owned()));
        }
        if let Some(other) = self.dirs.iter().find(|other| overlap(&other.guest, guest)) {
            return Err(GrantError::Overlap(other.guest.clone(), guest.to_owned()));
        }
        self.dirs.push(DirGrant { host, guest: guest.to_owned(), access });
        Ok(self)
    }

    /// Sets an environment variable for the guest.
    ///
    /// # Errors
    /// The name is empty or has `=`, or name or value has a NUL.
    pub fn with_env(mut self, name: &str, value: &str) -> Result<Self, GrantError> {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(GrantError::Env(name.escape_default().to_string()));
        }
        self.env.insert(name.to_owned(), value.to_owned());
        Ok(self)
    }

    /// The granted hooks.
    pub const fn hooks(&self) -> &BTreeSet<Hook> {
        &self.hooks
    }

    /// Whether an import is granted.
    pub fn allows(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }

    /// The granted folders.
    pub fn dirs(&self) -> &[DirGrant] {
        &self.dirs
    }

    /// The granted environment: name and value.
    pub const fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }

    /// A digest of what is granted. Values of environment variables are left out: a receipt is public, and a short value
    /// could be guessed from its digest.
    pub(crate) fn digest(&self, limits: &str, config: &str) -> Digest {
        let hooks = format!("{:?} {:?}", self.hooks, self.capabilities);
        let dirs = format!("{:?}", self.dirs);
        let env = format!("{:?}", self.env.keys().collect::<Vec<_>>());
        let fields = [hooks.as_bytes(), dirs.as_bytes(), env.as_bytes(), limits.as_bytes(), config.as_bytes()];
        Digest::of_fields("mainstay/grant/1", &fields)
    }
}

fn overlap(one: &str, other: &str) -> bool {
    let (one, other) = (Path::new(one), Path::new(other));
    one.starts_with(other) || other.starts_with(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_names_are_checked() {
        let dir = |host: &str, guest: &str| Grant::nothing().with_dir(host, guest, Access::ReadOnly);
        assert!(dir("/data", "/workspace").is_ok());
        assert_eq!(dir("data", "/workspace"), Err(GrantError::HostPath("/workspace".into())));
        assert_eq!(dir("/data", "workspace"), Err(GrantError::GuestPath("workspace".into())));
        let nested = dir("/data", "/a").and_then(|grant| grant.with_dir("/other", "/a/b", Access::ReadWrite));
        assert_eq!(nested, Err(GrantError::Overlap("/a".into(), "/a/b".into())));
        for bad in ["", "A=B", "A\0"] {
            assert!(Grant::nothing().with_env(bad, "x").is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_digest_changes_with_the_grant_and_not_with_secrets() {
        let digest = |grant: &Grant| grant.digest("limits", "{}");
        let bare = Grant::nothing();
        assert_ne!(digest(&bare), digest(&bare.clone().with_hook(Hook::Stop)));
        assert_ne!(digest(&bare), digest(&bare.clone().with_capability(Capability::Catalog)));
        let env = |value: &str| bare.clone().with_env("TOKEN", value).map(|grant| digest(&grant));
        assert_eq!(env("a"), env("b"));
    }
}
