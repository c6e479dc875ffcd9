//! What a verification says: findings, counts and notes, in a shape that programs read as JSON.

use std::{fmt, time::Duration};

use mainstay_protocol::{Digest, ItemId, Ordinal, Seq, SessionId, TenantId, cursor::StoreEpoch};
use serde::Serialize;

use crate::Damage;

/// Findings that a report lists at most; it counts the rest.
pub const MAX_FINDINGS: usize = 10_000;

/// How much a verification looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// The structure of the file, facts of the store, and for each session where it stands. Bodies are not read.
    Quick,
    /// Everything.
    #[default]
    Full,
}

/// What a verification found.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Whether nothing is wrong.
    pub sound: bool,
    /// How much was looked at.
    pub depth: Depth,
    /// The format of the store.
    pub format: u32,
    /// Which life of the store this is; none when that can't be read.
    pub store_epoch: Option<StoreEpoch>,
    /// The last position that the feed gave out.
    pub latest: Seq,
    /// What was looked at.
    pub counts: Counts,
    /// How many things are wrong.
    pub damaged: u64,
    /// What is wrong: the first [`MAX_FINDINGS`] of them.
    pub findings: Vec<Finding>,
    /// What could not be looked at, and why.
    pub notes: Vec<Note>,
    /// How long it took, in seconds.
    #[serde(serialize_with = "seconds")]
    pub elapsed: Duration,
}

fn seconds<S: serde::Serializer>(elapsed: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((elapsed.as_secs_f64() * 1e3).round() / 1e3)
}

impl Report {
    /// Whether nothing is wrong.
    pub const fn is_sound(&self) -> bool {
        self.sound
    }

    /// Payload that was checked, in bytes a second.
    pub fn bytes_per_second(&self) -> f64 {
        self.counts.bytes as f64 / self.elapsed.as_secs_f64().max(f64::EPSILON)
    }
}

/// How many rows of each kind were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Sessions, with the host's own.
    pub sessions: u64,
    /// Records.
    pub records: u64,
    /// Feed events.
    pub events: u64,
    /// Turns.
    pub turns: u64,
    /// Transcript items.
    pub items: u64,
    /// Messages that wait.
    pub queued: u64,
    /// Accepted ops.
    pub submissions: u64,
    /// Values that plugins keep.
    pub plugin_values: u64,
    /// Payloads that are stored once.
    pub blobs: u64,
    /// Bytes of bodies, states, values and payloads that were compared with their digests.
    pub bytes: u64,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The owner of the session; none for what belongs to the store, and when it can't be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// The session, as for `tenant`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Where.
    pub place: Location,
    /// What kind of damage.
    pub damage: Damage,
    /// What is wrong, for people.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(tenant), Some(session)) = (&self.tenant, &self.session) {
            write!(f, "{tenant}/{session}: ")?;
        }
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Something that was not looked at, and why: no damage by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The owner of the session; none for what belongs to the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// What, and why.
    pub message: String,
}

/// Where something is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Location {
    /// The file as a whole.
    Store,
    /// A fact of the store, such as `store_epoch`.
    Fact {
        /// Its name.
        name: &'static str,
    },
    /// A table, or the part of it that belongs to the session.
    Table {
        /// Its name.
        name: &'static str,
    },
    /// A feed event.
    Event {
        /// Its position.
        seq: u64,
    },
    /// A payload that is stored once.
    Blob {
        /// Its digest, when that can be read.
        #[serde(skip_serializing_if = "Option::is_none")]
        digest: Option<Digest>,
    },
    /// The session as a whole.
    Session,
    /// What is kept about the session beside its records: a column of its row or of its head.
    Column {
        /// Its name.
        name: &'static str,
    },
    /// The state.
    State,
    /// A record.
    Record {
        /// Its position.
        ordinal: Ordinal,
    },
    /// Consecutive records.
    Records {
        /// The first.
        first: Ordinal,
        /// The last.
        last: Ordinal,
    },
    /// A turn.
    Turn {
        /// It counts the turns of the session from 1.
        number: u64,
    },
    /// A transcript item.
    Item {
        /// Its id.
        item: ItemId,
    },
    /// Consecutive items.
    Items {
        /// The first.
        first: ItemId,
        /// The last.
        last: ItemId,
    },
    /// A queued message.
    Queued {
        /// Its number.
        accepted: u64,
    },
    /// An accepted op.
    Submission {
        /// Its id.
        submission: String,
    },
    /// A value that a plugin keeps.
    PluginValue {
        /// The plugin.
        plugin: String,
        /// The key.
        key: String,
    },
}

impl Location {
    pub(super) fn records(first: u64, last: u64) -> Self {
        let (first, last) = (Ordinal(first), Ordinal(last));
        if first == last { Self::Record { ordinal: first } } else { Self::Records { first, last } }
    }

    pub(super) fn items(first: u64, last: u64) -> Self {
        let (first, last) = (ItemId(first), ItemId(last));
        if first == last { Self::Item { item: first } } else { Self::Items { first, last } }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store => f.write_str("the store"),
            Self::Fact { name } => write!(f, "the store's {name}"),
            Self::Table { name } => write!(f, "table {name}"),
            Self::Event { seq } => write!(f, "feed event {seq}"),
            Self::Blob { digest: Some(digest) } => write!(f, "payload {}", digest.short()),
            Self::Blob { digest: None } => f.write_str("a payload"),
            Self::Session => f.write_str("the session"),
            Self::Column { name } => write!(f, "the session's {name}"),
            Self::State => f.write_str("the state"),
            Self::Record { ordinal } => write!(f, "record {ordinal}"),
            Self::Records { first, last } => write!(f, "records {first} to {last}"),
            Self::Turn { number } => write!(f, "turn {number}"),
            Self::Item { item } => write!(f, "item {item}"),
            Self::Items { first, last } => write!(f, "items {first} to {last}"),
            Self::Queued { accepted } => write!(f, "queued message {accepted}"),
            Self::Submission { submission } => write!(f, "op {submission}"),
            Self::PluginValue { plugin, key } => write!(f, "value `{key}` of plugin {plugin}"),
        }
    }
}
