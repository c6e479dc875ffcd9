//! `GET /v1/feed`: a page of the feed. `GET /v1/feed/follow`: what is committed, live, as server-sent events whose ids are cursors.
//!
//! Both take the same filters. Without `after` they begin now; `after=start` begins at the first event. The socket is the operator's, so
//! `scope=all` shows all tenants and the host's own words; without it a client sees what its tenant may.

use std::convert::Infallible;

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{
        IntoResponse,
        sse::{self, Sse},
    },
};
use futures::{Stream, stream};
use mainstay_driver::{
    HostError,
    feed::{FeedFollower, FeedFrom, FeedRequest, FeedScope},
};
use mainstay_protocol::{cursor::Cursor, feed::FeedKind};
use tokio::{
    sync::{OwnedSemaphorePermit, watch},
    time::{self, Interval, MissedTickBehavior},
};

use super::{
    Shared,
    extract::{Params, page_limit},
};
use crate::{
    errors::ApiError,
    serve::stop_requested,
    wire::v1::{FeedNews, FeedPage},
};

/// What is asked: `kind` may come several times, and hold several kinds separated by commas.
type Pairs = Vec<(String, String)>;

/// The header in which a client that connects again says where it was.
const LAST_EVENT_ID: &str = "last-event-id";

#[derive(Debug, Default, PartialEq)]
struct Asked {
    request: FeedRequest,
    from: FeedFrom,
    limit: Option<usize>,
}

pub(super) async fn page(
    State(shared): State<Shared>,
    Params(pairs): Params<Pairs>,
) -> Result<Json<FeedPage>, ApiError> {
    let Asked { request, from, limit } = Asked::read(pairs)?;
    let page = shared.host.feed(request, from, page_limit(limit)?).await?;
    Ok(Json(page.into()))
}

pub(super) async fn follow(
    State(shared): State<Shared>,
    Params(pairs): Params<Pairs>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, ApiError> {
    let Asked { request, from, limit } = Asked::read(pairs)?;
    if limit.is_some() {
        return Err(ApiError::bad_request("`limit` is for pages; a stream has none").in_field("limit"));
    }
    // The address of a stream stays the same when a client connects again: the header is the newer word.
    let from = last_event_id(&headers)?.map_or(from, FeedFrom::After);
    let permit = shared.follower_permit()?;
    let follower = shared.host.follow_feed(request, from).await?;
    let mut ticks = time::interval_at(time::Instant::now() + shared.limits.keep_alive, shared.limits.keep_alive);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    Ok(Sse::new(events(Following { follower, stopped: shared.stopped, ticks, ended: false, _permit: permit })))
}

impl Asked {
    fn read(pairs: Pairs) -> Result<Self, ApiError> {
        let mut asked = Self::default();
        for (name, value) in pairs {
            asked.take(&name, value).map_err(|error| error.in_field(&name))?;
        }
        Ok(asked)
    }

    fn take(&mut self, name: &str, value: String) -> Result<(), ApiError> {
        let request = &mut self.request;
        match name {
            "after" => self.from = place(&value)?,
            "limit" => self.limit = Some(value.parse().map_err(|_| ApiError::bad_request("`limit` is a number"))?),
            "kind" => {
                for word in value.split(',') {
                    request.kinds.insert(legal::<FeedKind>(word)?);
                }
            }
            "session" => request.session = Some(legal(&value)?),
            "workspace" => request.workspace = Some(value),
            "turn" => request.turn = Some(legal(&value)?),
            "plugin" => request.plugin = Some(legal(&value)?),
            "scope" => {
                request.scope = match value.as_str() {
                    "tenant" => FeedScope::Tenant,
                    "all" => FeedScope::All,
                    _ => return Err(ApiError::bad_request("`scope` is `tenant` or `all`")),
                }
            }
            _ => {
                let message =
                    "the feed takes `after`, `limit`, `kind`, `session`, `workspace`, `turn`, `plugin` and `scope`";
                return Err(ApiError::bad_request(message));
            }
        }
        Ok(())
    }
}

fn legal<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, ApiError> {
    text.parse().map_err(|error: T::Err| ApiError::bad_request(error.to_string()))
}

fn place(text: &str) -> Result<FeedFrom, ApiError> {
    match text {
        "start" => Ok(FeedFrom::Start),
        cursor => Ok(FeedFrom::After(cursor_of(cursor)?)),
    }
}

fn cursor_of(text: &str) -> Result<Cursor, ApiError> {
    text.parse().map_err(|error: mainstay_protocol::cursor::InvalidCursor| {
        ApiError::new(StatusCode::BAD_REQUEST, "invalid_cursor", error.to_string())
    })
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<Cursor>, ApiError> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    cursor_of(value.to_str().unwrap_or_default()).map(Some).map_err(|error| error.in_field(LAST_EVENT_ID))
}

/// One client's stream. It is pulled: a slow client costs nothing but its place.
struct Following {
    follower: FeedFollower,
    stopped: watch::Receiver<bool>,
    ticks: Interval,
    ended: bool,
    _permit: OwnedSemaphorePermit,
}

fn events(following: Following) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    stream::unfold(following, |mut following| async move {
        let event = following.next().await?;
        Some((Ok(event), following))
    })
}

