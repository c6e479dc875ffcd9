//! One follower of the feed. It hears of commits live as long as it keeps up, and reads pages where it did not: at its
//! beginning, and whenever the buffer went on without it. Both meet at a `seq`, so that nothing comes twice and nothing is
//! missing.

use std::{collections::VecDeque, sync::Arc};

use mainstay_protocol::{cursor::Cursor, feed::FeedEvent};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::{
    DamagedEvent, FeedFilter, FeedPage,
    live::{Live, Slot},
};
use crate::{
    ReadError,
    read::{self, Pool},
};

/// Events of a page that is read to catch up.
const PAGE: u32 = 256;

/// What a follower gets.
#[derive(Clone, Debug, PartialEq)]
pub enum FeedDelivery {
    /// An event.
    Event {
        /// The place after it.
        cursor: Cursor,
        /// The event.
        event: Arc<FeedEvent>,
    },
    /// An event that can't be read. The stream goes on past it.
    Damaged {
        /// The place after it.
        cursor: Cursor,
        /// Which, and what is wrong with it.
        damaged: DamagedEvent,
    },
}

impl FeedDelivery {
    /// The place after what was delivered: who follows from there gets what comes next.
    pub const fn cursor(&self) -> Cursor {
        match self {
            Self::Event { cursor, .. } | Self::Damaged { cursor, .. } => *cursor,
        }
    }
}

/// The events that a filter admits, from a place on, as they are committed. What it delivers is durable. It holds a bounded part
/// of the feed, however slowly it is read.
#[derive(Debug)]
pub struct FeedSubscription {
    pool: Pool,
    filter: Arc<FeedFilter>,
    live: Receiver<Slot>,
    ready: VecDeque<FeedDelivery>,
    /// After all that is delivered or passed over.
    seen: Cursor,
    /// After all that is delivered, passed over, or ready.
    reached: Cursor,
    /// Whether the journal may hold more than was heard live.
    behind: bool,
}

impl FeedSubscription {
    /// Begins to listen first, so that nothing falls between the pages and what comes live.
    pub(crate) fn new(pool: Pool, live: &Live, filter: FeedFilter, after: Option<Cursor>) -> Self {
        let receiver = live.follow();
        let (reached, behind) = after.map_or_else(|| (live.latest(), false), |after| (after, true));
        let (filter, ready) = (Arc::new(filter), VecDeque::new());
        Self { pool, filter, live: receiver, ready, seen: reached, reached, behind }
    }

    /// Where this follower stands: after all that was delivered to it, and after what was passed over since. Who goes on from
    /// here misses nothing.
    pub const fn cursor(&self) -> Cursor {
        self.seen
    }

    /// Checks the place that it begins at, so that a bad one is known before anything is waited for.
    ///
    /// # Errors
    /// The place is of another life of the store ([`ReadError::EpochChanged`]), or the journal can't be read.
    pub async fn begin(&mut self) -> Result<(), ReadError> {
        if self.behind && self.ready.is_empty() {
            self.catch_up().await?;
        }
        Ok(())
    }

    /// The next event; waits for it. Nothing is lost when the future is dropped, and after an error this can be asked again.
    ///
    /// # Errors
    /// The place that it began at is of another life of the store, the journal can't be read, or it is closed.
    pub async fn next(&mut self) -> Result<FeedDelivery, ReadError> {
        loop {
            if let Some(delivery) = self.ready.pop_front() {
                self.seen = if self.ready.is_empty() { self.reached } else { delivery.cursor() };
                return Ok(delivery);
            }
            self.seen = self.reached;
            if self.behind {
                self.catch_up().await?;
                continue;
            }
            match self.live.recv().await {
                Ok(slot) => self.hear(&slot),
                Err(RecvError::Lagged(_)) => self.behind = true,
                Err(RecvError::Closed) => return Err(ReadError::Closed),
            }
        }
    }

    /// Reads the next page. What is committed after the page's moment is heard live.
    async fn catch_up(&mut self) -> Result<(), ReadError> {
        let (filter, after) = (self.filter.clone(), self.reached);
        let page = self.pool.run(move |connection| read::feed(connection, &filter, Some(after), PAGE)).await?;
        self.behind = page.more;
        self.reached = page.next;
        self.take(page);
        Ok(())
    }

    fn take(&mut self, mut page: FeedPage) {
        let mut damaged = std::mem::take(&mut page.damaged).into_iter().peekable();
        let none = Cursor { check: [0; 4], ..page.next };
        for event in std::mem::take(&mut page.events) {
            while let Some(earlier) = damaged.next_if(|damaged| damaged.seq < event.seq) {
                self.ready.push_back(unreadable(none, earlier));
            }
            let cursor = page.cursor_of(&event);
            self.ready.push_back(FeedDelivery::Event { cursor, event: Arc::new(event) });
        }
        self.ready.extend(damaged.map(|later| unreadable(none, later)));
    }

    /// Takes over what is new of a slot. One that does not join what was reached, or has nothing in it, says that there is
    /// more in the journal.
    fn hear(&mut self, slot: &Slot) {
        let joins = slot.first().is_some_and(|first| first.seq() <= self.reached.seq.next());
        if !joins {
            self.behind = true;
            return;
        }
        for told in slot.iter().filter(|told| told.seq() > self.reached.seq).collect::<Vec<_>>() {
            self.reached = told.cursor(self.reached);
            if let Some(event) = told.event(&self.filter) {
                self.ready.push_back(FeedDelivery::Event { cursor: self.reached, event });
            }
        }
    }
}

fn unreadable(place: Cursor, damaged: DamagedEvent) -> FeedDelivery {
    FeedDelivery::Damaged { cursor: Cursor { seq: damaged.seq, ..place }, damaged }
}
