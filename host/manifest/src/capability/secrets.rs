//! Secrets: the plugin holds a placeholder, the egress puts the value in for the bound hosts and header only. Whether a
//! host serves this capability at all is the caller's to say ([`crate::HostManifest::check_served`]).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use super::http::{HttpGrant, HttpHost};
use super::read_why;
use crate::error::InvalidValue;
use crate::names::{EnvName, SecretName};
use crate::path::ManifestPath;
use crate::read::{Fields, Node};
use crate::text::Line;

/// The longest text before a secret in its header, in bytes.
const MAX_PREFIX: usize = 64;

/// An author's ask for a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretAsk {
    name: SecretName,
    why: Line,
}

impl SecretAsk {
    /// Which secret.
    pub fn name(&self) -> &SecretName {
        &self.name
    }

    /// What for, in the author's words.
    pub fn why(&self) -> &Line {
        &self.why
    }
}

/// Where the value of a secret comes from. The manifest never holds it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretSource {
    /// An environment variable of the host.
    Env(EnvName),
    /// A file that only its owner may read.
    File(ManifestPath),
}

/// The name of a request header, in lower case: one that a plugin may set.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeaderName(String);

impl HeaderName {
    /// Headers that are the host's own or rule the connection.
    const RESERVED: &'static [&'static str] = &[
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "keep-alive",
        "te",
        "trailer",
        "upgrade",
        "expect",
        "proxy-connection",
        "proxy-authenticate",
        "proxy-authorization",
    ];

    /// The name in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for HeaderName {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let name = text.to_ascii_lowercase();
        let legal = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_');
        if !matches!(name.len(), 1..=64) || !name.bytes().all(legal) {
            return Err(InvalidValue::new("not the name of a header", "use 1 to 64 of `a-z 0-9 - _`"));
        }
        if Self::RESERVED.contains(&name.as_str()) {
            return Err(InvalidValue::new(
                "this header is the host's own",
                "use `authorization` or a header of the service",
            ));
        }
        Ok(Self(name))
    }
}

impl fmt::Display for HeaderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A secret that an operator grants, bound to hosts and one header.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretGrant {
    name: SecretName,
    source: SecretSource,
    hosts: BTreeSet<HttpHost>,
    header: HeaderName,
    prefix: String,
    body: bool,
}

impl SecretGrant {
    /// Which secret.
    pub fn name(&self) -> &SecretName {
        &self.name
    }

    /// Where its value comes from.
    pub fn source(&self) -> &SecretSource {
        &self.source
    }

    /// The hosts that may get it; at least one, each a target of the plugin's HTTP grant.
    pub fn hosts(&self) -> impl Iterator<Item = &HttpHost> {
        self.hosts.iter()
    }

    /// The header in which the placeholder is replaced.
    pub fn header(&self) -> &HeaderName {
        &self.header
    }

    /// What stands before the value in the header, such as `Bearer `.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Whether the placeholder is replaced in request bodies too.
    pub fn body(&self) -> bool {
        self.body
    }
}

pub(super) fn read_asks(node: &Node<'_>) -> Option<BTreeMap<SecretName, SecretAsk>> {
    node.keyed(|node| {
        node.fields(|fields| {
            let name = fields.required("name", "name the secret", Node::word);
            let why = read_why(fields);
            let name: SecretName = name?;
            Some((name.clone(), SecretAsk { name, why: why? }))
        })
    })
}

/// `targets` is the plugin's HTTP grant, `None` when that could not be read.
pub(super) fn read_grants(node: &Node<'_>, targets: Option<&[HttpGrant]>) -> Option<BTreeMap<SecretName, SecretGrant>> {
    node.keyed(|node| {
        let grant = node.fields(|fields| read_grant(fields, targets))?;
        Some((grant.name.clone(), grant))
    })
}

fn read_grant(fields: &mut Fields<'_>, targets: Option<&[HttpGrant]>) -> Option<SecretGrant> {
    let name = fields.required("name", "name the secret as the plugin asks for it", Node::word);
    let source = read_source(fields, name.as_ref());
    let hosts = fields.required("hosts", "name the hosts that may get it", |node| read_hosts(node, targets));
    let header = fields.required("header", "name the header that carries it, such as \"authorization\"", Node::word);
    let prefix = fields.or("prefix", String::new(), read_prefix);
    let body = fields.or("body", false, Node::flag);
    Some(SecretGrant { name: name?, source: source?, hosts: hosts?, header: header?, prefix, body })
}

words! {
    /// The kinds of sources.
    SourceKind, "a source of secrets";
    /// `variable`, else the secret's own name.
    Env = "env",
    /// `path`.
    File = "file",
}

fn read_source(fields: &mut Fields<'_>, name: Option<&SecretName>) -> Option<SecretSource> {
    let kind = fields.required("from", "write \"env\" or \"file\"", Node::word);
    let variable = fields.node("variable");
    let path = fields.node("path");
    match kind? {
        SourceKind::Env => {
            reject_extra(path.as_ref(), "`path` belongs to `from = \"file\"`");
            let own_name = || name.map(EnvName::from);
            variable.map_or_else(own_name, |node| node.word()).map(SecretSource::Env)
        }
        SourceKind::File => {
            reject_extra(variable.as_ref(), "`variable` belongs to `from = \"env\"`");
            let missing = || fields.missing("path", "is missing", "name the file that holds the secret");
            path.map_or_else(missing, |node| node.word()).map(SecretSource::File)
        }
    }
}

fn reject_extra(node: Option<&Node<'_>>, problem: &str) {
    if let Some(node) = node {
        node.conflict::<()>(problem, "remove one of the two");
    }
}

fn read_hosts(node: &Node<'_>, targets: Option<&[HttpGrant]>) -> Option<BTreeSet<HttpHost>> {
    let hosts = node.keyed(|node| {
        let host: HttpHost = node.word()?;
        targets.map_or(Some(()), |targets| check_host(node, &host, targets))?;
        Some((host, ()))
    })?;
    if hosts.is_empty() {
        return node.conflict("a secret that no host may get is of no use", "name a host, or remove the entry");
    }
    Some(hosts.into_keys().collect())
}

/// A secret goes only where the plugin may go, and never in the clear.
fn check_host(node: &Node<'_>, host: &HttpHost, targets: &[HttpGrant]) -> Option<()> {
    let mut reachable = targets.iter().filter(|target| target.host() == host).peekable();
    if reachable.peek().is_none() {
        return node
            .conflict(format!("`grant.http` does not reach `{host}`"), "grant the host there, or remove it here");
    }
    if let Some(open) = reachable.find(|target| !target.is_private_on_the_wire()) {
        let problem = format!("`{}` would carry the secret in the clear", open.target());
        return node.conflict(problem, "grant the host with `scheme = \"https\"` only");
    }
    Some(())
}

fn read_prefix(node: &Node<'_>) -> Option<String> {
    let prefix = node.text()?;
    if prefix.len() > MAX_PREFIX || !prefix.bytes().all(|c| c == b' ' || c.is_ascii_graphic()) {
        return node.bad("not a prefix of a header", format!("use at most {MAX_PREFIX} printable ASCII characters"));
    }
    Some(prefix.to_owned())
}
