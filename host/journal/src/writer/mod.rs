//! The one thread that writes. It takes what waits, commits it as one group (one transaction, one fsync), and then answers.
//! A group that fails as a whole is tried again job by job, so that one bad job spoils no other.

mod backlog;
mod commit;
mod lanes;
mod reserve;
mod store;
mod sweeps;
#[cfg(test)]
mod tests;
mod thread;
mod transaction;
mod trouble;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread::JoinHandle,
};

use rusqlite::Connection;
use tokio::{sync::mpsc, task::coop::unconstrained};

pub(crate) use self::reserve::Reserve;
use self::{backlog::Waiting, lanes::Lanes, store::Store, thread::Thread};
use crate::{
    CommitError, Metrics, OpenError, Options, connection::StoreFile, feed::Live, metrics::Counters, write::Job,
};

/// The way to the writer's thread. The thread ends when the last of these is gone and all that waits is done.
#[derive(Debug)]
pub(crate) struct Writer {
    lanes: Arc<Lanes>,
    jobs: Option<mpsc::Sender<Waiting>>,
    thread: Option<JoinHandle<()>>,
    counters: Arc<Counters>,
}

impl Writer {
    /// Brings the log into the database and starts the thread. `epoch` is that of the lease.
    pub(crate) fn start(
        file: StoreFile,
        epoch: i64,
        connection: Connection,
        reserve: Reserve,
        feed: Arc<Live>,
        options: Options,
    ) -> Result<Self, OpenError> {
        let counters = Arc::new(Counters::new());
        let store = Store::new(file, epoch, connection, reserve, options.log.get(), counters.clone())
            .map_err(OpenError::sqlite("bring the journal's log into its database"))?;
        let (jobs, waiting) = mpsc::channel(options.queue.get());
        let thread = Thread::new(store, waiting, options.group.get(), options.probe, counters.clone()).telling(feed);
        let thread = std::thread::Builder::new()
            .name("mainstay-journal".into())
            .spawn(move || thread.run())
            .map_err(OpenError::io("start the journal's thread"))?;
        Ok(Self { lanes: Lanes::new(options.lane.get()), jobs: Some(jobs), thread: Some(thread), counters })
    }

    /// Queues a job. Waits while its session has as much in the queue as one may have, and while the queue is full.
    pub(crate) async fn submit(&self, job: Box<dyn Job>) -> Result<(), CommitError> {
        let _counted = Counted::new(&self.counters.waiting);
        let jobs = self.jobs.as_ref().ok_or(CommitError::Closed)?;
        let enter = async {
            let (_turn, pass) = self.lanes.enter(job.lane()).await?;
            jobs.send(Waiting { job, pass: Some(pass) }).await.map_err(|_| CommitError::Closed)
        };
        // A task that has done much in one go would be sent to the end of the line: behind later commits of the same session.
        unconstrained(enter).await
    }

    pub(crate) fn metrics(&self) -> Metrics {
        let queued = self.jobs.as_ref().map_or(0, |jobs| jobs.max_capacity() - jobs.capacity());
        self.counters.read(queued as u64)
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

/// One more of something, for as long as this lives.
struct Counted<'a>(&'a AtomicU64);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
