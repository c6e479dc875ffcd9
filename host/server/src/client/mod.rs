//! The client of the control socket: one method for each route, typed both ways. The command line is built on it, so that it
//! works the same whether the host runs in its own process or in another one.

mod blob;
mod connection;
mod error;
mod feed;
mod sse;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use futures::{StreamExt, stream::BoxStream};
use hyper::Method;
use mainstay_protocol::{ItemId, Ordinal, PluginName, SessionId, SubmissionId, blob::BlobReference};
use serde::{Serialize, de::DeserializeOwned};

use crate::wire::v1::{
    Accepted, Event, ForgottenSession, HostInfo, ItemPage, JournalStats, Op, OpRequest, OpenRequest, OpenedSession,
    PluginList, PluginView, RecordPage, SessionPage, SessionView, SwapRequest, SwapView,
};
pub use blob::Blob;
use connection::Request;
pub use error::ClientError;
pub use feed::FeedEvents;

/// How long a host may take to say that it is there.
const HELLO: Duration = Duration::from_secs(5);
/// How long an ordinary answer may take.
const ANSWER: Duration = Duration::from_secs(60);
/// How long a swap may take: it compiles.
const SWAP: Duration = Duration::from_secs(600);

/// The events of a session.
pub type Events = BoxStream<'static, Result<Event, ClientError>>;

/// A client. Each request has a connection of its own; cloning is cheap.
#[derive(Clone, Debug)]
pub struct Client {
    socket: PathBuf,
}

impl Client {
    /// A client of the host that listens on a socket. Nothing is connected yet.
    pub fn new(socket: PathBuf) -> Self {
        Self { socket }
    }

    /// The socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Who answers.
    ///
    /// # Errors
    /// Nobody does, or not in time.
    pub async fn host(&self) -> Result<HostInfo, ClientError> {
        self.get("/v1/host", HELLO).await
    }

    /// The sessions, newest activity first, and what to pass as `before` for the next page.
    ///
    /// # Errors
    /// The host can't be reached, or can't read them.
    pub async fn sessions(&self, limit: usize, before: Option<&str>) -> Result<SessionPage, ClientError> {
        let before = before.map(|before| format!("&before={}", encode(before))).unwrap_or_default();
        self.get(&format!("/v1/sessions?limit={limit}{before}"), ANSWER).await
    }

    /// Opens a session, or creates it.
    ///
    /// # Errors
    /// The session or the route does not exist, or the host can't be reached.
    pub async fn open_session(&self, request: &OpenRequest) -> Result<OpenedSession, ClientError> {
        self.post("/v1/sessions", request, ANSWER).await
    }

    /// A session as it stands.
    ///
    /// # Errors
    /// There is none, or the host can't be reached.
    pub async fn session(&self, session: &SessionId) -> Result<SessionView, ClientError> {
        self.get(&format!("/v1/sessions/{session}"), ANSWER).await
    }

    /// Forgets a session for good.
    ///
    /// # Errors
    /// There is none, it was forgotten before, a turn of it runs, or the host can't be reached.
    pub async fn forget_session(&self, session: &SessionId) -> Result<ForgottenSession, ClientError> {
        let request = Request { method: Method::DELETE, ..Request::get(&format!("/v1/sessions/{session}")) };
        connection::exchange(&self.socket, request, ANSWER).await
    }

    /// How the journal's writer does.
    ///
    /// # Errors
    /// The host can't be reached.
    pub async fn journal_stats(&self) -> Result<JournalStats, ClientError> {
        self.get("/v1/journal/stats", ANSWER).await
    }

    /// Records of a session, oldest first.
    ///
    /// # Errors
    /// There is no such session, or the host can't be reached.
    pub async fn records(&self, session: &SessionId, after: Ordinal, limit: usize) -> Result<RecordPage, ClientError> {
        self.get(&format!("/v1/sessions/{session}/records?after={after}&limit={limit}"), ANSWER).await
    }

    /// The last records of a session, newest first: those before an ordinal, or from the end.
    ///
    /// # Errors
    /// There is no such session, or the host can't be reached.
    pub async fn records_before(
        &self,
        session: &SessionId,
        before: Option<Ordinal>,
        limit: usize,
    ) -> Result<RecordPage, ClientError> {
        let before = before.map(|before| format!("&before={before}")).unwrap_or_default();
        self.get(&format!("/v1/sessions/{session}/records?direction=backward{before}&limit={limit}"), ANSWER).await
    }

