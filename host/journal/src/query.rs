//! What is asked of the journal, and the shapes of the answers.

use mainstay_protocol::{
    AcceptedOrdinal, ItemId, Ordinal, RouteName, SessionId, SubmissionId, TenantId, Timestamp, TurnId,
    content::Item,
    model::Usage,
    op::Labels,
    record::{
        StoredRecord,
        v1::{StopReason, TurnOutcome},
    },
};
use mainstay_session::State;
use serde::{Deserialize, Serialize};

/// Rows that a page holds at most; more is cut to this.
pub const MAX_PAGE: u32 = 1_000;

/// Bytes of records or items after which a page ends, though it has fewer rows than were asked for: 16 MiB. It has at least one.
pub const MAX_PAGE_BYTES: usize = 16 << 20;

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

    /// Only what comes after `key` in this direction.
    #[must_use]
    pub fn past(self, key: K) -> Self {
        match self.direction {
            Direction::Forward => self.after(key),
            Direction::Backward => self.before(key),
        }
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

impl Page<StoredRecord> {
    /// The last row of a page that runs forward, sound or damaged: the next page comes after it.
    pub fn reached(&self) -> Option<Ordinal> {
        let damaged = self.damaged.iter().filter_map(|damaged| match damaged.at {
            Place::Record(ordinal) => Some(ordinal),
            _ => None,
        });
        self.rows.iter().map(|record| record.ordinal).chain(damaged).max()
    }
}

impl Page<Item> {
    /// The last row of a page that runs forward, sound or damaged: the next page comes after it.
    pub fn reached(&self) -> Option<ItemId> {
        let damaged = self.damaged.iter().filter_map(|damaged| match damaged.at {
            Place::Item(item) => Some(item),
            _ => None,
        });
        self.rows.iter().map(|item| item.id).chain(damaged).max()
    }
}

impl Page<SessionRow> {
    /// The last row of a page, sound or damaged: the next page comes after it.
    pub fn reached(&self) -> Option<SessionCursor> {
        let damaged = self.damaged.iter().filter_map(|damaged| match damaged.at {
            Place::Listed(cursor) => Some(cursor),
            _ => None,
        });
        let rows = self.rows.iter().map(|row| row.cursor);
        rows.chain(damaged).min_by_key(|cursor| (cursor.active_at, cursor.number))
    }
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
    /// A turn, by its number.
    Execution(u64),
    /// A queued message, by its number.
    Queued(u64),
    /// The state.
    State,
    /// The session as a whole.
    Session,
    /// A session in a list, by its place there.
    Listed(SessionCursor),
}

/// What is wrong with a row. Pages of rows report the first two, and pages of turns also records that are missing or of another
/// turn; the others only a verification finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// A count or a summary is not what it counts.
    Count,
    /// What comes in pairs is alone: a start without its end, a call without its result.
    Pair,
    /// The stored state is not what the records give.
    Replay,
    /// The row belongs to nothing.
    Orphan,
    /// A page of the file breaks SQLite's own rules, or can't be read.
    Page,
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
    /// The latest time of any of its records.
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
    /// The latest time of any of its records.
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

/// One turn in a few words, from the records with which it began and ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// Counts the session's turns from 1.
    pub number: u64,
    /// The turn.
    pub turn: TurnId,
    /// The op that brought its message.
    pub submission: SubmissionId,
    /// The message's number.
    pub accepted: AcceptedOrdinal,
    /// The record with which it began.
    pub first: Ordinal,
    /// The one with which it ended; none while it runs.
    pub last: Option<Ordinal>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended; none while it runs.
    pub ended_at: Option<Timestamp>,
    /// Whether it runs, and if not, how it counts.
    pub state: RunState,
    /// How it ended, as the feed tells it; none while it runs.
    pub outcome: Option<TurnOutcome>,
    /// Why, for everything but plain completion.
    pub stop_reason: Option<StopReason>,
    /// Steps whose output was accepted; 0 while it runs, as all that follows.
    pub steps: u32,
    /// Calls that got a result.
    pub tool_calls: u32,
    /// Those of them whose result is an error.
    pub failed_tool_calls: u32,
    /// What all attempts cost together.
    pub usage: Usage,
}

/// How a turn counts: each that is not running is a run, and the aborted ones are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunState {
    /// It has not ended.
    Running,
    /// It ended as the model meant it.
    Completed,
    /// A person or the runtime called it off.
    Aborted,
    /// It could not go on, or a hook rejected its message.
    Failed,
}

impl RunState {
    /// As what a turn counts that ended so.
    pub const fn of(outcome: TurnOutcome) -> Self {
        match outcome {
            TurnOutcome::Completed => Self::Completed,
            TurnOutcome::Cancelled | TurnOutcome::Interrupted => Self::Aborted,
            TurnOutcome::Rejected | TurnOutcome::Failed => Self::Failed,
        }
    }
}
