//! The routes of version 1, one module a subject, and what they share.

mod extract;
mod follow;
mod host;
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
use tokio::sync::{Semaphore, watch};

use crate::{Limits, errors::ApiError};

/// What every route can reach.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    host: Host,
    limits: Limits,
    followers: Arc<Semaphore>,
    stopped: watch::Receiver<bool>,
}

/// All routes.
pub(crate) fn router(host: Host, limits: Limits, stopped: watch::Receiver<bool>) -> Router {
    let followers = Arc::new(Semaphore::new(limits.followers));
    Router::new()
        .route("/v1/host", get(host::describe))
        .route("/v1/sessions", get(sessions::list).post(sessions::open))
        .route("/v1/sessions/{session}", get(sessions::show))
        .route("/v1/sessions/{session}/records", get(sessions::records))
        .route("/v1/sessions/{session}/items", get(sessions::items))
        .route("/v1/sessions/{session}/ops", post(ops::submit))
        .route("/v1/sessions/{session}/follow", get(follow::follow))
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
