//! `GET /v1/sessions/{id}/follow`: what happens in a session, live, as server-sent events.
//!
//! The stream is pulled: nothing is buffered for a slow follower beyond the driver's own bounded backlog. One that falls
//! behind it reads the journal until it has caught up. Records and items therefore come without a gap and once; deltas and
//! progress may be lost, and a `gap` event says so.

mod begin;

use std::{collections::VecDeque, convert::Infallible};

use axum::{
    extract::State,
    http::HeaderMap,
    response::{
        IntoResponse,
        sse::{self, KeepAlive, Sse},
    },
};
use futures::{Stream, stream};
use mainstay_driver::{Host, HostError};
use mainstay_protocol::{
    ItemId, Ordinal, SessionId,
    content::Item,
    model::Delta,
    news::News,
    record::{RecordBody, StoredRecord, v1::Span},
};
use tokio::sync::{
    OwnedSemaphorePermit,
    broadcast::{Receiver, error::RecvError},
    watch,
};

use self::begin::{Begin, FollowParams};
use super::{
    Shared,
    extract::{Params, SessionPath},
};
use crate::{
    errors::ApiError,
    serve::stop_requested,
    wire::v1::{Event, Record},
};

/// Records that are read from the journal at a time.
const RECORDS_AT_ONCE: usize = 32;

pub(super) async fn follow(
    State(shared): State<Shared>,
    SessionPath(session): SessionPath,
    Params(params): Params<FollowParams>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, ApiError> {
    let begin = params.begin(&headers)?;
    let permit = shared.follower_permit()?;
    let follower = Follower::start(shared.host, session, begin, shared.stopped, permit).await?;
    let keep_alive = KeepAlive::new().interval(shared.limits.keep_alive);
    Ok(Sse::new(events(follower)).keep_alive(keep_alive))
}

fn events(follower: Follower) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    stream::unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((Ok(encode(&event)), follower))
    })
}

fn encode(event: &Event) -> sse::Event {
    let data = serde_json::to_string(event).expect("events hold nothing that JSON can't");
    let encoded = sse::Event::default().event(event.name()).data(data);
    match event {
        Event::Record(record) => encoded.id(record.ordinal.to_string()),
        _ => encoded,
    }
}

/// One client's place in a session.
struct Follower {
    host: Host,
    session: SessionId,
    live: Receiver<News>,
    stopped: watch::Receiver<bool>,
    /// The last record that was sent.
    record: Ordinal,
    /// The last item that was sent.
    item: ItemId,
    /// Whether the journal is read, because it holds something that was not sent.
    behind: bool,
    replayed: VecDeque<StoredRecord>,
    /// Goes out before anything else.
    first: Option<Event>,
    ended: bool,
    _permit: OwnedSemaphorePermit,
}

impl Follower {
    /// Subscribes first and reads then, so that nothing falls between the two.
    async fn start(
        host: Host,
        session: SessionId,
        begin: Begin,
        stopped: watch::Receiver<bool>,
        permit: OwnedSemaphorePermit,
    ) -> Result<Self, ApiError> {
        let unknown = || ApiError::no_session(session.as_str());
        host.session(&session).await?.ok_or_else(unknown)?;
        let live = host.follow(&session);
        let view = host.session(&session).await?.ok_or_else(unknown)?;
        let head = view.row.head;
        let record = match begin {
            Begin::Now => head,
            Begin::After(record) => record.min(head),
            Begin::Batches(batches) => host.replay_after(&session, batches).await?.min(head),
        };
        let item = if record == head { view.last_item } else { last_item(&host, &session, record).await? };
        let first = Some(Event::State(Box::new(view)));
        let (replayed, behind, ended) = (VecDeque::new(), record < head, false);
        Ok(Self { host, session, live, stopped, record, item, behind, replayed, first, ended, _permit: permit })
    }

