//! The journal on SQLite: opening it, and each call's way to the writer or to a reader.

use std::{
    fmt,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::future::BoxFuture;
use mainstay_protocol::{
    AcceptedOrdinal, Digest, ItemId, Ordinal, PluginName, SessionId, SubmissionId, TenantId,
    content::Item,
    op::Accepted,
    record::{NewRecord, StoredRecord},
};
use mainstay_session::QueuedMessage;
use tokio::sync::oneshot;

use crate::{
    Commit, CommitError, Committed, GenerationChange, GenerationRow, Journal, Metrics, OpenError, OpenedSession, Page,
    Range, ReadError, SessionRow, SessionsQuery, Transition, Verdict,
    connection::{self, StoreFile},
    lock::{FolderLock, private_file, sync_folder},
    migrations,
    read::{self, Pool},
    verify,
    write::{AppendHostRecords, CommitTransition, Job, Lane, Prepared, SetGlobal},
    writer::Writer,
};

/// Called at named points of the writer: `journal.before-commit`, `journal.after-commit`, `journal.before-reply`. Tests kill the
/// process there.
pub type Probe = Arc<dyn Fn(&'static str) + Send + Sync>;

/// How to open a journal.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// Jobs that may wait for the writer; more make their callers wait.
    pub queue: NonZeroUsize,
    /// Jobs that one transaction may hold.
    pub group: NonZeroUsize,
    /// Connections that may read at once.
    pub readers: NonZeroUsize,
    /// Called at named points.
    pub probe: Option<Probe>,
    /// The SQLite file system to use instead of the platform's; it must have been registered. Tests inject faults with it.
    pub vfs: Option<&'static str>,
}

impl Default for Options {
    fn default() -> Self {
        let number = |number| NonZeroUsize::new(number).expect("not zero");
        Self { queue: number(1_024), group: number(128), readers: number(4), probe: None, vfs: None }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { queue, group, readers, probe, vfs } = self;
        let mut debug = f.debug_struct("Options");
        debug.field("queue", queue).field("group", group).field("readers", readers).field("vfs", vfs);
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
    /// Takes the folder, making it if need be, and opens its journal, bringing it to this build's format. Blocks; short.
    ///
    /// # Errors
    /// Another host has the folder, a newer build wrote the journal, or the file system refused.
    pub fn open(folder: &Path, options: Options) -> Result<Self, OpenError> {
        let lock = FolderLock::take(folder)?;
        let file = StoreFile::of(folder, options.vfs);
        // Made by us and not by SQLite, so that nobody else can read it; its companions inherit that.
        private_file(&file.path).map_err(OpenError::io("create the journal"))?;
        // Looked at before anything is written: what is not ours is left as it is.
        let reader = connection::open_reader(&file).map_err(OpenError::sqlite("open the journal"))?;
        migrations::check(&reader)?;
        drop(reader);
        let mut connection = connection::open_writer(&file).map_err(OpenError::sqlite("open the journal"))?;
        migrations::migrate(&mut connection)?;
        sync_folder(folder).map_err(OpenError::io("make the data folder durable"))?;
        let readers = Readers(Pool::new(file.clone(), options.readers.get()));
        let writer = Writer::start(file, connection, options)?;
        Ok(Self { readers, writer, folder: folder.to_owned(), _lock: lock })
    }

    /// The data folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Recomputes digests, chain and references of a session and reports all that is wrong; none when there is no such session.
    ///
    /// # Errors
    /// The store can't be read.
    pub async fn verify(&self, tenant: &TenantId, session: &SessionId) -> Result<Option<Verdict>, ReadError> {
        let lane = lane(tenant, session);
        self.readers.0.run(move |connection| verify::session(connection, &lane)).await
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

    fn records<'a>(
        &'a self,
        tenant: &'a TenantId,
        session: &'a SessionId,
        range: Range<Ordinal>,
    ) -> BoxFuture<'a, Result<Page<StoredRecord>, ReadError>> {
        let lane = lane(tenant, session);
        Box::pin(self.readers.0.run(move |connection| read::records(connection, &lane, &range)))
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

    fn metrics(&self) -> Metrics {
        self.writer.counters().read()
    }
}