impl Following {
    async fn next(&mut self) -> Option<sse::Event> {
        if self.ended {
            return None;
        }
        let news = tokio::select! {
            biased;
            () = stop_requested(&mut self.stopped) => self.end("stopping"),
            news = self.follower.next() => match news {
                Ok(delivery) => delivery.into(),
                Err(error) => self.fail(&error),
            },
            _ = self.ticks.tick() => return Some(self.sign_of_life()),
        };
        Some(encode(&news))
    }

    /// A comment, so that both ends notice when the other is gone. With it comes the place that was reached, so that a client whom
    /// no event concerns begins there again, and not far back.
    fn sign_of_life(&self) -> sse::Event {
        sse::Event::default().comment("").id(self.follower.cursor().to_string())
    }

    fn fail(&mut self, error: &HostError) -> FeedNews {
        tracing::error!(%error, "a follower of the feed could not read the journal");
        self.end("failed")
    }

    fn end(&mut self, reason: &str) -> FeedNews {
        self.ended = true;
        FeedNews::End { reason: reason.to_owned() }
    }
}

fn encode(news: &FeedNews) -> sse::Event {
    let data = serde_json::to_string(news).expect("events hold nothing that JSON can't");
    let encoded = sse::Event::default().event(news.name()).data(data);
    match news.cursor() {
        Some(cursor) => encoded.id(cursor.to_string()),
        None => encoded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(pairs: &[(&str, &str)]) -> Result<Asked, ApiError> {
        Asked::read(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn filters_are_read() {
        let pairs = [("kind", "turn_started,turn_ended"), ("kind", "activity"), ("session", "s"), ("workspace", "a b")];
        let request = asked(&pairs).unwrap().request;
        assert_eq!(request.kinds, [FeedKind::TurnStarted, FeedKind::TurnEnded, FeedKind::Activity].into());
        assert_eq!((request.session, request.workspace), ("s".parse().ok(), Some("a b".to_owned())));
        assert_eq!(asked(&[("after", "start")]).unwrap().from, FeedFrom::Start);
        assert_eq!(asked(&[]).unwrap(), Asked::default(), "from now");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = [
            ("after", "0"),
            ("after", ""),
            ("limit", "many"),
            ("kind", "weather"),
            ("kind", ""),
            ("session", "a/b"),
            ("turn", ""),
            ("plugin", "Files"),
            ("scope", "world"),
            ("since", "yesterday"),
        ];
        for (name, value) in wrong {
            let problem = asked(&[(name, value)]).unwrap_err().into_problem();
            assert_eq!(problem.field.as_deref(), Some(name), "{value}");
            let expected = if name == "after" { "invalid_cursor" } else { "bad_request" };
            assert_eq!(problem.error, expected);
        }
    }

    #[test]
    fn the_header_must_be_a_cursor() {
        let headers = |value: &str| HeaderMap::from_iter([(LAST_EVENT_ID.parse().unwrap(), value.parse().unwrap())]);
        assert_eq!(last_event_id(&HeaderMap::new()).unwrap(), None);
        let problem = last_event_id(&headers("17")).unwrap_err().into_problem();
        assert_eq!((problem.error.as_str(), problem.field.as_deref()), ("invalid_cursor", Some(LAST_EVENT_ID)));
    }
}
