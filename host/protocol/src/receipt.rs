//! Receipts: exactly which code served.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Digest, PluginName};

/// Which build of a plugin, under which grant and host, served a call or made a decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// The name under which the operator installed it.
    pub plugin: PluginName,
    /// The version in its manifest.
    pub version: String,
    /// SHA-256 of the component.
    pub sha256: Digest,
    /// The version of the interface package that it was served with, such as `0.1.0`.
    pub interface: String,
    /// Digest of the effective grant, limits and configuration.
    pub grant: Digest,
    /// The build of the host, such as `mainstay 0.1.0`.
    pub host: String,
}

impl Receipt {
    /// The receipt's id: the digest of all that it says.
    pub fn id(&self) -> Digest {
        let fields: [&[u8]; 6] = [
            self.plugin.as_str().as_bytes(),
            self.version.as_bytes(),
            self.sha256.as_bytes(),
            self.interface.as_bytes(),
            self.grant.as_bytes(),
            self.host.as_bytes(),
        ];
        Digest::of_fields("mainstay/receipt/1", &fields)
    }
}
