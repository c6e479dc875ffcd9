//! `GET /v1/sessions/{id}/blobs/{reference}`: bytes that a session keeps beside its items, in pieces, so that no blob is in memory as
//! a whole.

use std::io;

use axum::{
    body::Body,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use futures::{Stream, stream};
use mainstay_driver::Host;
use mainstay_protocol::{SessionId, blob::BlobReference};

use super::{Shared, extract::BlobPath, sessions::must_exist};
use crate::errors::ApiError;

pub(super) async fn fetch(
    State(shared): State<Shared>,
    BlobPath(session, blob): BlobPath,
) -> Result<Response, ApiError> {
    let Some(info) = shared.host.blob_info(&session, &blob).await? else {
        must_exist(&shared, &session).await?;
        let message = format!("the session keeps no blob by the reference `{blob}`");
        return Err(ApiError::new(StatusCode::NOT_FOUND, "unknown_blob", message));
    };
    // The bytes came from a plugin: whoever looks at them in a browser downloads them and runs none of them.
    let headers = [
        (header::CONTENT_TYPE, info.media_type),
        (header::CONTENT_LENGTH, info.size.to_string()),
        (header::CONTENT_DISPOSITION, "attachment".to_owned()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
    ];
    Ok((headers, Body::from_stream(pieces(shared.host, session, blob))).into_response())
}

/// The bytes in order. An error ends the connection early, which the client tells from the end by the length.
fn pieces(host: Host, session: SessionId, blob: BlobReference) -> impl Stream<Item = io::Result<Vec<u8>>> {
    stream::try_unfold((host, session, 0), move |(host, session, offset)| async move {
        let piece = host.blob_read(&session, &blob, offset).await.map_err(|error| {
            tracing::error!(%error, %session, %blob, "a blob could not be read");
            io::Error::other("the blob could not be read")
        })?;
        let piece = piece.ok_or_else(|| io::Error::other("the blob is gone"))?;
        let next = offset + piece.len() as u64;
        Ok(if piece.is_empty() { None } else { Some((piece, (host, session, next))) })
    })
}
