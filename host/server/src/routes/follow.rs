//! `GET /v1/sessions/{id}/follow`: what happens in a session, live, as server-sent events.
//!
//! The stream is pulled: nothing is buffered for a slow follower beyond the driver's own bounded backlog. One that falls
//! behind it reads the journal until it has caught up. Records and items therefore come without a gap and once; deltas and
//! progress may be lost, and a `gap` event says so.

use std::{collections::VecDeque, convert::Infallible};

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
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
use serde::Deserialize;
use tokio::sync::{
    OwnedSemaphorePermit,
    broadcast::{Receiver, error::RecvError},
    watch,
};

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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FollowParams {
    /// The last record that the client has; without it the stream begins now.
    after: Option<Ordinal>,
}

pub(super) async fn follow(
    State(shared): State<Shared>,
    SessionPath(session): SessionPath,
    Params(params): Params<FollowParams>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, ApiError> {
    let permit = shared.followers.clone().try_acquire_owned().map_err(|_| {
        let message = "too many clients follow sessions of this host; try again when one has left";
        ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_followers", message)
    })?;
    let after = params.after.or_else(|| last_event_id(&headers));
    let follower = Follower::start(shared.host, session, after, shared.stopped, permit).await?;
    let keep_alive = KeepAlive::new().interval(shared.limits.keep_alive);
    Ok(Sse::new(events(follower)).keep_alive(keep_alive))
}

/// What an `EventSource` sends when it connects again.
fn last_event_id(headers: &HeaderMap) -> Option<Ordinal> {
    headers.get("last-event-id")?.to_str().ok()?.parse().ok().map(Ordinal)
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
        after: Option<Ordinal>,
        stopped: watch::Receiver<bool>,
        permit: OwnedSemaphorePermit,
    ) -> Result<Self, ApiError> {
        let unknown = || ApiError::no_session(session.as_str());
        host.session(&session).await?.ok_or_else(unknown)?;
        let live = host.follow(&session);
        let view = host.session(&session).await?.ok_or_else(unknown)?;
        let head = view.row.head;
        let record = after.unwrap_or(head).min(head);
        let item = last_item(&host, &session, record).await?;
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
            Err(RecvError::Closed) => Some(self.end("stopping")),
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
    let last_of = |span: &Option<Span>| {
        span.filter(|span| span.count > 0).map(|span| ItemId(span.first.0 + u64::from(span.count) - 1))
    };
    match body {
        RecordBody::TurnStarted(started) => last_of(&started.items),
        RecordBody::StepCompleted(step) => last_of(&step.items),
        RecordBody::CallEnded(call) => Some(call.item),
        RecordBody::TurnContinued(continued) => Some(continued.item),
        _ => None,
    }
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

    #[test]
    fn a_client_that_connects_again_says_where_it_was() {
        let headers = |value: &str| HeaderMap::from_iter([("last-event-id".parse().unwrap(), value.parse().unwrap())]);
        assert_eq!(last_event_id(&headers("17")), Some(Ordinal(17)));
        assert_eq!(last_event_id(&headers("x")), None);
        assert_eq!(last_event_id(&HeaderMap::new()), None);
    }
}
