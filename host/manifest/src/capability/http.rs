//! Outgoing HTTP: scheme, host, port and methods, each named. An empty list denies all. Whether a host serves this
//! capability at all is the caller's to say ([`crate::HostManifest::check_served`]).

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU16;
use std::str::FromStr;

use super::read_why;
use crate::error::InvalidValue;
use crate::read::{Fields, Node};
use crate::text::Line;

words! {
    /// How to reach a host.
    pub Scheme, "a scheme";
    /// TLS, with a certificate that the host's roots vouch for. The default.
    Https = "https",
    /// In the clear.
    Http = "http",
}

words! {
    /// A request method.
    pub Method, "a request method";
    /// `GET`
    Get = "GET",
    /// `HEAD`
    Head = "HEAD",
    /// `POST`
    Post = "POST",
    /// `PUT`
    Put = "PUT",
    /// `PATCH`
    Patch = "PATCH",
    /// `DELETE`
    Delete = "DELETE",
    /// `OPTIONS`
    Options = "OPTIONS",
}

impl Scheme {
    /// The port when none is named.
    pub const fn default_port(self) -> NonZeroU16 {
        const HTTPS: NonZeroU16 = NonZeroU16::new(443).expect("443 is not zero");
        const HTTP: NonZeroU16 = NonZeroU16::new(80).expect("80 is not zero");
        match self {
            Self::Https => HTTPS,
            Self::Http => HTTP,
        }
    }
}

/// One host: a DNS name in lower case, or an address. Never a pattern.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HttpHost {
    /// A DNS name, lower-case ASCII, without a dot at its end.
    Name(HostName),
    /// An address; a v4 address in v6 clothes is the v4 address.
    Address(IpAddr),
}

/// A DNS name that was checked; made by parsing a [`HttpHost`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(String);

impl HostName {
    /// The name in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl HttpHost {
    /// Whether it can only mean this machine. `localhost` counts: resolvers must not answer anything else (RFC 6761), and
    /// the egress checks the address once more.
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Name(name) => name.0 == "localhost" || name.0.ends_with(".localhost"),
            Self::Address(address) => address.is_loopback(),
        }
    }
}

impl FromStr for HttpHost {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(Self::Address(address.to_canonical()));
        }
        let name = text.to_ascii_lowercase();
        check_name(&name).map(|()| Self::Name(HostName(name)))
    }
}

impl fmt::Display for HttpHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(&name.0),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// The rules of a host name. One that ends in a number is refused: URL parsers read `127.1` and `0x7f000001` as addresses.
fn check_name(name: &str) -> Result<(), InvalidValue> {
    let hint = "write one DNS name or address, such as \"api.example.com\"";
    if name.contains('*') {
        return Err(InvalidValue::new("patterns are not hosts", "name every host; there are no wildcards in grants"));
    }
    if name.contains(['/', ':', '@', '?', '#']) {
        return Err(InvalidValue::new("not a host", "write the host only; `scheme` and `port` are keys of their own"));
    }
    if !name.is_ascii() {
        return Err(InvalidValue::new("not an ASCII name", "write an international name in its `xn--` form"));
    }
    let legal = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_');
    let label = |label: &str| {
        matches!(label.len(), 1..=63) && label.bytes().all(legal) && !label.starts_with('-') && !label.ends_with('-')
    };
    if name.len() > 253 || !name.split('.').all(label) {
        return Err(InvalidValue::new("not a DNS name", hint));
    }
    let last = name.rsplit('.').next().unwrap_or_default();
    if last.starts_with("0x") || last.bytes().all(|c| c.is_ascii_digit()) {
        return Err(InvalidValue::new(
            "a name that ends in a number",
            "write addresses in full, such as \"127.0.0.1\"",
        ));
    }
    Ok(())
}

/// The host of an ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskedHost {
    /// The host that the operator will name: `"*"`, for adapters whose base URL is a setting.
    Operators,
    /// This one.
    One(HttpHost),
}

impl FromStr for AskedHost {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        if text == "*" { Ok(Self::Operators) } else { text.parse().map(Self::One) }
    }
}

impl fmt::Display for AskedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operators => f.write_str("*"),
            Self::One(host) => host.fmt(f),
        }
    }
}

/// An author's ask for an HTTP target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAsk {
    host: AskedHost,
    scheme: Option<Scheme>,
    port: Option<NonZeroU16>,
    methods: BTreeSet<Method>,
    why: Line,
}

impl HttpAsk {
    /// Which host.
    pub fn host(&self) -> &AskedHost {
        &self.host
    }

    /// Which scheme; none leaves it to the operator, as a host of `"*"` does.
    pub fn scheme(&self) -> Option<Scheme> {
        self.scheme
    }

    /// Which port; none leaves it to the operator, as a host of `"*"` does.
    pub fn port(&self) -> Option<NonZeroU16> {
        self.port
    }

    /// Which methods; at least one.
    pub fn methods(&self) -> impl Iterator<Item = Method> {
        self.methods.iter().copied()
    }

    /// What for, in the author's words.
    pub fn why(&self) -> &Line {
        &self.why
    }

    /// Whether a grant is about what is asked here, methods aside.
    pub(crate) fn covers(&self, grant: &HttpGrant) -> bool {
        let host = match &self.host {
            AskedHost::Operators => true,
            AskedHost::One(host) => *host == grant.host,
        };
        host && self.scheme.is_none_or(|scheme| scheme == grant.scheme)
            && self.port.is_none_or(|port| port == grant.port)
    }

    pub(crate) fn method_set(&self) -> &BTreeSet<Method> {
        &self.methods
    }

