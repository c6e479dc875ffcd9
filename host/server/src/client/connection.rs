//! One request over one connection. The socket is local: a connection costs microseconds, and none is left half-used.

use std::{path::Path, time::Duration};

use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    Method, Response,
    body::{Bytes, Incoming},
    client::conn::http1,
    header,
};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::{net::UnixStream, time};

use super::ClientError;

/// Bytes of an answer that is held in memory.
const MAX_ANSWER: usize = 256 << 20;

/// What is asked.
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) target: String,
    /// JSON text; empty for none.
    pub(super) body: Vec<u8>,
}

impl Request {
    pub(super) fn get(target: &str) -> Self {
        Self { method: Method::GET, target: target.to_owned(), body: Vec::new() }
    }
}

/// Sends a request and reads the whole answer.
pub(super) async fn exchange<T: DeserializeOwned>(
    socket: &Path,
    request: Request,
    allowed: Duration,
) -> Result<T, ClientError> {
    within(allowed, async {
        let response = send(socket, request).await?;
        let status = response.status();
        let body = read_all(response).await?;
        if !status.is_success() {
            return Err(ClientError::answered(status.as_u16(), &body));
        }
        serde_json::from_slice(&body).map_err(|error| ClientError::Broken(format!("the answer can't be read: {error}")))
    })
    .await
}

/// Sends a request and returns the body of the answer as it comes. Only the beginning has to come in time.
pub(super) async fn stream(socket: &Path, request: Request, allowed: Duration) -> Result<Incoming, ClientError> {
    open(socket, request, allowed).await.map(Response::into_body)
}

/// The same, with the headers of the answer.
pub(super) async fn open(
    socket: &Path,
    request: Request,
    allowed: Duration,
) -> Result<Response<Incoming>, ClientError> {
    within(allowed, async {
        let response = send(socket, request).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        Err(ClientError::answered(status.as_u16(), &read_all(response).await?))
    })
    .await
}

async fn within<T>(allowed: Duration, work: impl Future<Output = Result<T, ClientError>>) -> Result<T, ClientError> {
    time::timeout(allowed, work).await.unwrap_or(Err(ClientError::TimedOut(allowed.as_secs())))
}

async fn send(socket: &Path, request: Request) -> Result<Response<Incoming>, ClientError> {
    let stream = UnixStream::connect(socket).await.map_err(ClientError::Unreachable)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(ClientError::broken)?;
    // It ends by itself: when the answer is read, or when the one who reads it is gone.
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to the host ended early");
        }
    });
    let mut built = hyper::Request::builder()
        .method(request.method)
        .uri(request.target)
        .header(header::HOST, "mainstay")
        .header(header::CONNECTION, "close");
    if !request.body.is_empty() {
        built = built.header(header::CONTENT_TYPE, "application/json");
    }
    let built = built.body(Full::new(Bytes::from(request.body))).map_err(ClientError::broken)?;
    sender.send_request(built).await.map_err(ClientError::broken)
}

async fn read_all(response: Response<Incoming>) -> Result<Bytes, ClientError> {
    let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
    body.map(http_body_util::Collected::to_bytes).map_err(ClientError::broken)
}
