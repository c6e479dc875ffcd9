//! From the writer to those who follow: after a commit its events go out once, shared by all. The writer never waits here. Who
//! is too slow for the bounded buffer misses some, notices, and reads the journal.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use mainstay_protocol::{
    Seq,
    cursor::{Cursor, CursorCheck},
    feed::{FeedEvent, FeedKind},
    record::StoredRecord,
};
use tokio::sync::broadcast;

use super::FeedFilter;

/// Events that one slot of the buffer holds at most; a larger commit takes several.
const SLOT_EVENTS: usize = 64;
/// A slot is closed once its events have this many bytes, as stored.
const SLOT_BYTES: usize = 64 << 10;

/// Consecutive events of commits, by rising and contiguous `seq`. None at all means: look into the journal.
pub(super) type Slot = Arc<[Told]>;

/// The channel, and where it stands.
#[derive(Debug)]
pub(crate) struct Live {
    sender: broadcast::Sender<Slot>,
    /// After the last event that was committed.
    latest: Mutex<Cursor>,
}

/// A committed event, on its way to all who want it.
#[derive(Debug)]
pub(super) struct Told {
    seq: Seq,
    record: StoredRecord,
    kind: FeedKind,
    workspace: Option<Arc<str>>,
    /// Made by the first who wants it.
    event: OnceLock<Option<Arc<FeedEvent>>>,
}

/// The events of some commits, gathered where each still knows its records.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    /// Whether the events themselves are taken; otherwise only the last place is.
    wanted: bool,
    last: Option<StoredPlace>,
    slots: Vec<Slot>,
    open: Vec<Told>,
    bytes: usize,
    look: bool,
}

#[derive(Clone, Copy, Debug)]
struct StoredPlace {
    seq: Seq,
    check: CursorCheck,
}

impl Live {
    /// `latest` is where the feed stands; `slots` bounds how far a follower may be behind.
    pub(crate) fn new(latest: Cursor, slots: NonZeroUsize) -> Self {
        Self { sender: broadcast::Sender::new(slots.get()), latest: Mutex::new(latest) }
    }

    /// Where the feed stands.
    pub(crate) fn latest(&self) -> Cursor {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn follow(&self) -> broadcast::Receiver<Slot> {
        self.sender.subscribe()
    }

    /// Gathers the events of a commit. `tell` adds them; it is asked twice when anybody follows.
    ///
    /// The place moves before it is known who follows, and who begins takes its place after it began to listen: so whoever stands
    /// before these events is told of them, and whoever is not told stands after them.
    pub(crate) fn gather(&self, tell: impl Fn(&mut Gathering)) -> Gathering {
        let mut gathering = Gathering::default();
        tell(&mut gathering);
        if let Some(StoredPlace { seq, check }) = gathering.last {
            let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
            *latest = Cursor { seq, check, ..*latest };
        }
        if gathering.last.is_some() && self.sender.receiver_count() > 0 {
            gathering = Gathering { wanted: true, ..Gathering::default() };
            tell(&mut gathering);
        }
        gathering
    }

    /// Tells those who follow.
    pub(crate) fn publish(&self, mut gathering: Gathering) {
        gathering.close_slot();
        if gathering.look {
            gathering.slots.push(Slot::default());
        }
        for slot in gathering.slots {
            // Nobody is left to hear it: not an error.
            let _ = self.sender.send(slot);
        }
    }
}

impl Gathering {
    /// Takes what a commit appended: each record with its stored size in bytes. `workspace` is that label of their session.
    pub(crate) fn take<'a>(
        &mut self,
        records: impl IntoIterator<Item = (&'a StoredRecord, usize)>,
        workspace: Option<&str>,
    ) {
        let mut label = None;
        for (record, bytes) in records {
            let Some(seq) = record.seq else { continue };
            let follows = self.last.is_none_or(|last| seq == last.seq.next());
            self.last = Some(StoredPlace { seq, check: Cursor::check_of(&record.digest) });
            if !self.wanted {
                continue;
            }
            if !follows || self.open.len() >= SLOT_EVENTS || self.bytes >= SLOT_BYTES {
                self.close_slot();
            }
            let label: &mut Option<Arc<str>> = label.get_or_insert_with(|| workspace.map(Arc::from));
            self.bytes += bytes;
            self.open.push(Told::new(seq, record, label.clone()));
        }
    }

    /// Something may be durable that was not taken: all who follow are to look into the journal.
    pub(crate) fn note_doubt(&mut self) {
        self.look = true;
    }

    fn close_slot(&mut self) {
        self.bytes = 0;
        if !self.open.is_empty() {
            self.slots.push(std::mem::take(&mut self.open).into());
        }
    }
}

impl Told {
    fn new(seq: Seq, record: &StoredRecord, workspace: Option<Arc<str>>) -> Self {
        let kind = FeedKind::of_record(record.body.kind());
        Self { seq, record: record.clone(), kind, workspace, event: OnceLock::new() }
    }

    pub(super) fn seq(&self) -> Seq {
        self.seq
    }

    /// The place after this event in the feed that `place` belongs to.
    pub(super) fn cursor(&self, place: Cursor) -> Cursor {
        Cursor { seq: self.seq, check: Cursor::check_of(&self.record.digest), ..place }
    }

    /// The event, if a filter admits it.
    pub(super) fn event(&self, filter: &FeedFilter) -> Option<Arc<FeedEvent>> {
        let StoredRecord { tenant, session, body, .. } = &self.record;
        let admitted =
            filter.admits_place(tenant, session, self.workspace.as_deref(), self.kind) && filter.admits_record(body);
        if !admitted {
            return None;
        }
        self.event.get_or_init(|| FeedEvent::of(&self.record).map(Arc::new)).clone()
    }
}