    /// The target for people, such as `https://api.example.com:443`.
    pub fn target(&self) -> String {
        let scheme = self.scheme.map_or("*", Scheme::as_str);
        let port = self.port.map_or_else(|| "*".to_owned(), |port| port.to_string());
        format!("{scheme}://{}:{port}", self.host)
    }
}

/// An HTTP target that an operator grants.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HttpGrant {
    host: HttpHost,
    scheme: Scheme,
    port: NonZeroU16,
    methods: BTreeSet<Method>,
    addresses: BTreeSet<IpAddr>,
}

impl HttpGrant {
    /// Which host.
    pub fn host(&self) -> &HttpHost {
        &self.host
    }

    /// Which scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Which port.
    pub fn port(&self) -> NonZeroU16 {
        self.port
    }

    /// Which methods; at least one.
    pub fn methods(&self) -> impl Iterator<Item = Method> {
        self.methods.iter().copied()
    }

    /// Private, loopback and link-local addresses that the name may resolve to. All others of those kinds are refused.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.addresses.iter().copied()
    }

    /// The target for people, such as `https://api.example.com:443`.
    pub fn target(&self) -> String {
        format!("{}://{}:{}", self.scheme, self.host, self.port)
    }

    /// Whether nobody between the host and the target can read along.
    pub fn is_private_on_the_wire(&self) -> bool {
        self.scheme == Scheme::Https || self.host.is_loopback()
    }

    pub(crate) fn method_set(&self) -> &BTreeSet<Method> {
        &self.methods
    }

    pub(crate) fn with_methods(&self, methods: BTreeSet<Method>) -> Self {
        Self { methods, ..self.clone() }
    }
}

pub(super) fn read_asks(node: &Node<'_>) -> Option<Vec<HttpAsk>> {
    node.each(|node| {
        node.fields(|fields| {
            let host = fields.required("host", "name the host, or \"*\" for one that the operator names", Node::word);
            let scheme = fields.optional("scheme", Node::word);
            let port = fields.optional("port", read_port);
            let methods = read_methods(fields);
            let why = read_why(fields);
            let host: AskedHost = host?;
            let scheme = scheme.or((host != AskedHost::Operators).then_some(Scheme::Https));
            let default_port = || scheme.filter(|_| host != AskedHost::Operators).map(Scheme::default_port);
            Some(HttpAsk { port: port.or_else(default_port), scheme, host, methods: methods?, why: why? })
        })
    })
}

pub(super) fn read_grants(node: &Node<'_>) -> Option<Vec<HttpGrant>> {
    let mut seen = BTreeSet::new();
    let mut grants = node.each(|node| {
        let grant = node.fields(read_grant)?;
        if !seen.insert(grant.target()) {
            return node.conflict(format!("`{}` is named twice", grant.target()), "put all its methods into one entry");
        }
        Some(grant)
    })?;
    grants.sort();
    Some(grants)
}

fn read_grant(fields: &mut Fields<'_>) -> Option<HttpGrant> {
    let host = fields.required("host", "name the host", Node::word);
    let scheme = fields.or_none("scheme", Scheme::Https, Node::word);
    let port = fields.or_none("port", scheme.unwrap_or(Scheme::Https).default_port(), read_port);
    let methods = read_methods(fields);
    let addresses = fields.or("addresses", BTreeSet::new(), |node| read_addresses(node, host.as_ref()));
    Some(HttpGrant { host: host?, scheme: scheme?, port: port?, methods: methods?, addresses })
}

fn read_methods(fields: &mut Fields<'_>) -> Option<BTreeSet<Method>> {
    fields.required("methods", "name the methods, such as [\"POST\"]", |node| {
        let methods = node.keyed(|node| node.word().map(|method: Method| (method, ())))?;
        if methods.is_empty() {
            return node.conflict("an empty list allows nothing", "name a method, or remove the entry");
        }
        Some(methods.into_keys().collect())
    })
}

fn read_port(node: &Node<'_>) -> Option<NonZeroU16> {
    let port = node.integer(1, i64::from(u16::MAX))?;
    u16::try_from(port).ok().and_then(NonZeroU16::new)
}

fn read_addresses(node: &Node<'_>, host: Option<&HttpHost>) -> Option<BTreeSet<IpAddr>> {
    if let Some(HttpHost::Address(_)) = host {
        return node.conflict("the host is an address already", "remove `addresses`; the host itself is the grant");
    }
    let addresses = node.keyed(|node| match node.text()?.parse::<IpAddr>() {
        Ok(address) => Some((address.to_canonical(), ())),
        Err(_) => node.bad("not an address", "write an IPv4 or IPv6 address, without a prefix length"),
    })?;
    Some(addresses.into_keys().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> Result<String, InvalidValue> {
        text.parse::<HttpHost>().map(|host| host.to_string())
    }

    #[test]
    fn hosts_are_names_or_addresses_in_one_form() {
        assert_eq!(host("API.Example.com"), Ok("api.example.com".to_owned()));
        assert_eq!(host("::ffff:10.0.0.1"), Ok("10.0.0.1".to_owned()));
        assert_eq!(host("[::1]"), Ok("[::1]".to_owned()));
    }

    #[test]
    fn what_other_parsers_read_differently_is_refused() {
        for bad in [
            "*.example.com",
            "https://example.com",
            "example.com:443",
            "user@example.com",
            "example.com.",
            "",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "exämple.com",
            "-a.com",
            "a..b",
        ] {
            assert!(host(bad).is_err(), "{bad}");
        }
    }
}
