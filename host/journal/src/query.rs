//! What is asked of the journal, and the shapes of the answers.

use mainstay_protocol::{ItemId, Ordinal, RouteName, SessionId, TenantId, Timestamp, op::Labels};
use mainstay_session::State;

/// Rows that a page holds at most; more is cut to this.
pub const MAX_PAGE: u32 = 1_000;

/// A part of a sequence: records by ordinal, items by id. Both ends are exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range<K> {
    /// Only what comes after.
    pub after: Option<K>,
    /// Only what comes before.
    pub before: Option<K>,
    /// From which end.
    pub direction: Direction,
    /// How many; more than [`MAX_PAGE`] is cut to it, and 0 is an error.
    pub limit: u32,
}

/// From which end a page is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Oldest first.
    Forward,
    /// Newest first.
    Backward,
}

impl<K> Range<K> {
    /// The first ones.
    pub const fn forward(limit: u32) -> Self {
        Self { after: None, before: None, direction: Direction::Forward, limit }
    }

    /// The last ones, newest first.
    pub const fn backward(limit: u32) -> Self {
        Self { after: None, before: None, direction: Direction::Backward, limit }
    }

    /// Only what comes after `key`.
    #[must_use]
    pub fn after(mut self, key: K) -> Self {
        self.after = Some(key);
        self
    }

    /// Only what comes before `key`.
    #[must_use]
    pub fn before(mut self, key: K) -> Self {
        self.before = Some(key);
        self
    }
}

/// Some rows of many.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// Those that could be read.
    pub rows: Vec<T>,
    /// Those that could not. They count towards the limit: a page always ends.
    pub damaged: Vec<Damaged>,
    /// Whether there are more in this direction.
    pub more: bool,
}

/// A row that can't be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// Where it is.
    pub at: Place,
    /// What is wrong with it.
    pub damage: Damage,
}

/// The place of a row in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A record.
    Record(Ordinal),
    /// A transcript item.
    Item(ItemId),
    /// A queued message, by its number.
    Queued(u64),
    /// The state.
    State,
    /// The session as a whole.
    Session,
}

/// What is wrong with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// A column has an impossible value.
    Shape,
    /// The bytes don't have the digest that was stored with them.
    Digest,
    /// The running chain does not go through here.
    Chain,
    /// A row is missing.
    Missing,
    /// The row is there, and what refers to it says otherwise.
    Reference,
}

/// A session as it is resumed: its state and its queue, not its history.
#[derive(Clone, Debug)]
pub struct OpenedSession {
    /// The state, with the queue.
    pub state: State,
    /// The ordinal of its last record.
    pub head: Ordinal,
    /// When it was created.
    pub created_at: Timestamp,
    /// The time of its last record.
    pub active_at: Timestamp,
    /// Owner, workspace, origin.
    pub labels: Labels,
    /// A JSON object, if one was given.
    pub metadata: Option<String>,
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Its owner.
    pub tenant: TenantId,
    /// Its id.
    pub session: SessionId,
    /// The ordinal of its last record.
    pub head: Ordinal,
    /// When it was created.
    pub created_at: Timestamp,
    /// The time of its last record.
    pub active_at: Timestamp,
    /// `idle`, `queued`, `running`, `waiting` or `parked`.
    pub phase: String,
    /// The selected route.
    pub route: Option<RouteName>,
    /// Turns that ended, in any way.
    pub turns: u64,
    /// Owner, workspace, origin.
    pub labels: Labels,
    /// A JSON object, if one was given.
    pub metadata: Option<String>,
    /// Where the next page of a list goes on.
    pub cursor: SessionCursor,
}

/// A place in the list of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionCursor {
    /// The activity of the session there.
    pub active_at: Timestamp,
    /// Tells sessions of one instant apart.
    pub number: u64,
}

/// A page of the list of sessions: newest activity first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionsQuery {
    /// How many; more than [`MAX_PAGE`] is cut to it, and 0 is an error.
    pub limit: u32,
    /// Only what comes after this place in the list.
    pub before: Option<SessionCursor>,
}
