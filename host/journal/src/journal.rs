//! The journal as the driver sees it: one way to write, and reads by subject. A second implementation on another store keeps
//! this trait.

use futures::future::BoxFuture;
use mainstay_protocol::{
    AcceptedOrdinal, Digest, ItemId, Ordinal, PluginName, SessionId, SubmissionId, TenantId, Timestamp,
    blob::{BlobInfo, BlobReference},
    content::Item,
    cursor::Cursor,
    op::Accepted,
    record::{NewRecord, StoredRecord},
};
use mainstay_session::QueuedMessage;

use crate::{
    Commit, CommitError, Committed, Execution, FeedFilter, FeedPage, FeedQuery, FeedSubscription, GenerationChange,
    GenerationRow, Metrics, OpenedSession, Page, Range, ReadError, Replay, SessionRow, SessionsQuery, Transition,
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

    /// Forgets a session: from the answer on nobody finds it, and nothing revives it but a backup from before. Forgetting it again
    /// changes nothing; a session that never was is [`CommitError::UnknownSession`], and the host's own is never forgotten. Its rows
    /// are removed after the answer, in pieces between other work, and at the next start where the host ended before. What is
    /// removed is not wiped: the file's pages are used again in time, and a `VACUUM` or a later backup holds nothing of it.
    fn forget<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        at: Timestamp,
    ) -> BoxFuture<'a, Result<Committed<()>, CommitError>>;

    /// Sets a small value of the host outside any session; none removes it.
    fn set_global(&self, key: String, value: Option<Vec<u8>>) -> BoxFuture<'_, Result<(), CommitError>>;

    /// A session's state and queue; none when there never was such a session.
    ///
    /// A session that was forgotten is [`ReadError::Gone`].
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

    /// The sessions of all tenants in which an owned operation runs, newest activity first: what a fresh host recovers.
    fn sessions_with_operations(&self) -> BoxFuture<'_, Result<Vec<SessionRow>, ReadError>>;

    /// Records of a session; none in a session that does not exist. This and the reads below are [`ReadError::Gone`] in one that was
    /// forgotten.
    fn records<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        range: Range<Ordinal>,
    ) -> BoxFuture<'a, Result<Page<StoredRecord>, ReadError>>;

    /// Turns of a session, by their number from 1.
    fn executions<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        range: Range<u64>,
    ) -> BoxFuture<'a, Result<Page<Execution>, ReadError>>;

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

    /// What is known of a blob that a session keeps ([`Transition::blobs`]); none when it keeps none by this reference, whoever else
    /// does.
    fn blob_info<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        blob: &'a BlobReference,
    ) -> BoxFuture<'a, Result<Option<BlobInfo>, ReadError>>;

    /// Bytes of a blob that a session keeps, from `offset`: at most `max` of them and at most 1 MiB, empty at or past the end;
    /// none when it keeps none by this reference.
    fn blob_read<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        blob: &'a BlobReference,
        offset: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, ReadError>>;

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

    /// The active build of each plugin; those whose row is damaged are left out, and the log says so.
    fn generations(&self) -> BoxFuture<'_, Result<Vec<GenerationRow>, ReadError>>;

    /// The builds of a plugin that are or were active, newest first: what a rollback chooses from. All of them, or an error.
    fn generation_history<'a>(&'a self, plugin: &'a PluginName)
    -> BoxFuture<'a, Result<Vec<GenerationRow>, ReadError>>;

    /// A page of the feed, oldest first.
    fn feed(&self, query: FeedQuery) -> BoxFuture<'_, Result<FeedPage, ReadError>>;

    /// The place before the first event of the feed.
    fn feed_start(&self) -> Cursor;

    /// Follows the feed from a place on, or from now. What it delivers is durable, in order, and comes once; it never slows the
    /// writer. It ends when the journal is closed.
    fn subscribe(&self, filter: FeedFilter, after: Option<Cursor>) -> FeedSubscription;

    /// The last `batches` batches of a session: none for 0, and no more than [`MAX_PAGE`](crate::MAX_PAGE). Its history before them is
    /// not read.
    fn replay<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        batches: u32,
    ) -> BoxFuture<'a, Result<Replay, ReadError>>;

    /// Counts and timings since the journal was opened.
    fn metrics(&self) -> Metrics;
}
