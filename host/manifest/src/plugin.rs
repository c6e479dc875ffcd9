//! `plugin.toml`: what a plugin is and what it asks for, in the words of its author, whom nobody needs to trust.

use semver::Version;

use crate::capability::Asks;
use crate::error::ManifestErrors;
use crate::names::PluginName;
use crate::path::FileName;
use crate::read::{self, Fields, Node};
use crate::text::Line;

/// A validated `plugin.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginManifest {
    name: PluginName,
    version: Version,
    license: Option<Line>,
    description: Option<Line>,
    component: Option<FileName>,
    state_schema: u32,
    asks: Asks,
    config_schema: Option<FileName>,
}

impl PluginManifest {
    /// Reads a manifest. The name, usually the file's, goes into errors only.
    ///
    /// # Errors
    /// Everything that is wrong with the text, at once. Only when it is not TOML are the fields not looked at.
    pub fn parse(text: &str, name_for_errors: &str) -> Result<Self, ManifestErrors> {
        read::read(text, name_for_errors, read_manifest)
    }

    /// The author's name for it; the operator may install it under another.
    pub fn name(&self) -> &PluginName {
        &self.name
    }

    /// Its version.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// Its licence, usually an SPDX expression.
    pub fn license(&self) -> Option<&Line> {
        self.license.as_ref()
    }

    /// What it does, in one line.
    pub fn description(&self) -> Option<&Line> {
        self.description.as_ref()
    }

    /// The component beside this manifest, when the manifest names it.
    pub fn component(&self) -> Option<&FileName> {
        self.component.as_ref()
    }

    /// The version of the shape of its durable state. Default 0.
    pub fn state_schema(&self) -> u32 {
        self.state_schema
    }

    /// What it asks for.
    pub fn asks(&self) -> &Asks {
        &self.asks
    }

    /// The JSON schema of its configuration, a file beside this manifest. Without one the configuration is not checked.
    pub fn config_schema(&self) -> Option<&FileName> {
        self.config_schema.as_ref()
    }
}

fn read_manifest(fields: &mut Fields<'_>) -> Option<PluginManifest> {
    let name = fields.required("name", "name the plugin, such as \"files\"", Node::word);
    let version = fields.required("version", "give a version, such as \"0.1.0\"", read_version);
    let license = fields.optional("license", Node::word);
    let description = fields.optional("description", Node::word);
    let component = fields.optional("component", Node::word);
    let state_schema = fields.or("state_schema", 0, read_state_schema);
    let asks = fields.or("asks", Asks::default(), Asks::read);
    let config_schema = fields.optional("config_schema", Node::word);
    Some(PluginManifest {
        name: name?,
        version: version?,
        license,
        description,
        component,
        state_schema,
        asks,
        config_schema,
    })
}

fn read_version(node: &Node<'_>) -> Option<Version> {
    let hint = "write three numbers, such as \"0.1.0\" or \"1.2.0-beta.1\"";
    Version::parse(node.text()?).map_or_else(|_| node.bad("not a semantic version", hint), Some)
}

fn read_state_schema(node: &Node<'_>) -> Option<u32> {
    node.integer(0, u32::MAX.into()).and_then(|number| number.try_into().ok())
}
