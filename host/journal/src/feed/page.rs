//! The shapes of the feed's answers.

use mainstay_protocol::{Ordinal, Seq, SessionId, TenantId, cursor::Cursor, feed::FeedEvent};

use crate::Damage;

/// Some events of the feed, all read at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedPage {
    /// Oldest first.
    pub events: Vec<FeedEvent>,
    /// Events that could not be read. The page went on past them; they count towards its limit.
    pub damaged: Vec<DamagedEvent>,
    /// Where the next page goes on: past all that this one looked at, also where nothing of it was asked for.
    pub next: Cursor,
    /// The place after the newest event, whatever was asked for and whatever was deleted.
    pub latest: Cursor,
    /// Whether there may be more between `next` and `latest`. A page ends early when it has looked at as much as one page may.
    pub more: bool,
}

impl FeedPage {
    /// The place after an event of this page.
    pub fn cursor_of(&self, event: &FeedEvent) -> Cursor {
        Cursor { seq: event.seq, check: Cursor::check_of(&event.digest), ..self.next }
    }
}

/// An event that can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedEvent {
    /// Its global position.
    pub seq: Seq,
    /// The owner of its session; none when not even that can be read.
    pub tenant: Option<TenantId>,
    /// Its session; none when not even that can be read.
    pub session: Option<SessionId>,
    /// The position of its record in the session.
    pub ordinal: Ordinal,
    /// What is wrong.
    pub damage: Damage,
}
