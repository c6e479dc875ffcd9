//! The one thread that writes. It takes what waits, commits it as one group (one transaction, one fsync), and then answers.
//! A group that fails as a whole is tried again job by job, so that one bad job spoils no other.

mod backlog;
mod transaction;
#[cfg(test)]
mod scratch;

use std::{
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering::Relaxed},
    },
    thread,
    time::Instant,
};

use rusqlite::{Connection, ErrorCode};
use tokio::sync::mpsc;

use self::{
    backlog::Backlog,
    transaction::{Entry, Stamp},
};
use crate::{
    CommitError, OpenError, Options, Probe,
    connection::{self, StoreFile},
    errors::code_of,
    lease,
    metrics::Counters,
    write::Job,
};

/// Pages that the log may grow by before it is moved into the database, after the writer has answered.
const CHECKPOINT_EVERY: i32 = 1_000;
/// A log of this many pages is moved even if the writer has to wait for readers: it must not grow without bound.
const CHECKPOINT_HARD: i32 = 32_000;

/// The way to the writer's thread. The thread ends when the last of these is gone and all that waits is done.
#[derive(Debug)]
pub(crate) struct Writer {
    jobs: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<thread::JoinHandle<()>>,
    counters: Arc<Counters>,
}

impl Writer {
    /// Takes the lease and starts the thread.
    pub(crate) fn start(file: StoreFile, connection: Connection, options: Options) -> Result<Self, OpenError> {
        let epoch = lease::take(&connection).map_err(OpenError::sqlite("take the journal's lease"))?;
        let counters = Arc::new(Counters::default());
        let (jobs, waiting) = mpsc::channel(options.queue.get());
        let mut state = Thread {
            store: Store {
                file,
                epoch,
                connection: None,
                log_pages: Arc::default(),
                checkpointed: 0,
                counters: counters.clone(),
            },
            waiting,
            backlog: Backlog::default(),
            largest_group: options.group.get(),
            probe: options.probe,
            counters: counters.clone(),
        };
        state.store.adopt(connection).map_err(OpenError::sqlite("watch the journal's log"))?;
        let thread = thread::Builder::new()
            .name("mainstay-journal".into())
            .spawn(move || state.run())
            .map_err(OpenError::io("start the journal's thread"))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), counters })
    }

    /// Queues a job; waits while the queue is full.
    pub(crate) async fn submit(&self, job: Box<dyn Job>) -> Result<(), CommitError> {
        let jobs = self.jobs.as_ref().ok_or(CommitError::Closed)?;
        jobs.send(job).await.map_err(|_| CommitError::Closed)
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }
}

/// Everything that was queued is still done; then the store is closed. The folder's lock must outlive this.
impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the journal's thread panicked; what it had acknowledged is durable");
        }
    }
}

struct Thread {
    store: Store,
    waiting: mpsc::Receiver<Box<dyn Job>>,
    backlog: Backlog,
    largest_group: usize,
    probe: Option<Probe>,
    counters: Arc<Counters>,
}

impl Thread {
    fn run(mut self) {
        while self.fill() {
            let mut group = self.backlog.take_group(self.largest_group);
            if std::env::var_os("SIZES").is_some() { eprint!("{} ", group.len()); }
            self.commit(&mut group);
            self.probe("journal.before-reply");
            for entry in group {
                self.answer(entry);
            }
            self.store.checkpoint();
        }
        self.store.close();
    }

    /// Takes over all that waits, and waits itself when there is nothing; false when nothing will ever come.
    fn fill(&mut self) -> bool {
        if self.backlog.is_empty() {
            match self.waiting.blocking_recv() {
                Some(job) => self.backlog.push(job),
                None => return false,
            }
        }
        // The backlog is bounded too: past a few groups, callers wait in the queue.
        while self.backlog.len() < 4 * self.largest_group
            && let Ok(job) = self.waiting.try_recv()
        {
            self.backlog.push(job);
        }
        true
    }

