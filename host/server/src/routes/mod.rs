//! The routes of version 1, one module a subject, and what they share.

mod blobs;
mod extract;
mod feed;
mod follow;
mod forgetting;
mod host;
mod journal;
mod ops;
mod plugins;
mod sessions;

use std::sync::Arc;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::StatusCode,
    routing::{get, post},
};
use mainstay_driver::Host;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::{Limits, errors::ApiError};

/// What every route can reach.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    host: Host,
    limits: Limits,
    followers: Arc<Semaphore>,
    stopped: watch::Receiver<bool>,
}

impl Shared {
    /// A place among those who follow, so that some connections are always left for ops.
    fn follower_permit(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        self.followers.clone().try_acquire_owned().map_err(|_| {
            let message = "too many clients follow this host; try again when one has left";
            ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_followers", message)
        })
    }
}

/// All routes.
pub(crate) fn router(host: Host, limits: Limits, stopped: watch::Receiver<bool>) -> Router {
    let followers = Arc::new(Semaphore::new(limits.followers));
    Router::new()
        .route("/v1/host", get(host::describe))
        .route("/v1/sessions", get(sessions::list).post(sessions::open))
        .route("/v1/sessions/{session}", get(sessions::show).delete(forgetting::forget))
        .route("/v1/sessions/{session}/records", get(sessions::records))
        .route("/v1/sessions/{session}/items", get(sessions::items))
        .route("/v1/sessions/{session}/blobs/{blob}", get(blobs::fetch))
        .route("/v1/sessions/{session}/ops", post(ops::submit))
        .route("/v1/sessions/{session}/follow", get(follow::follow))
        .route("/v1/feed", get(feed::page))
        .route("/v1/feed/follow", get(feed::follow))
        .route("/v1/journal/stats", get(journal::stats))
        .route("/v1/plugins", get(plugins::list))
        .route("/v1/plugins/{plugin}/swap", post(plugins::swap))
        .fallback(no_route)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(limits.body))
        .with_state(Shared { host, limits, followers, stopped })
}

async fn no_route() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "not_found", "this host has no such route; `GET /v1/host` says what it serves")
}

async fn wrong_method() -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this route does not take this method")
}
