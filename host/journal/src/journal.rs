//! The journal as the driver sees it: one way to write, and reads by subject. A second implementation on another store keeps
//! this trait.

use futures::future::BoxFuture;
use mainstay_protocol::{
    AcceptedOrdinal, Digest, ItemId, Ordinal, PluginName, SessionId, SubmissionId, TenantId,
    content::Item,
    op::Accepted,
    record::{NewRecord, StoredRecord},
};
use mainstay_session::QueuedMessage;

use crate::{
    Commit, CommitError, Committed, GenerationChange, GenerationRow, Metrics, OpenedSession, Page, Range, ReadError,
    SessionRow, SessionsQuery, Transition,
};

/// The owner of the host's own session. No client may act as this tenant.
pub fn host_tenant() -> TenantId {
    TenantId::new(".host").expect("a legal id")
}

/// The host's own session: plugin lifecycle, outside any conversation.
pub fn host_session() -> SessionId {
    SessionId::new(".host").expect("a legal id")
}

/// A store of sessions.
///
/// A write is queued when its future is first polled. Dropping the future then does not take the write back: whether it
/// became durable is in the journal.
pub trait Journal: Send + Sync {
    /// Makes a transition durable, or changes nothing. Order is promised for each session only.
    fn commit(&self, transition: Transition) -> BoxFuture<'_, Result<Committed<Commit>, CommitError>>;

    /// Appends to the host's own session and, in the same transaction, changes which builds are active.
    fn append_host_records(
        &self,
        records: Vec<NewRecord>,
        generations: Vec<GenerationChange>,
    ) -> BoxFuture<'_, Result<Committed<Vec<StoredRecord>>, CommitError>>;

    /// Sets a small value of the host outside any session; none removes it.
    fn set_global(&self, key: String, value: Option<Vec<u8>>) -> BoxFuture<'_, Result<(), CommitError>>;

    /// A session's state and queue; none when there is no such session.
    fn open_session<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<Committed<OpenedSession>>, ReadError>>;

    /// The sessions of a tenant, newest activity first.
    fn sessions<'a>(
        &'a self,
        tenant: &'a TenantId,
        query: SessionsQuery,
    ) -> BoxFuture<'a, Result<Page<SessionRow>, ReadError>>;

    /// The sessions of all tenants that are not idle, newest activity first: what a fresh host takes up.
    fn sessions_with_work(&self) -> BoxFuture<'_, Result<Vec<SessionRow>, ReadError>>;

    /// Records of a session; none in a session that does not exist.
    fn records<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        range: Range<Ordinal>,
    ) -> BoxFuture<'a, Result<Page<StoredRecord>, ReadError>>;

    /// Transcript items of a session, with their private parts.
    fn items<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        range: Range<ItemId>,
    ) -> BoxFuture<'a, Result<Page<Item>, ReadError>>;

    /// A message that waits.
    fn queued<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        accepted: AcceptedOrdinal,
    ) -> BoxFuture<'a, Result<Option<QueuedMessage>, ReadError>>;

    /// The digest of an accepted op, and the answer that it got (with `already` set).
    fn submission<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        submission: &'a SubmissionId,
    ) -> BoxFuture<'a, Result<Option<(Digest, Accepted)>, ReadError>>;

    /// A value of a plugin's session state.
    fn state_value<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        plugin: &'a PluginName,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, ReadError>>;

    /// The keys of a plugin's session state that begin with `prefix`, in order.
    fn state_keys<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        plugin: &'a PluginName,
        prefix: &'a str,
    ) -> BoxFuture<'a, Result<Vec<String>, ReadError>>;

    /// A small value of the host outside any session.
    fn global<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, ReadError>>;

    /// The active build of each plugin.
    fn generations(&self) -> BoxFuture<'_, Result<Vec<GenerationRow>, ReadError>>;

    /// The builds of a plugin that are or were active, newest first: what a rollback chooses from.
    fn generation_history<'a>(&'a self, plugin: &'a PluginName)
    -> BoxFuture<'a, Result<Vec<GenerationRow>, ReadError>>;

    /// Counts and timings since the journal was opened.
    fn metrics(&self) -> Metrics;
}