    fn commit(&mut self, group: &mut [Entry]) {
        let Err(error) = self.transact(group) else {
            return;
        };
        tracing::warn!(%error, jobs = group.len(), "a group of the journal failed; its jobs are tried one by one");
        self.counters.retried_groups.fetch_add(1, Relaxed);
        for entry in group {
            if let Err(error) = self.transact(std::slice::from_mut(entry)) {
                entry.outcome = Some(Err(CommitError::of(&error)));
            }
        }
    }

    fn transact(&mut self, group: &mut [Entry]) -> rusqlite::Result<()> {
        let started = Instant::now();
        let epoch = self.store.epoch;
        let connection = self.store.connection()?;
        let probe = |point| {
            if let Some(probe) = &self.probe {
                probe(point);
            }
        };
        match transaction::run(connection, epoch, group, &probe) {
            Ok(Some(Stamp { jobs, sync })) => self.counters.committed(jobs, started.elapsed(), sync),
            Ok(None) => {}
            Err(error) => {
                self.store.recover(&error);
                return Err(error);
            }
        }
        Ok(())
    }

    fn answer(&self, entry: Entry) {
        let outcome = entry.outcome.unwrap_or(Err(CommitError::Closed));
        if outcome.is_err() {
            self.counters.failed_jobs.fetch_add(1, Relaxed);
        }
        entry.job.answer(outcome);
    }

    fn probe(&self, point: &'static str) {
        if let Some(probe) = &self.probe {
            probe(point);
        }
    }
}

/// The connection, which is closed and opened again when it can't be trusted.
struct Store {
    file: StoreFile,
    epoch: i64,
    connection: Option<Connection>,
    /// Pages in the write-ahead log after the last commit.
    log_pages: Arc<AtomicI32>,
    /// Pages in the log when it was last moved into the database.
    checkpointed: i32,
    counters: Arc<Counters>,
}

impl Store {
    fn connection(&mut self) -> rusqlite::Result<&mut Connection> {
        if self.connection.is_none() {
            let connection = connection::open_writer(&self.file)?;
            self.adopt(connection)?;
        }
        Ok(self.connection.as_mut().expect("it was opened just now"))
    }

    /// Takes a connection, and lets it tell how long the log is. This also turns off SQLite's own checkpoints, which would
    /// run before the answer.
    fn adopt(&mut self, mut connection: Connection) -> rusqlite::Result<()> {
        let log_pages = self.log_pages.clone();
        connection.wal_hook(Some(move |_: &mut _, pages| {
            log_pages.store(pages, Relaxed);
            Ok(())
        }))?;
        self.connection = Some(connection);
        Ok(())
    }

    /// After a full disk or a foreign lock the connection is sound. After any other error nothing that it has in memory is
    /// trusted: it is closed, and the next transaction opens the store anew.
    fn recover(&mut self, error: &rusqlite::Error) {
        tracing::error!(%error, "the journal could not write");
        if matches!(code_of(error), Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy)) {
            return;
        }
        if self.connection.is_some() {
            self.close();
            self.counters.reopened.fetch_add(1, Relaxed);
        }
    }

    /// Moves the log into the database when it has grown by enough. Where readers still need the log it can't start over,
    /// and the next try waits until it has grown as much again.
    fn checkpoint(&mut self) {
        let pages = self.log_pages.load(Relaxed);
        if pages < self.checkpointed {
            self.checkpointed = 0;
        }
        let Some(connection) = self.connection.as_ref().filter(|_| pages >= self.checkpointed + CHECKPOINT_EVERY)
        else {
            return;
        };
        match connection::checkpoint(connection, pages >= CHECKPOINT_HARD) {
            Ok(()) => {
                self.counters.checkpoints.fetch_add(1, Relaxed);
                self.checkpointed = pages;
            }
            Err(error) => self.recover(&error),
        }
    }

    fn close(&mut self) {
        if let Some(Err((_, error))) = self.connection.take().map(Connection::close) {
            tracing::warn!(%error, "the journal's connection did not close cleanly");
        }
    }
}