    /// Items of a session, oldest first.
    ///
    /// # Errors
    /// There is no such session, or the host can't be reached.
    pub async fn items(&self, session: &SessionId, after: ItemId, limit: usize) -> Result<ItemPage, ClientError> {
        self.get(&format!("/v1/sessions/{session}/items?after={after}&limit={limit}"), ANSWER).await
    }

    /// Asks something of a session. When this returns, what was accepted is durable.
    ///
    /// # Errors
    /// The session refused it ([`ClientError::Refused`]), or the host can't be reached; then it may have been accepted, and
    /// asking again with the same submission id is safe.
    pub async fn op(
        &self,
        session: &SessionId,
        submission: Option<SubmissionId>,
        op: Op,
    ) -> Result<Accepted, ClientError> {
        self.post(&format!("/v1/sessions/{session}/ops"), &OpRequest { submission, op }, ANSWER).await
    }

    /// Follows a session: from a record on, or from now.
    ///
    /// # Errors
    /// There is no such session, or the host can't be reached.
    pub async fn follow(&self, session: &SessionId, after: Option<Ordinal>) -> Result<Events, ClientError> {
        let after = after.map(|after| format!("?after={after}")).unwrap_or_default();
        let request = Request::get(&format!("/v1/sessions/{session}/follow{after}"));
        let body = connection::stream(&self.socket, request, ANSWER).await?;
        Ok(sse::events(body).boxed())
    }

    /// Bytes that a session keeps beside its items, such as the whole output of a tool.
    ///
    /// # Errors
    /// There is no such session, it keeps no such blob, or the host can't be reached.
    pub async fn blob(&self, session: &SessionId, blob: &BlobReference) -> Result<Blob, ClientError> {
        let request = Request::get(&format!("/v1/sessions/{session}/blobs/{blob}"));
        Blob::of(connection::open(&self.socket, request, ANSWER).await?)
    }

    /// Follows a session from the last `batches` batches on, each of them what became durable at once.
    ///
    /// # Errors
    /// There is no such session, or the host can't be reached.
    pub async fn follow_replaying(&self, session: &SessionId, batches: u32) -> Result<Events, ClientError> {
        let request = Request::get(&format!("/v1/sessions/{session}/follow?replay={batches}"));
        let body = connection::stream(&self.socket, request, ANSWER).await?;
        Ok(sse::events(body).boxed())
    }

    /// The active plugins.
    ///
    /// # Errors
    /// The host can't be reached.
    pub async fn plugins(&self) -> Result<Vec<PluginView>, ClientError> {
        self.get::<PluginList>("/v1/plugins", ANSWER).await.map(|list| list.plugins)
    }

    /// Puts another build in a plugin's place. The path is absolute, on the host's machine.
    ///
    /// # Errors
    /// The build was refused, and what was active stays; or the host can't be reached.
    pub async fn swap(&self, plugin: &PluginName, package: &Path) -> Result<SwapView, ClientError> {
        let path = package.to_str().ok_or_else(|| ClientError::broken("the package's path is not UTF-8"))?.to_owned();
        self.post(&format!("/v1/plugins/{plugin}/swap"), &SwapRequest { path }, SWAP).await
    }

    async fn get<T: DeserializeOwned>(&self, target: &str, time: Duration) -> Result<T, ClientError> {
        connection::exchange(&self.socket, Request::get(target), time).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        target: &str,
        body: &impl Serialize,
        time: Duration,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).expect("requests hold nothing that JSON can't");
        let request = Request { method: Method::POST, target: target.to_owned(), body };
        connection::exchange(&self.socket, request, time).await
    }
}

/// Percent-encodes a value of a query.
fn encode(text: &str) -> String {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let encoded =
        text.bytes().map(|byte| if unreserved(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") });
    encoded.collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn query_values_are_encoded() {
        assert_eq!(super::encode("a-1_.~ &=é"), "a-1_.~%20%26%3D%C3%A9");
    }
}
