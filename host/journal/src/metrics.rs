//! Counts and timings of the writer. Benches assert barrier counts with them.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// Counts and timings since the journal was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Groups that were committed. Each is one transaction and one fsync barrier.
    pub groups: u64,
    /// Jobs in them that were committed.
    pub jobs: u64,
    /// Jobs that were refused or failed.
    pub failed_jobs: u64,
    /// The most jobs that one group committed.
    pub largest_group: u64,
    /// Times that a group failed as a whole and its jobs were tried alone.
    pub retried_groups: u64,
    /// Times that the store was closed and opened again after an error.
    pub reopened: u64,
    /// Checkpoints of the write-ahead log.
    pub checkpoints: u64,
    /// How long the last group took, from its first statement to durable.
    pub last_commit: Duration,
    /// How long a group took on average.
    pub average_commit: Duration,
    /// The part of that average in which the commit itself wrote and synced.
    pub average_sync: Duration,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) groups: AtomicU64,
    pub(crate) jobs: AtomicU64,
    pub(crate) failed_jobs: AtomicU64,
    pub(crate) largest_group: AtomicU64,
    pub(crate) retried_groups: AtomicU64,
    pub(crate) reopened: AtomicU64,
    pub(crate) checkpoints: AtomicU64,
    last_commit: AtomicU64,
    all_commits: AtomicU64,
    all_syncs: AtomicU64,
}

impl Counters {
    pub(crate) fn committed(&self, jobs: usize, commit: Duration, sync: Duration) {
        let jobs = jobs as u64;
        self.groups.fetch_add(1, Relaxed);
        self.jobs.fetch_add(jobs, Relaxed);
        self.largest_group.fetch_max(jobs, Relaxed);
        self.last_commit.store(nanos(commit), Relaxed);
        self.all_commits.fetch_add(nanos(commit), Relaxed);
        self.all_syncs.fetch_add(nanos(sync), Relaxed);
    }

    pub(crate) fn read(&self) -> Metrics {
        let groups = self.groups.load(Relaxed);
        let average = |all: &AtomicU64| Duration::from_nanos(all.load(Relaxed) / groups.max(1));
        Metrics {
            groups,
            jobs: self.jobs.load(Relaxed),
            failed_jobs: self.failed_jobs.load(Relaxed),
            largest_group: self.largest_group.load(Relaxed),
            retried_groups: self.retried_groups.load(Relaxed),
            reopened: self.reopened.load(Relaxed),
            checkpoints: self.checkpoints.load(Relaxed),
            last_commit: Duration::from_nanos(self.last_commit.load(Relaxed)),
            average_commit: average(&self.all_commits),
            average_sync: average(&self.all_syncs),
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
