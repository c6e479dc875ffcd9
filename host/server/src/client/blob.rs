//! Bytes that a session keeps, as they come.

use std::fmt;

use futures::{StreamExt, stream::BoxStream};
use http_body_util::BodyExt;
use hyper::{
    Response,
    body::{Bytes, Incoming},
    header,
};
use mainstay_protocol::blob::BlobInfo;

use super::ClientError;

/// A blob on its way.
pub struct Blob {
    /// What is known of it.
    pub info: BlobInfo,
    /// Its bytes, in order. They end with an error when not all of them came.
    pub pieces: BoxStream<'static, Result<Bytes, ClientError>>,
}

impl Blob {
    pub(super) fn of(response: Response<Incoming>) -> Result<Self, ClientError> {
        let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let media_type = text(header::CONTENT_TYPE).unwrap_or_default();
        let size = text(header::CONTENT_LENGTH).and_then(|length| length.parse().ok());
        let size = size.ok_or_else(|| ClientError::broken("the answer does not say how long it is"))?;
        let frames = response.into_body().into_data_stream();
        let pieces = frames.map(|piece| piece.map_err(ClientError::broken)).boxed();
        Ok(Self { info: BlobInfo { media_type, size }, pieces })
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blob").field("info", &self.info).finish_non_exhaustive()
    }
}
