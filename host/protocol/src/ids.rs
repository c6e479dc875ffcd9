//! Ids. Each is a type of its own, so that they do not mix; text ids are checked when they are made.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use uuid::Uuid;

/// A text that is not a legal id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a legal {what}: use 1 to {max} of `{alphabet}`")]
pub struct InvalidId {
    what: &'static str,
    text: String,
    max: usize,
    alphabet: &'static str,
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $max:literal, $alphabet:literal, $legal:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            /// Checks and takes an id.
            ///
            /// # Errors
            /// The text is empty, too long, or has a character outside the alphabet.
            pub fn new(text: &str) -> Result<Self, InvalidId> {
                let legal: fn(char) -> bool = $legal;
                if !text.is_empty() && text.len() <= $max && text.chars().all(legal) {
                    return Ok(Self(text.into()));
                }
                let text = text.chars().take(80).collect();
                Err(InvalidId { what: $what, text, max: $max, alphabet: $alphabet })
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Self::new(&text).map_err(de::Error::custom)
            }
        }
    };
}

macro_rules! random_id {
    ($name:ident) => {
        impl $name {
            /// An id from a UUID. The hosts's own ids are UUIDv7: random and ordered by time.
            pub fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid.hyphenated().to_string().into())
            }
        }
    };
}

fn word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

text_id!(
    /// The owner of sessions, secrets, plugin state and blobs. Leads every key.
    TenantId, "tenant id", 64, "a-z A-Z 0-9 - _ .", word
);
text_id!(
    /// One durable conversation.
    SessionId, "session id", 64, "a-z A-Z 0-9 - _ .", word
);
text_id!(
    /// The work for one accepted message.
    TurnId, "turn id", 64, "a-z A-Z 0-9 - _ .", word
);
text_id!(
    /// The id of an op, given by the client or made by the host.
    SubmissionId, "submission id", 128, "a-z A-Z 0-9 - _ . :", |c| word(c) || c == ':'
);
text_id!(
    /// A durable question whether a call may run.
    ApprovalId, "approval id", 64, "a-z A-Z 0-9 - _ .", word
);
text_id!(
    /// A durable question to a person: a form to fill.
    ElicitationId, "elicitation id", 64, "a-z A-Z 0-9 - _ .", word
);
text_id!(
    /// The name under which the operator installed a plugin.
    PluginName, "plugin name", 64, "a-z 0-9 -", |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'
);
text_id!(
    /// A named way to a model.
    RouteName, "route name", 64, "a-z A-Z 0-9 - _ .", word
);

random_id!(SessionId);
random_id!(TurnId);
random_id!(SubmissionId);
random_id!(ApprovalId);
random_id!(ElicitationId);

impl TenantId {
    /// The one tenant of a single-user host.
    pub fn default_tenant() -> Self {
        Self("default".into())
    }
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// The one after this.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number!(
    /// The position of a record in its session, contiguous from 1.
    Ordinal, u64
);
number!(
    /// Counts a session's accepted messages from 1.
    AcceptedOrdinal, u64
);
number!(
    /// The position of a transcript item in its session, from 1; rises, with gaps.
    ItemId, u64
);
number!(
    /// The global position of a feed event.
    Seq, u64
);
number!(
    /// Counts the committed transitions of a session: what a commit compares and swaps.
    Sequence, u64
);
number!(
    /// A model call inside a turn, from 0.
    StepIndex, u32
);
number!(
    /// A tool call inside a step, from 0.
    CallIndex, u32
);

/// The host's key of a tool call inside a session. The provider's call id is data beside it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallKey {
    /// The turn.
    pub turn: TurnId,
    /// The step.
    pub step: StepIndex,
    /// The position among the calls of the step.
    pub index: CallIndex,
}

impl CallKey {
    /// What a tool may send along with effects outside: the same for each attempt of this call, different for all others.
    /// 64 hexadecimal digits.
    pub fn idempotency_key(&self, tenant: &TenantId, session: &SessionId) -> String {
        let (step, index) = (self.step.0.to_le_bytes(), self.index.0.to_le_bytes());
        let fields: [&[u8]; 5] =
            [tenant.as_str().as_bytes(), session.as_str().as_bytes(), self.turn.as_str().as_bytes(), &step, &index];
        crate::Digest::of_fields("mainstay/idempotency-key/1", &fields).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_ids_are_checked() {
        assert!(SessionId::new("notes.2026-01").is_ok());
        for bad in ["", "a b", "a/b", "\u{202e}", &"x".repeat(65)] {
            assert!(SessionId::new(bad).is_err(), "{bad:?}");
            assert!(serde_json::from_value::<SessionId>(serde_json::json!(bad)).is_err());
        }
        let error = PluginName::new("Files").unwrap_err().to_string();
        assert_eq!(error, "`Files` is not a legal plugin name: use 1 to 64 of `a-z 0-9 -`");
    }

    #[test]
    fn idempotency_keys_differ_by_each_part() {
        let key = |turn: &str, step, index| {
            CallKey { turn: TurnId::new(turn).unwrap(), step: StepIndex(step), index: CallIndex(index) }
                .idempotency_key(&TenantId::default_tenant(), &SessionId::new("s").unwrap())
        };
        let keys = [key("t", 0, 0), key("t", 0, 1), key("t", 1, 0), key("u", 0, 0)];
        let distinct: std::collections::HashSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
        assert_eq!(keys[0].len(), 64);
    }
}
