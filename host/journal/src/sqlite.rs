//! The journal on SQLite: opening it, and each call's way to the writer or to a reader.

use std::{
    fmt,
    num::{NonZeroU64, NonZeroUsize},
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::future::BoxFuture;
use mainstay_protocol::{
    AcceptedOrdinal, Digest, ItemId, Ordinal, PluginName, Seq, SessionId, SubmissionId, TenantId, Timestamp,
    blob::{BlobInfo, BlobReference},
    content::Item,
    cursor::Cursor,
    op::Accepted,
    record::{NewRecord, StoredRecord},
};
use mainstay_session::QueuedMessage;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::{
    Commit, CommitError, Committed, Execution, FeedFilter, FeedPage, FeedQuery, FeedSubscription, GenerationChange,
    GenerationRow, Journal, Metrics, OpenError, OpenedSession, Page, Range, ReadError, Replay, SessionRow,
    SessionsQuery, Transition,
    connection::{self, StoreFile},
    emptied,
    feed::Live,
    lease,
    lock::{FolderLock, private_file, sync_folder},
    log_file, migrations,
    read::{self, Pool},
    restore, verify,
    write::{AppendHostRecords, CommitTransition, Forget, Job, Lane, Prepared, SetGlobal},
    writer::{Reserve, Writer},
};

/// Called at named points of the writer: `journal.before-commit`, `journal.after-commit`, `journal.before-reply`, and
/// `journal.reserve-spent` after the disk reserve was given up. Tests kill the process there.
/// `journal.log-renewed` when opening wrote the log of an earlier host anew.
pub type Probe = Arc<dyn Fn(&'static str) + Send + Sync>;

/// How to open a journal.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// Jobs that may wait for the writer; more make their callers wait.
    pub queue: NonZeroUsize,
    /// Jobs of one session that may wait there; more make their callers wait, and leave the queue to other sessions.
    pub lane: NonZeroUsize,
    /// Jobs that one transaction may hold.
    pub group: NonZeroUsize,
    /// Connections that may read at once.
    pub readers: NonZeroUsize,
    /// Bytes on the disk that are kept so that what must end can be written when the disk is full.
    pub reserve: NonZeroU64,
    /// Bytes to which the write-ahead log may grow while a reader keeps it from being moved into the database. One group may still go
    /// beyond; after it only what must end is written.
    pub log: NonZeroU64,
    /// How far a follower of the feed may be behind before it has to read the journal, in commits; large ones count as several.
    pub feed_buffer: NonZeroUsize,
    /// Called at named points.
    pub probe: Option<Probe>,
    /// The SQLite file system to use instead of the platform's; it must have been registered. Tests inject faults with it.
    pub vfs: Option<&'static str>,
}

impl Default for Options {
    fn default() -> Self {
        let number = |number| NonZeroUsize::new(number).expect("not zero");
        let bytes = |number| NonZeroU64::new(number).expect("not zero");
        Self {
            queue: number(1_024),
            lane: number(32),
            group: number(128),
            readers: number(4),
            reserve: bytes(4 << 20),
            log: bytes(256 << 20),
            feed_buffer: number(256),
            probe: None,
            vfs: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { queue, lane, group, readers, reserve, log, feed_buffer, probe, vfs } = self;
        let mut debug = f.debug_struct("Options");
        debug.field("queue", queue).field("lane", lane).field("group", group).field("readers", readers);
        debug.field("reserve", reserve).field("log", log).field("feed_buffer", feed_buffer).field("vfs", vfs);
        debug.field("probe", &probe.as_ref().map(|_| "..")).finish()
    }
}

/// A journal in a data folder, which it holds for as long as it lives. Reads and writes need a tokio runtime; dropping it
/// waits until all that was queued is durable.
#[derive(Debug)]
pub struct SqliteJournal {
    // In the order in which they are dropped: readers go first, so that the writer is the last to close and empties the log,
    // and the folder is let go at the end.
    readers: Readers,
    writer: Writer,
    feed: Arc<Live>,
    folder: PathBuf,
    _lock: FolderLock,
}

#[derive(Debug)]
struct Readers(Pool);

impl Drop for Readers {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl SqliteJournal {
    /// Takes the folder, making it if need be, and opens its journal, bringing it to this build's format: before a step that older
    /// builds can't follow, a copy is kept beside it (`journal.sqlite.format-1`), which takes as much room. Blocks; short otherwise.
    ///
    /// # Errors
    /// Another host has the folder, a newer build wrote the journal, its file has lost what was in it, or the file system refused.
    pub fn open(folder: &Path, options: Options) -> Result<Self, OpenError> {
        let mut lock = FolderLock::take(folder)?;
        restore::finish_pending(folder)?;
        emptied::refuse(folder, &mut lock)?;
        let file = StoreFile::of(folder, options.vfs);
        let mut reserve = Reserve::find(folder, options.reserve.get());
        let (connection, epoch) = match open_store(folder, &file, options.probe.as_ref()) {
            // What must end can then be ended, and people can look at the rest.
            Err(OpenError::DiskFull) if reserve.give_up() => open_store(folder, &file, options.probe.as_ref())?,
            opened => opened?,
        };
        if let Err(error) = lock.note_journal(true) {
            tracing::warn!(%error, "could not note in the lock file that there is a journal");
        }
        let readers = Readers(Pool::new(file.clone(), options.readers.get()));
        let latest = read::latest(&connection).map_err(OpenError::reading("read the end of the feed"))?;
        let feed = Arc::new(Live::new(latest, options.feed_buffer));
        let writer = Writer::start(file, epoch, connection, reserve, feed.clone(), options)?;
        Ok(Self { readers, writer, feed, folder: folder.to_owned(), _lock: lock })
    }

    /// The data folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Recomputes digests, chain and references of a session and reports all that is wrong; none when there is no such session.
    ///
    /// # Errors
    /// The store can't be read.
    pub async fn verify(&self, tenant: &TenantId, session: &SessionId) -> Result<Option<verify::Report>, ReadError> {
        let lane = lane(tenant, session);
        self.readers
            .0
            .run(move |connection| verify::one(connection, &lane, verify::Depth::Full, migrations::FORMAT, &mut |_| {}))
            .await
    }

    pub(crate) async fn write<T, J>(
        &self,
        make: impl FnOnce(oneshot::Sender<Result<T, CommitError>>) -> Result<J, CommitError>,
    ) -> Result<T, CommitError>
    where
        J: Job + 'static,
    {
        let (reply, answer) = oneshot::channel();
        self.writer.submit(Box::new(make(reply)?)).await?;
        answer.await.unwrap_or(Err(CommitError::Closed))
    }
}

/// The connection that writes, on a store of this build's format, and the epoch of its lease.
fn open_store(folder: &Path, file: &StoreFile, probe: Option<&Probe>) -> Result<(Connection, i64), OpenError> {
    // Made by us and not by SQLite, so that nobody else can read it; its companions inherit that.
    private_file(&file.path).map_err(OpenError::io("create the journal"))?;
    // Looked at before anything is written: what is not ours is left as it is.
    look_at(file)?;
    let mut connection = connection::open_writer(file).map_err(OpenError::sqlite("open the journal"))?;
    if log_file::renew(&connection, &file.path)?
        && let Some(probe) = probe
    {
        probe("journal.log-renewed");
    }
    migrations::migrate(&mut connection, &file.path)?;
    sync_folder(folder).map_err(OpenError::io("make the data folder durable"))?;
    let epoch = lease::take(&connection).map_err(OpenError::sqlite("take the journal's lease"))?;
    Ok((connection, epoch))
}

/// Refuses a store that this build must not use. Nothing is written, unless a host was cut off before the journal had its
/// write-ahead log: then its rollback journal is applied first, as any opening would.
fn look_at(file: &StoreFile) -> Result<(), OpenError> {
    let reader = connection::open_reader(file).map_err(OpenError::sqlite("open the journal"))?;
    match migrations::check(&reader) {
        Err(OpenError::Sqlite { code: rusqlite::ffi::SQLITE_READONLY_ROLLBACK, .. }) => {
            drop(reader);
            migrations::check(&connection::open_to_roll_back(file).map_err(OpenError::sqlite("open the journal"))?)
        }
        checked => checked,
    }
}

fn lane(tenant: &TenantId, session: &SessionId) -> Lane {
    Lane { tenant: tenant.clone(), session: session.clone() }
}

impl Journal for SqliteJournal {
    fn commit(&self, transition: Transition) -> BoxFuture<'_, Result<Committed<Commit>, CommitError>> {
        Box::pin(self.write(|reply| Ok(CommitTransition::new(Prepared::new(transition)?, reply))))
    }

    fn append_host_records(
        &self,
        records: Vec<NewRecord>,
        generations: Vec<GenerationChange>,
    ) -> BoxFuture<'_, Result<Committed<Vec<StoredRecord>>, CommitError>> {
        Box::pin(self.write(|reply| AppendHostRecords::new(records, generations, reply)))
    }

    fn forget<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        at: Timestamp,
    ) -> BoxFuture<'a, Result<Committed<()>, CommitError>> {
        let lane = lane(tenant, session);
        Box::pin(self.write(move |reply| Ok(Forget::new(lane, at, reply))))
    }

    fn set_global(&self, key: String, value: Option<Vec<u8>>) -> BoxFuture<'_, Result<(), CommitError>> {
        Box::pin(self.write(|reply| Ok(SetGlobal { key, value, reply })))
    }

    fn open_session<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<Committed<OpenedSession>>, ReadError>> {
        let lane = lane(tenant, session);
        Box::pin(self.readers.0.run(move |connection| read::open_session(connection, &lane)))
    }

    fn sessions<'a>(
        &'a self,
        tenant: &'a TenantId,
        query: SessionsQuery,
    ) -> BoxFuture<'a, Result<Page<SessionRow>, ReadError>> {
        let tenant = tenant.clone();
        Box::pin(self.readers.0.run(move |connection| read::sessions(connection, &tenant, query)))
    }

    fn sessions_with_work(&self) -> BoxFuture<'_, Result<Vec<SessionRow>, ReadError>> {
        Box::pin(self.readers.0.run(read::sessions_with_work))
    }

    fn sessions_with_operations(&self) -> BoxFuture<'_, Result<Vec<SessionRow>, ReadError>> {
        Box::pin(self.readers.0.run(read::sessions_with_operations))
    }

    fn records<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        range: Range<Ordinal>,
    ) -> BoxFuture<'a, Result<Page<StoredRecord>, ReadError>> {
        let lane = lane(tenant, session);
        Box::pin(self.readers.0.run(move |connection| read::records(connection, &lane, &range)))
    }

    fn executions<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        range: Range<u64>,
    ) -> BoxFuture<'a, Result<Page<Execution>, ReadError>> {
        let lane = lane(tenant, session);
        Box::pin(self.readers.0.run(move |connection| read::executions(connection, &lane, &range)))
    }

    fn items<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        range: Range<ItemId>,
    ) -> BoxFuture<'a, Result<Page<Item>, ReadError>> {
        let lane = lane(tenant, session);
        Box::pin(self.readers.0.run(move |connection| read::items(connection, &lane, &range)))
    }

    fn queued<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        accepted: AcceptedOrdinal,
    ) -> BoxFuture<'a, Result<Option<QueuedMessage>, ReadError>> {
        let lane = lane(tenant, session);
        Box::pin(self.readers.0.run(move |connection| read::queued(connection, &lane, accepted)))
    }

    fn blob_info<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        blob: &'a BlobReference,
    ) -> BoxFuture<'a, Result<Option<BlobInfo>, ReadError>> {
        let (lane, blob) = (lane(tenant, session), *blob);
        Box::pin(self.readers.0.run(move |connection| read::blob_info(connection, &lane, &blob)))
    }

    fn blob_read<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        blob: &'a BlobReference,
        offset: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, ReadError>> {
        let (lane, blob) = (lane(tenant, session), *blob);
        Box::pin(self.readers.0.run(move |connection| read::blob_read(connection, &lane, &blob, offset, max)))
    }

    fn submission<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        submission: &'a SubmissionId,
    ) -> BoxFuture<'a, Result<Option<(Digest, Accepted)>, ReadError>> {
        let (lane, submission) = (lane(tenant, session), submission.clone());
        Box::pin(self.readers.0.run(move |connection| read::submission(connection, &lane, &submission)))
    }

    fn state_value<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        plugin: &'a PluginName,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, ReadError>> {
        let (lane, plugin, key) = (lane(tenant, session), plugin.clone(), key.to_owned());
        Box::pin(self.readers.0.run(move |connection| read::state_value(connection, &lane, &plugin, &key)))
    }

    fn state_keys<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        plugin: &'a PluginName,
        prefix: &'a str,
    ) -> BoxFuture<'a, Result<Vec<String>, ReadError>> {
        let (lane, plugin, prefix) = (lane(tenant, session), plugin.clone(), prefix.to_owned());
        Box::pin(self.readers.0.run(move |connection| read::state_keys(connection, &lane, &plugin, &prefix)))
    }

    fn global<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, ReadError>> {
        let key = key.to_owned();
        Box::pin(self.readers.0.run(move |connection| read::global(connection, &key)))
    }

    fn generations(&self) -> BoxFuture<'_, Result<Vec<GenerationRow>, ReadError>> {
        Box::pin(self.readers.0.run(read::generations))
    }

    fn generation_history<'a>(
        &'a self,
        plugin: &'a PluginName,
    ) -> BoxFuture<'a, Result<Vec<GenerationRow>, ReadError>> {
        let plugin = plugin.clone();
        Box::pin(self.readers.0.run(move |connection| read::generation_history(connection, &plugin)))
    }

    fn feed(&self, query: FeedQuery) -> BoxFuture<'_, Result<FeedPage, ReadError>> {
        let FeedQuery { filter, after, limit } = query;
        Box::pin(self.readers.0.run(move |connection| read::feed(connection, &filter, after, limit)))
    }

    fn feed_start(&self) -> Cursor {
        Cursor { seq: Seq(0), check: Default::default(), ..self.feed.latest() }
    }

    fn subscribe(&self, filter: FeedFilter, after: Option<Cursor>) -> FeedSubscription {
        FeedSubscription::new(self.readers.0.clone(), &self.feed, filter, after)
    }

    fn replay<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        batches: u32,
    ) -> BoxFuture<'a, Result<Replay, ReadError>> {
        Box::pin(Replay::find(self.readers.0.clone(), lane(tenant, session), batches))
    }

    fn metrics(&self) -> Metrics {
        self.writer.metrics()
    }
}
