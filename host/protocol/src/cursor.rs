//! Feed cursors: a place in one store's feed. To clients a cursor is an opaque text, which they keep and give back.

use std::{fmt, str::FromStr};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Digest, Seq};

/// Which life of a store a cursor belongs to: a restored copy gets another one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoreEpoch(pub [u8; 16]);

impl fmt::Display for StoreEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for StoreEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for StoreEpoch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The first bytes of the digest of the record at a cursor's place.
pub type CursorCheck = [u8; 4];

/// A place in a feed: after the event `seq`. Text form: base64url without padding, 47 characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// The life of the store.
    pub epoch: StoreEpoch,
    /// Which of several stores; this build has one, 0.
    pub shard: u16,
    /// The last event that was seen; 0 before the first.
    pub seq: Seq,
    /// Tells whether the event there is still the one that was seen; zeroes when there was none.
    pub check: CursorCheck,
}

/// A text that is no cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no cursor of a feed: give back a `next` or `latest` as it came, or none to begin from now")]
pub struct InvalidCursor;

/// The first byte: the version of this layout.
const VERSION: u8 = 1;
const BODY: usize = 1 + 16 + 2 + 8 + 4;
const SUM: usize = 4;

impl Cursor {
    /// The check of an event, by the digest of its record.
    pub fn check_of(digest: &Digest) -> CursorCheck {
        std::array::from_fn(|index| digest.as_bytes()[index])
    }

    fn body(&self) -> [u8; BODY] {
        let mut body = [0; BODY];
        body[0] = VERSION;
        body[1..17].copy_from_slice(&self.epoch.0);
        body[17..19].copy_from_slice(&self.shard.to_be_bytes());
        body[19..27].copy_from_slice(&self.seq.0.to_be_bytes());
        body[27..].copy_from_slice(&self.check);
        body
    }
}

/// Tells a cursor that was cut or mistyped from a whole one.
fn sum(body: &[u8]) -> [u8; SUM] {
    Cursor::check_of(&Digest::of_fields("mainstay/cursor/1", &[body]))
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = self.body();
        f.write_str(&URL_SAFE_NO_PAD.encode([&body[..], &sum(&body)].concat()))
    }
}

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let mut bytes = [0; BODY + SUM + 1];
        let length = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).map_err(|_| InvalidCursor)?;
        let (body, rest) = bytes[..length].split_at_checked(BODY).ok_or(InvalidCursor)?;
        if rest != sum(body) || body[0] != VERSION {
            return Err(InvalidCursor);
        }
        let seq = u64::from_be_bytes(part(body, 19));
        if i64::try_from(seq).is_err() {
            return Err(InvalidCursor);
        }
        Ok(Self {
            epoch: StoreEpoch(part(body, 1)),
            shard: u16::from_be_bytes(part(body, 17)),
            seq: Seq(seq),
            check: part(body, 27),
        })
    }
}

fn part<const N: usize>(body: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|index| body[at + index])
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor() -> Cursor {
        Cursor { epoch: StoreEpoch([7; 16]), shard: 0, seq: Seq(12_345), check: [1, 2, 3, 4] }
    }

    #[test]
    fn a_cursor_comes_back_as_it_went() {
        let text = cursor().to_string();
        assert_eq!((text.len(), text.parse()), (47, Ok(cursor())));
    }

    #[test]
    fn what_is_cut_mistyped_or_foreign_is_refused() {
        let text = cursor().to_string();
        for at in 0..text.len() {
            let mut broken = text.clone().into_bytes();
            broken[at] = if broken[at] == b'A' { b'B' } else { b'A' };
            let broken = String::from_utf8(broken).expect("ASCII");
            assert_eq!(broken.parse::<Cursor>(), Err(InvalidCursor), "{at}");
            assert_eq!(text[..at].parse::<Cursor>(), Err(InvalidCursor), "{at}");
        }
        for foreign in ["", "0", "latest", &"A".repeat(47), &"A".repeat(48), &"A".repeat(100_000)] {
            assert_eq!(foreign.parse::<Cursor>(), Err(InvalidCursor));
        }
    }
}
