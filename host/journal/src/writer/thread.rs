//! The writer's loop: gather a group, commit it, answer, tend the log.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use tokio::sync::mpsc;

use super::{
    backlog::{Backlog, Waiting},
    store::Store,
    sweeps::Sweeps,
    transaction::Entry,
};
use crate::{
    CommitError, Probe,
    feed::{Gathering, Live},
    metrics::Counters,
    write::Sweep,
};

pub(super) struct Thread {
    pub(super) store: Store,
    waiting: mpsc::Receiver<Waiting>,
    backlog: Backlog,
    sweeps: Sweeps,
    largest_group: usize,
    pub(super) pace: Pace,
    feed: Option<Arc<Live>>,
    pub(super) probe: Option<Probe>,
    pub(super) counters: Arc<Counters>,
}

/// By which the writer knows that it is worth waiting a moment.
#[derive(Default)]
pub(super) struct Pace {
    /// Jobs that were answered or queued when the last group ended: as many may come again at once.
    expected: usize,
    /// How long that is worth.
    patience: Duration,
}

impl Pace {
    /// A commit has taken so long.
    pub(super) fn keep(&mut self, sync: Duration) {
        self.patience = (sync / 8).min(Duration::from_millis(1));
    }
}

impl Thread {
    pub(super) fn new(
        store: Store,
        waiting: mpsc::Receiver<Waiting>,
        largest_group: usize,
        probe: Option<Probe>,
        counters: Arc<Counters>,
    ) -> Self {
        Self {
            store,
            waiting,
            backlog: Backlog::default(),
            sweeps: Sweeps::default(),
            largest_group,
            pace: Pace::default(),
            feed: None,
            probe,
            counters,
        }
    }

    /// Whom the events of each group are told, once they are durable.
    pub(super) fn telling(self, feed: Arc<Live>) -> Self {
        Self { feed: Some(feed), ..self }
    }

    pub(super) fn run(mut self) {
        self.resume();
        while self.fill() {
            let group = self.backlog.take_group(self.largest_group);
            let group = self.commit(group);
            self.probe("journal.before-reply");
            self.drain();
            self.pace.expected = (group.len() + self.backlog.len()).min(self.largest_group);
            let news = self.gather_news(&group);
            self.sweeps.note(&group);
            group.into_iter().for_each(|entry| self.answer(entry));
            self.publish(news);
            self.store.tend();
            self.sweep();
        }
        self.store.close();
    }

    /// What the last host left undone comes first.
    fn resume(&mut self) {
        match self.store.connection().and_then(|connection| Sweep::is_needed(connection)) {
            Ok(true) => self.sweeps.begin(),
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(%error, "could not look for what is left of forgotten sessions");
                self.sweeps.put_off();
            }
        }
        self.sweep();
    }

    /// Queues the next piece of what is left of forgotten sessions. A journal that closes leaves it for the next start.
    fn sweep(&mut self) {
        if !self.waiting.is_closed() && self.sweeps.take() {
            self.backlog.push(Waiting { job: Box::new(Sweep::default()), pass: None });
        }
    }

    /// Takes over all that waits, and waits itself when there is nothing; false when nothing will ever come.
    fn fill(&mut self) -> bool {
        if self.backlog.is_empty() {
            match self.waiting.blocking_recv() {
                Some(job) => self.backlog.push(job),
                None => return false,
            }
        }
        self.gather();
        true
    }

    /// Those whom the last group answered may be about to come again. Without a moment's patience the first of them gets a
    /// barrier for itself and all others wait for the next one, again and again. The moment is short beside a barrier.
    fn gather(&mut self) {
        let began = Instant::now();
        self.drain();
        while self.backlog.len() < self.pace.expected && began.elapsed() < self.pace.patience {
            std::thread::sleep(Duration::from_micros(20));
            self.drain();
        }
    }

    /// The backlog is bounded too: past a few groups, callers wait in the queue. The writer's own job takes no place from them.
    fn drain(&mut self) {
        let most = 4 * self.largest_group + usize::from(self.sweeps.is_queued());
        while self.backlog.len() < most
            && let Ok(job) = self.waiting.try_recv()
        {
            self.backlog.push(job);
        }
        self.counters.backlog.store(self.backlog.len() as u64, Relaxed);
    }

    /// What the feed tells of a group: of those of its jobs that are durable.
    fn gather_news(&self, group: &[Entry]) -> Option<Gathering> {
        Some(self.feed.as_ref()?.gather(|news| {
            for entry in group {
                match &entry.outcome {
                    Some(Ok(())) => entry.job.tell(news),
                    // It may be in the store all the same.
                    Some(Err(CommitError::Io { .. })) => news.note_doubt(),
                    _ => {}
                }
            }
        }))
    }

    fn publish(&self, news: Option<Gathering>) {
        if let (Some(feed), Some(news)) = (&self.feed, news) {
            feed.publish(news);
        }
    }

    pub(super) fn answer(&self, entry: Entry) {
        let outcome = entry.outcome.unwrap_or(Err(CommitError::Closed));
        if let Err(error) = &outcome {
            self.counters.refused(error);
        }
        entry.job.answer(outcome);
    }

    pub(super) fn probe(&self, point: &'static str) {
        if let Some(probe) = &self.probe {
            probe(point);
        }
    }
}
