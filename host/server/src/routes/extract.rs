//! What routes take from a request, with errors of our own form.

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Path, Query, Request},
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE, request::Parts},
};
use mainstay_protocol::{
    PluginName, SessionId,
    blob::{BlobReference, InvalidBlobReference},
};
use serde::de::DeserializeOwned;

use super::Shared;
use crate::errors::ApiError;

/// Rows of a page unless the client says otherwise.
const DEFAULT_PAGE: usize = 100;
/// Rows of a page at most; more is cut to this.
const MAX_PAGE: usize = 1_000;

/// A JSON body.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Shared> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, shared: &Shared) -> Result<Self, ApiError> {
        // A browser can't send this type across origins without asking first: it keeps web pages out once there is TCP.
        if !is_json(request.headers()) {
            let message = "send JSON, with `content-type: application/json`";
            return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message));
        }
        let bytes = Bytes::from_request(request, shared).await.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => ApiError::too_large(shared.limits.body),
            _ => ApiError::bad_request("the body could not be read"),
        })?;
        let parsed = serde_json::from_slice(&bytes);
        parsed
            .map(Self)
            .map_err(|error| ApiError::bad_request(format!("the body is not what this route takes: {error}")))
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// The parameters after the `?`.
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<Shared> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, ApiError> {
        let query = Query::from_request_parts(parts, shared).await;
        query.map(|Query(params)| Self(params)).map_err(|rejection| ApiError::bad_request(rejection.body_text()))
    }
}

/// The session that the path names.
pub(super) struct SessionPath(pub(super) SessionId);

impl FromRequestParts<Shared> for SessionPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, ApiError> {
        named(parts, shared).await?.parse().map(Self).map_err(|error| illegal(&error))
    }
}

/// The session that the path names, and the reference to what it keeps.
pub(super) struct BlobPath(pub(super) SessionId, pub(super) BlobReference);

impl FromRequestParts<Shared> for BlobPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, ApiError> {
        let path = Path::<(String, String)>::from_request_parts(parts, shared).await;
        let Path((session, blob)) = path.map_err(|_| ApiError::bad_request("the path is not UTF-8"))?;
        let blob = blob.parse().map_err(|error: InvalidBlobReference| ApiError::bad_request(error.to_string()))?;
        Ok(Self(session.parse().map_err(|error| illegal(&error))?, blob))
    }
}

/// The plugin that the path names.
pub(super) struct PluginPath(pub(super) PluginName);

impl FromRequestParts<Shared> for PluginPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, ApiError> {
        named(parts, shared).await?.parse().map(Self).map_err(|error| illegal(&error))
    }
}

async fn named(parts: &mut Parts, shared: &Shared) -> Result<String, ApiError> {
    let path = Path::<String>::from_request_parts(parts, shared).await;
    path.map(|Path(name)| name).map_err(|_| ApiError::bad_request("the path is not UTF-8"))
}

fn illegal(error: &mainstay_protocol::InvalidId) -> ApiError {
    ApiError::bad_request(error.to_string())
}

/// The rows that a page may have.
pub(super) fn page_limit(asked: Option<usize>) -> Result<usize, ApiError> {
    match asked {
        Some(0) => Err(ApiError::bad_request(format!("`limit` is at least 1, and at most {MAX_PAGE}"))),
        asked => Ok(asked.unwrap_or(DEFAULT_PAGE).min(MAX_PAGE)),
    }
}
