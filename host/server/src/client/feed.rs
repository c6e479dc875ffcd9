//! The feed, from the client's side.

use futures::{StreamExt, stream::BoxStream};
use mainstay_driver::feed::{FeedFrom, FeedRequest, FeedScope};

use super::{ANSWER, Client, ClientError, connection, connection::Request, encode, sse};
use crate::wire::v1::{FeedNews, FeedPage};

/// What follows the feed.
pub type FeedEvents = BoxStream<'static, Result<FeedNews, ClientError>>;

impl Client {
    /// A page of the feed, oldest first. From now it has no event, and says where to go on.
    ///
    /// # Errors
    /// The place is of another life of the store ([`ClientError::EpochChanged`]), or the host can't be reached.
    pub async fn feed(&self, request: &FeedRequest, from: FeedFrom, limit: usize) -> Result<FeedPage, ClientError> {
        let query = Query::of(request, from).with("limit", limit);
        self.get(&format!("/v1/feed{}", query.0), ANSWER).await
    }

    /// Follows the feed. Each event has its cursor: after a broken connection, begin after the last one that came.
    ///
    /// # Errors
    /// The place is of another life of the store ([`ClientError::EpochChanged`]), or the host can't be reached.
    pub async fn follow_feed(&self, request: &FeedRequest, from: FeedFrom) -> Result<FeedEvents, ClientError> {
        let request = Request::get(&format!("/v1/feed/follow{}", Query::of(request, from).0));
        let body = connection::stream(self.socket(), request, ANSWER).await?;
        Ok(sse::events(body).boxed())
    }
}

/// The part of an address after its path.
struct Query(String);

impl Query {
    fn of(request: &FeedRequest, from: FeedFrom) -> Self {
        let FeedRequest { scope, session, workspace, kinds, turn, plugin } = request;
        let mut query = match from {
            FeedFrom::Now => Self(String::new()),
            FeedFrom::Start => Self(String::new()).with("after", "start"),
            FeedFrom::After(cursor) => Self(String::new()).with("after", cursor),
        };
        for kind in kinds {
            query = query.with("kind", kind.as_str());
        }
        query = query.with_some("session", session.as_ref()).with_some("workspace", workspace.as_ref());
        query = query.with_some("turn", turn.as_ref()).with_some("plugin", plugin.as_ref());
        query.with_some("scope", Some("all").filter(|_| *scope == FeedScope::All))
    }

    fn with(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.0.push(if self.0.is_empty() { '?' } else { '&' });
        self.0 += &format!("{name}={}", encode(&value.to_string()));
        self
    }

    fn with_some(self, name: &str, value: Option<impl std::fmt::Display>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::feed::FeedKind;

    use super::*;

    #[test]
    fn what_is_asked_is_in_the_address() {
        assert_eq!(Query::of(&FeedRequest::default(), FeedFrom::Now).0, "");
        let request = FeedRequest {
            scope: FeedScope::All,
            session: "s".parse().ok(),
            workspace: Some("a&b".to_owned()),
            kinds: [FeedKind::TurnEnded, FeedKind::Activity].into(),
            turn: None,
            plugin: "files".parse().ok(),
        };
        let expected =
            "?after=start&kind=turn_ended&kind=activity&session=s&workspace=a%26b&plugin=files&scope=all&limit=5";
        assert_eq!(Query::of(&request, FeedFrom::Start).with("limit", 5).0, expected);
    }
}
