//! The feed on the wire: events with their cursors, pages of them, and the stream that follows.

use mainstay_driver::feed::{Damage, DamagedEvent, FeedDelivery, FeedPage as Page};
use mainstay_protocol::{
    Digest, Ordinal, Seq, SessionId, TenantId, Timestamp,
    cursor::Cursor,
    feed::{FeedBody, FeedEvent},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value, json};

/// An event of the feed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeedEntry {
    /// The place after it: give it back as `after` to go on from here.
    pub cursor: Cursor,
    /// The global position.
    pub seq: Seq,
    /// The owner of the session.
    pub tenant: TenantId,
    /// The session; `.host` of the tenant `.host` for what becomes of plugins.
    pub session: SessionId,
    /// The position of its record in the session.
    pub ordinal: Ordinal,
    /// When it happened, in milliseconds since 1970.
    pub at: Timestamp,
    /// The digest of its record.
    pub digest: Digest,
    /// What kind it is: one of those of [`FeedKind`](mainstay_protocol::feed::FeedKind), or one of a newer host.
    pub event: String,
    /// What happened, by the kind.
    #[serde(flatten)]
    pub body: Map<String, Value>,
}

/// An event that the host could not read. The feed goes on past it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DamagedEntry {
    /// The place after it.
    pub cursor: Cursor,
    /// Its global position.
    pub seq: Seq,
    /// The owner of the session, where that can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// The session, where that can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The position of its record in the session.
    pub ordinal: Ordinal,
    /// What is wrong, as `journal verify` names it.
    pub damage: String,
}

/// Answer of `GET /v1/feed`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeedPage {
    /// Oldest first.
    pub events: Vec<FeedEntry>,
    /// Those in between that could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedEntry>,
    /// What to pass as `after` for the next page.
    pub next: Cursor,
    /// The place after the newest event of the store.
    pub latest: Cursor,
    /// Whether there may be more between `next` and `latest`.
    pub more: bool,
}

/// What comes over `GET /v1/feed/follow`. The field `event` tells them apart, and names the kind of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum FeedNews {
    /// An event.
    Event(FeedEntry),
    /// `damaged`: an event that the host could not read.
    Damaged(DamagedEntry),
    /// `end`: the stream ends here.
    End {
        /// Why: `stopping` (the host ends) or `failed` (the host could not go on reading).
        reason: String,
    },
}

const DAMAGED: &str = "damaged";
const END: &str = "end";

impl FeedNews {
    /// The kind, as the SSE field `event` has it.
    pub fn name(&self) -> &str {
        match self {
            Self::Event(entry) => &entry.event,
            Self::Damaged(_) => DAMAGED,
            Self::End { .. } => END,
        }
    }

    /// The place after it: the SSE field `id`.
    pub const fn cursor(&self) -> Option<Cursor> {
        match self {
            Self::Event(entry) => Some(entry.cursor),
            Self::Damaged(entry) => Some(entry.cursor),
            Self::End { .. } => None,
        }
    }
}

impl Serialize for FeedNews {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Named<'a> {
            event: &'static str,
            #[serde(flatten)]
            entry: &'a DamagedEntry,
        }
        match self {
            Self::Event(entry) => entry.serialize(serializer),
            Self::Damaged(entry) => Named { event: DAMAGED, entry }.serialize(serializer),
            Self::End { reason } => json!({"event": END, "reason": reason}).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for FeedNews {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct End {
            reason: String,
        }
        let value = Value::deserialize(deserializer)?;
        let read = match value["event"].as_str() {
            Some(DAMAGED) => serde_json::from_value(value).map(Self::Damaged),
            Some(END) => serde_json::from_value(value).map(|End { reason }| Self::End { reason }),
            _ => serde_json::from_value(value).map(Self::Event),
        };
        read.map_err(de::Error::custom)
    }
}

impl FeedEntry {
    /// An event as it is served.
    pub fn new(cursor: Cursor, event: &FeedEvent) -> Self {
        let mut body = object(&event.body);
        body.remove("event");
        Self {
            cursor,
            seq: event.seq,
            tenant: event.tenant.clone(),
            session: event.session.clone(),
            ordinal: event.ordinal,
            at: event.at,
            digest: event.digest,
            event: event.body.kind().as_str().to_owned(),
            body,
        }
    }
}

fn object(body: &FeedBody) -> Map<String, Value> {
    match serde_json::to_value(body) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

impl DamagedEntry {
    fn new(cursor: Cursor, damaged: DamagedEvent) -> Self {
        let DamagedEvent { seq, tenant, session, ordinal, damage } = damaged;
        Self { cursor, seq, tenant, session, ordinal, damage: word(damage) }
    }
}

fn word(damage: Damage) -> String {
    let word = serde_json::to_value(damage).ok().and_then(|word| word.as_str().map(str::to_owned));
    word.unwrap_or_else(|| "unreadable".to_owned())
}

impl From<Page> for FeedPage {
    fn from(page: Page) -> Self {
        let events = page.events.iter().map(|event| FeedEntry::new(page.cursor_of(event), event)).collect();
        let place = |damaged: &DamagedEvent| Cursor { seq: damaged.seq, check: Default::default(), ..page.next };
        let damaged = page.damaged.iter().map(|damaged| DamagedEntry::new(place(damaged), damaged.clone())).collect();
        Self { events, damaged, next: page.next, latest: page.latest, more: page.more }
    }
}

impl From<FeedDelivery> for FeedNews {
    fn from(delivery: FeedDelivery) -> Self {
        match delivery {
            FeedDelivery::Event { cursor, event } => Self::Event(FeedEntry::new(cursor, &event)),
            FeedDelivery::Damaged { cursor, damaged } => Self::Damaged(DamagedEntry::new(cursor, damaged)),
        }
    }
}
