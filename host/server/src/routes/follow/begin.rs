//! Where a stream of a session begins: now, after a record, with the last batches, or where it was before the connection broke.

use axum::http::HeaderMap;
use mainstay_protocol::Ordinal;
use serde::Deserialize;

use crate::errors::ApiError;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::routes) struct FollowParams {
    /// The last record that the client has; without it the stream begins now.
    pub(super) after: Option<Ordinal>,
    /// Instead, how many of the last batches come first. A batch is what became durable at once.
    pub(super) replay: Option<u32>,
}

/// Where a stream begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    Now,
    After(Ordinal),
    Batches(u32),
}

impl FollowParams {
    /// The address of a stream stays the same when a client connects again: the header is the newer word.
    pub(super) fn begin(&self, headers: &HeaderMap) -> Result<Begin, ApiError> {
        match (last_event_id(headers), self.after, self.replay) {
            (_, Some(_), Some(_)) => {
                Err(ApiError::bad_request("`after` and `replay` both say where to begin; give one of them"))
            }
            (Some(after), ..) | (None, Some(after), None) => Ok(Begin::After(after)),
            (None, None, Some(batches)) => Ok(Begin::Batches(batches)),
            (None, None, None) => Ok(Begin::Now),
        }
    }
}

/// What an `EventSource` sends when it connects again.
fn last_event_id(headers: &HeaderMap) -> Option<Ordinal> {
    headers.get("last-event-id")?.to_str().ok()?.parse().ok().map(Ordinal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_begins_where_the_client_says_and_goes_on_where_it_was() {
        let params = |after: Option<u64>, replay| FollowParams { after: after.map(Ordinal), replay };
        let again = HeaderMap::from_iter([("last-event-id".parse().unwrap(), "17".parse().unwrap())]);
        let first = HeaderMap::new();
        assert_eq!(params(None, None).begin(&first).unwrap(), Begin::Now);
        assert_eq!(params(None, Some(0)).begin(&first).unwrap(), Begin::Batches(0));
        assert_eq!(params(None, Some(3)).begin(&again).unwrap(), Begin::After(Ordinal(17)));
        assert_eq!(params(Some(5), None).begin(&again).unwrap(), Begin::After(Ordinal(17)));
        assert_eq!(params(Some(5), None).begin(&first).unwrap(), Begin::After(Ordinal(5)));
        assert!(params(Some(5), Some(3)).begin(&first).is_err());
    }

    #[test]
    fn a_client_that_connects_again_says_where_it_was() {
        let headers = |value: &str| HeaderMap::from_iter([("last-event-id".parse().unwrap(), value.parse().unwrap())]);
        assert_eq!(last_event_id(&headers("17")), Some(Ordinal(17)));
        assert_eq!(last_event_id(&headers("x")), None);
        assert_eq!(last_event_id(&HeaderMap::new()), None);
    }
}
