//! The builds that a session requires: looked for before anything of it is instantiated.

use std::collections::BTreeMap;

use mainstay_protocol::{Digest, PluginName, op::Refusal};
use mainstay_runtime::Snapshot;

/// A build that a session requires and that is not the active one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingBuild {
    /// The plugin.
    pub plugin: PluginName,
    /// SHA-256 of the component that is required.
    pub required: Digest,
    /// SHA-256 of the component that is active; none when the plugin is not active at all.
    pub found: Option<Digest>,
}

/// The first required build that a snapshot does not have.
pub(crate) fn missing(requires: &BTreeMap<PluginName, Digest>, snapshot: &Snapshot) -> Option<MissingBuild> {
    requires.iter().find_map(|(plugin, required)| {
        let found = snapshot.generation(plugin).map(|active| active.receipt().sha256);
        let (plugin, required) = (plugin.clone(), *required);
        (found != Some(required)).then_some(MissingBuild { plugin, required, found })
    })
}

impl From<MissingBuild> for Refusal {
    fn from(missing: MissingBuild) -> Self {
        let MissingBuild { plugin, required, found } = missing;
        Self::RequiredBuildMissing { plugin, required, found }
    }
}

impl std::fmt::Display for MissingBuild {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Refusal::from(self.clone()).fmt(f)
    }
}

impl std::error::Error for MissingBuild {}
