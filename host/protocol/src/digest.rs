//! SHA-256 digests, plain for what others hash too (components) and domain-separated for what only we hash.

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest. Text form: 64 hexadecimal digits in lower case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// The text is not 64 hexadecimal digits in lower case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a sha256 digest is 64 hexadecimal digits in lower case, not `{0}`")]
pub struct InvalidDigest(String);

impl Digest {
    /// All zeroes: what a chain starts from.
    pub const ZERO: Self = Self([0; 32]);

    /// The plain SHA-256 of some bytes, as every other tool computes it.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of several fields under a domain. Each field is preceded by its length, so that no two lists of fields
    /// share a digest; the domain carries its own version (`mainstay/record/1`).
    pub fn of_fields(domain: &str, fields: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for field in std::iter::once(&domain.as_bytes()).chain(fields) {
            hasher.update((field.len() as u64).to_le_bytes());
            hasher.update(field);
        }
        Self(hasher.finalize().into())
    }

    /// A digest from its bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first 12 digits: enough for people to tell builds apart.
    pub fn short(&self) -> String {
        self.to_string()[..12].to_owned()
    }
}

impl TryFrom<&[u8]> for Digest {
    type Error = InvalidDigest;

    fn try_from(bytes: &[u8]) -> Result<Self, InvalidDigest> {
        bytes.try_into().map(Self).map_err(|_| InvalidDigest(format!("{} bytes", bytes.len())))
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let invalid = || InvalidDigest(text.chars().take(80).collect());
        if text.len() != 64 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(invalid());
        }
        let mut bytes = [0; 32];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).map_err(|_| invalid())?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Digest {
    fn schema_name() -> Cow<'static, str> {
        "Digest".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A SHA-256 digest: 64 hexadecimal digits in lower case.",
            "pattern": "^[0-9a-f]{64}$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips_and_bad_text_is_refused() {
        let digest = Digest::of(b"abc");
        assert_eq!(digest.to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        for bad in ["", "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD", "é", &"g".repeat(64)] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
    }

    #[test]
    fn fields_can_not_run_into_each_other() {
        assert_ne!(Digest::of_fields("d", &[b"ab", b"c"]), Digest::of_fields("d", &[b"a", b"bc"]));
        assert_ne!(Digest::of_fields("d", &[b"ab"]), Digest::of_fields("e", &[b"ab"]));
    }
}
