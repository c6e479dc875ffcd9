//! Environment variables: passed on from the host's environment by name, or set by the operator.

use std::collections::BTreeMap;

use super::read_why;
use crate::names::EnvName;
use crate::read::Node;
use crate::text::Line;

/// The longest value, in bytes.
const MAX_VALUE: usize = 32 * 1024;

/// An author's ask for an environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvAsk {
    name: EnvName,
    why: Line,
}

impl EnvAsk {
    /// Which variable.
    pub fn name(&self) -> &EnvName {
        &self.name
    }

    /// What for, in the author's words.
    pub fn why(&self) -> &Line {
        &self.why
    }
}

/// Where the value of a variable comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum EnvSource {
    /// From the host's environment, under the same name; unset there is unset for the plugin.
    Host,
    /// From the manifest. Not for secrets: the plugin reads it, and so does everyone who reads the manifest.
    Literal(String),
}

/// A variable that an operator grants.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct EnvGrant {
    name: EnvName,
    source: EnvSource,
}

impl EnvGrant {
    /// Which variable.
    pub fn name(&self) -> &EnvName {
        &self.name
    }

    /// Where its value comes from.
    pub fn source(&self) -> &EnvSource {
        &self.source
    }
}

pub(super) fn read_asks(node: &Node<'_>) -> Option<BTreeMap<EnvName, EnvAsk>> {
    node.keyed(|node| {
        node.fields(|fields| {
            let name = fields.required("name", "name the variable", Node::word);
            let why = read_why(fields);
            let name: EnvName = name?;
            Some((name.clone(), EnvAsk { name, why: why? }))
        })
    })
}

pub(super) fn read_grants(node: &Node<'_>) -> Option<BTreeMap<EnvName, EnvGrant>> {
    node.keyed(|node| {
        let grant = if node.is_table() { read_literal(node) } else { read_passed(node) }?;
        Some((grant.name.clone(), grant))
    })
}

/// `"LANG"`.
fn read_passed(node: &Node<'_>) -> Option<EnvGrant> {
    Some(EnvGrant { name: node.word()?, source: EnvSource::Host })
}

/// `{ name = "MODE", value = "strict" }`.
fn read_literal(node: &Node<'_>) -> Option<EnvGrant> {
    node.fields(|fields| {
        let name = fields.required("name", "name the variable", Node::word);
        let hint = "give the value, or write just the name to pass on the host's own";
        let value = fields.required("value", hint, read_value);
        Some(EnvGrant { name: name?, source: EnvSource::Literal(value?) })
    })
}

/// A value that an environment can hold. It is not quoted in errors: values of an environment are nobody else's business.
fn read_value(node: &Node<'_>) -> Option<String> {
    let value = node.text()?;
    if value.len() > MAX_VALUE || value.contains('\0') {
        return node.conflict(format!("the value has a NUL or more than {MAX_VALUE} bytes"), "shorten or clean it");
    }
    Some(value.to_owned())
}
