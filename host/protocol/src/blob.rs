//! Stored bytes: what is too large for a row lies once a tenant, under its digest. It is fetched by a reference, which is good only
//! together with a session that holds it: who knows a digest has nothing yet.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::Digest;

/// Bytes that one blob may have: 64 MiB.
pub const MAX_BLOB: usize = 64 << 20;

/// What a reference begins with; the digest of the bytes follows.
const PREFIX: &str = "blob:";

/// A reference to stored bytes, as `Source::Blob` has it. Text form: `blob:` and 64 hexadecimal digits in lower case, the SHA-256
/// of the bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobReference(Digest);

/// The text is no reference to stored bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no reference to a blob: it is `blob:` and 64 hexadecimal digits in lower case")]
pub struct InvalidBlobReference(String);

impl BlobReference {
    /// The reference to bytes with this SHA-256.
    pub const fn new(digest: Digest) -> Self {
        Self(digest)
    }

    /// The SHA-256 of the bytes.
    pub const fn digest(&self) -> Digest {
        self.0
    }
}

impl FromStr for BlobReference {
    type Err = InvalidBlobReference;

    fn from_str(text: &str) -> Result<Self, InvalidBlobReference> {
        let digest = text.strip_prefix(PREFIX).and_then(|digest| digest.parse().ok());
        digest.map(Self).ok_or_else(|| InvalidBlobReference(text.chars().take(80).collect()))
    }
}

impl fmt::Display for BlobReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.0)
    }
}

impl fmt::Debug for BlobReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for BlobReference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BlobReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// Bytes that a session is to keep beside its items. Cloning is cheap.
#[derive(Clone, PartialEq, Eq)]
pub struct NewBlob {
    media_type: Arc<str>,
    digest: Digest,
    bytes: Arc<[u8]>,
}

impl NewBlob {
    /// Takes bytes, with their RFC 6838 media type in lower case, and computes their digest. More than [`MAX_BLOB`] bytes are
    /// refused when they are to be kept.
    pub fn new(media_type: &str, bytes: Vec<u8>) -> Self {
        Self { media_type: media_type.into(), digest: Digest::of(&bytes), bytes: bytes.into() }
    }

    /// The media type.
    pub fn media_type(&self) -> &str {
        &self.media_type
    }

    /// By which the session finds them.
    pub const fn reference(&self) -> BlobReference {
        BlobReference(self.digest)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for NewBlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("NewBlob");
        debug.field("media_type", &self.media_type).field("digest", &self.digest);
        debug.field("size", &self.bytes.len()).finish()
    }
}

/// What is known of stored bytes without reading them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobInfo {
    /// RFC 6838 media type in lower case.
    pub media_type: String,
    /// In bytes.
    pub size: u64,
}

/// What `extras` of a tool's result say under [`WholeOutput::KEY`] when the model got less than the tool gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WholeOutput {
    /// By which the session finds the whole.
    pub blob: BlobReference,
    /// RFC 6838 media type in lower case: `text/plain` for one text, `application/json` for one JSON text, and
    /// [`WholeOutput::PARTS`] for anything else.
    pub media_type: String,
    /// Its size in bytes.
    pub bytes: u64,
}

impl WholeOutput {
    /// The key in `extras`.
    pub const KEY: &str = "whole_output";
    /// The media type of a JSON array of content parts, in the form in which the journal has them.
    pub const PARTS: &str = "application/vnd.mainstay.parts+json";

    /// What the `extras` of a result say; none when the model got the whole.
    pub fn of(extras: Option<&str>) -> Option<Self> {
        #[derive(Deserialize)]
        struct Extras {
            whole_output: Option<WholeOutput>,
        }
        extras.and_then(|extras| serde_json::from_str::<Extras>(extras).ok())?.whole_output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_round_trip_and_bad_ones_are_refused() {
        let blob = NewBlob::new("text/plain", b"abc".to_vec());
        let text = "blob:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(blob.reference().to_string(), text);
        assert_eq!(text.parse(), Ok(blob.reference()));
        assert_eq!(serde_json::to_value(blob.reference()).unwrap(), serde_json::json!(text));
        for bad in ["", "blob:", &text[5..], &text.to_uppercase(), &text.replace("blob", "sha"), &format!("{text}0")] {
            assert!(bad.parse::<BlobReference>().is_err(), "{bad}");
        }
    }

    #[test]
    fn debug_texts_hold_no_contents() {
        let blob = NewBlob::new("text/plain", b"secret".to_vec());
        assert!(format!("{blob:?}").ends_with("size: 6 }"), "{blob:?}");
    }

    #[test]
    fn extras_tell_of_a_whole_output() {
        let blob = BlobReference::new(Digest::ZERO);
        let whole = WholeOutput { blob, media_type: "text/plain".to_owned(), bytes: 5 };
        let extras = serde_json::json!({ "com.example.x": 1, WholeOutput::KEY: whole }).to_string();
        assert_eq!(WholeOutput::of(Some(&extras)), Some(whole));
        for none in [None, Some("{}"), Some("[1]"), Some(r#"{"whole_output":{"blob":"x"}}"#)] {
            assert_eq!(WholeOutput::of(none), None, "{none:?}");
        }
    }
}