    async fn next(&mut self) -> Option<Event> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            if self.ended {
                return None;
            }
            if !self.behind {
                if let Some(event) = self.next_live().await {
                    return Some(event);
                }
                continue;
            }
            match self.next_replayed().await {
                Ok(Some(event)) => return Some(event),
                Ok(None) => self.behind = false,
                Err(error) => {
                    tracing::error!(%error, session = %self.session, "a follower could not read the journal");
                    return Some(self.end("failed"));
                }
            }
        }
    }

    fn end(&mut self, reason: &str) -> Event {
        self.ended = true;
        Event::End { reason: reason.to_owned() }
    }

    async fn next_live(&mut self) -> Option<Event> {
        let news = tokio::select! {
            biased;
            news = self.live.recv() => news,
            () = stop_requested(&mut self.stopped) => Err(RecvError::Closed),
        };
        match news {
            Ok(news) => self.take(news),
            Err(RecvError::Lagged(missed)) => {
                tracing::debug!(missed, session = %self.session, "a follower was too slow and reads the journal");
                self.behind = true;
                Some(Event::Gap {})
            }
            Err(RecvError::Closed) => {
                let reason = if *self.stopped.borrow() { "stopping" } else { "forgotten" };
                Some(self.end(reason))
            }
        }
    }

    fn take(&mut self, news: News) -> Option<Event> {
        match news {
            News::Record(record) if record.ordinal <= self.record => None,
            News::Record(record) if record.ordinal > self.record.next() => {
                self.behind = true;
                None
            }
            News::Record(record) => Some(self.send_record(&record)),
            News::Item(item) if item.id <= self.item => None,
            News::Item(item) => Some(self.send_item(Item::clone(&item))),
            News::Delta { delta: Delta::PrivatePart(_), .. } => None,
            News::Delta { turn, step, delta } => Some(Event::Delta { turn, step, delta }),
            News::AttemptDropped { turn, step } => Some(Event::AttemptDropped { turn, step }),
            News::Progress { turn, step, call, text, done, total } => {
                Some(Event::Progress { turn, step, call, text, done, total })
            }
        }
    }

    /// The next thing that the journal holds and the client does not; none when there is no more.
    async fn next_replayed(&mut self) -> Result<Option<Event>, HostError> {
        if self.replayed.is_empty() {
            let page = self.host.records(&self.session, self.record, RECORDS_AT_ONCE).await?;
            self.replayed.extend(page);
        }
        let named = self.replayed.front().map_or(Some(ItemId(u64::MAX)), |record| last_named(&record.body));
        if let Some(last) = named.filter(|last| *last > self.item)
            && let Some(item) = self.next_item(last).await?
        {
            return Ok(Some(self.send_item(item)));
        }
        Ok(self.replayed.pop_front().map(|record| self.send_record(&record)))
    }

    /// The first item that was not sent, up to `last`. One at a time: any of them may be large.
    async fn next_item(&self, last: ItemId) -> Result<Option<Item>, HostError> {
        let items = self.host.items(&self.session, self.item, 1).await?;
        Ok(items.into_iter().next().filter(|item| item.id <= last))
    }

    fn send_record(&mut self, record: &StoredRecord) -> Event {
        self.record = record.ordinal;
        Event::Record(Record::from(record))
    }

    fn send_item(&mut self, mut item: Item) -> Event {
        self.item = item.id;
        item.private_part = None;
        Event::Item(item)
    }
}

/// The last item that any record up to `ordinal` names.
async fn last_item(host: &Host, session: &SessionId, ordinal: Ordinal) -> Result<ItemId, HostError> {
    let mut before = ordinal.next();
    loop {
        let page = host.records_before(session, Some(before), RECORDS_AT_ONCE).await?;
        if let Some(named) = page.iter().find_map(|record| last_named(&record.body)) {
            return Ok(named);
        }
        match page.last() {
            Some(oldest) if oldest.ordinal > Ordinal(1) => before = oldest.ordinal,
            _ => return Ok(ItemId(0)),
        }
    }
}

/// The last of the items that came with a record.
fn last_named(body: &RecordBody) -> Option<ItemId> {
    body.items().map(|Span { first, count }| ItemId(first.0 + u64::from(count) - 1))
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::{
        AcceptedOrdinal, SubmissionId, TurnId,
        record::v1::{HookNotes, TurnStarted},
    };

    use super::*;

    fn started(items: Option<Span>) -> RecordBody {
        RecordBody::TurnStarted(TurnStarted {
            turn: TurnId::new("t").unwrap(),
            submission: SubmissionId::new("s").unwrap(),
            accepted: AcceptedOrdinal(1),
            items,
            hooks: HookNotes::default(),
        })
    }

    #[test]
    fn the_last_item_of_a_record_is_known() {
        let span = |first, count| Some(Span { first: ItemId(first), count });
        assert_eq!(last_named(&started(span(4, 3))), Some(ItemId(6)));
        assert_eq!(last_named(&started(span(4, 0))), None);
        assert_eq!(last_named(&started(None)), None);
    }
}
