//! What can be seen of the writer from outside: counts, sizes and times. Benches assert barrier counts with them.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use crate::CommitError;

/// Counts and timings since the journal was opened, and how it stands now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Metrics {
    /// Groups that were committed. Each is one transaction and one fsync barrier.
    pub groups: u64,
    /// Jobs in them that were committed.
    pub jobs: u64,
    /// Jobs that were refused or failed.
    pub failed_jobs: u64,
    /// Of these, the ones for which there was no room on the disk.
    pub refused_full: u64,
    /// Of these, the ones that another program kept out: with a lock, or with a view of the journal that it held for long.
    pub refused_busy: u64,
    /// The most jobs that one group committed.
    pub largest_group: u64,
    /// Jobs that a group committed.
    pub group_sizes: Histogram,
    /// Times that a group failed as a whole and its jobs were tried alone, or refused.
    pub retried_groups: u64,
    /// Times that the store was opened again after an error.
    pub reopened: u64,
    /// Checkpoints of the write-ahead log.
    pub checkpoints: u64,
    /// How long the last group took, from its first statement to durable.
    pub last_commit: Duration,
    /// How long a group took on average.
    pub average_commit: Duration,
    /// The part of that average in which the commit itself wrote and synced.
    pub average_sync: Duration,
    /// How long that part took, in microseconds.
    pub sync_micros: Histogram,
    /// Jobs committed in a second, on average over the last minute.
    pub jobs_per_second: f64,
    /// Bytes written to the write-ahead log in a second, on average over the last minute.
    pub bytes_per_second: f64,
    /// Jobs in the queue, now.
    pub queued: u64,
    /// Callers who wait for a place in the queue, now.
    pub waiting: u64,
    /// Bytes of the write-ahead log, now.
    pub log_bytes: u64,
    /// The room that is kept for what must end, now.
    pub reserve: ReserveState,
}

/// The room on the disk that is kept for what must end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReserveState {
    /// It is there.
    #[default]
    Held,
    /// The disk is full: the room was given up, or could not be taken. Only what must end is written.
    Spent,
    /// It could not be taken for another reason; the log says which. All is written for as long as there is room.
    Missing,
}

/// How often values of each size were seen: a bucket for each power of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Bucket 0 counts zeros; bucket n counts values from 2^(n-1) to 2^n - 1, and the last one all that is larger.
    pub buckets: [u64; BUCKETS],
}

const BUCKETS: usize = 32;

impl Histogram {
    /// How many values were seen.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// A bound that this part of the values (0.5, 0.99) does not exceed: exact to a power of two. Zero when none were seen.
    pub fn quantile(&self, part: f64) -> u64 {
        let wanted = (self.count() as f64 * part).ceil().max(1.0) as u64;
        let mut seen = 0;
        let reached = self.buckets.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        reached.map_or(0, |bucket| (1 << bucket) - 1)
    }
}

/// What the writer's thread counts and others read.
#[derive(Debug)]
pub(crate) struct Counters {
    groups: AtomicU64,
    jobs: AtomicU64,
    failed_jobs: AtomicU64,
    refused_full: AtomicU64,
    refused_busy: AtomicU64,
    largest_group: AtomicU64,
    group_sizes: Buckets,
    pub(crate) retried_groups: AtomicU64,
    pub(crate) reopened: AtomicU64,
    pub(crate) checkpoints: AtomicU64,
    last_commit: AtomicU64,
    all_commits: AtomicU64,
    all_syncs: AtomicU64,
    sync_micros: Buckets,
    minute: Mutex<Minute>,
    opened: Instant,
    pub(crate) backlog: AtomicU64,
    pub(crate) waiting: AtomicU64,
    log_bytes: AtomicU64,
    reserve: Mutex<ReserveState>,
}

#[derive(Debug, Default)]
struct Buckets([AtomicU64; BUCKETS]);

impl Buckets {
    fn add(&self, value: u64) {
        let bucket = (u64::BITS - value.leading_zeros()) as usize;
        self.0[bucket.min(BUCKETS - 1)].fetch_add(1, Relaxed);
    }

    fn read(&self) -> Histogram {
        Histogram { buckets: std::array::from_fn(|bucket| self.0[bucket].load(Relaxed)) }
    }
}

impl Counters {
    pub(crate) fn new() -> Self {
        Self {
            groups: AtomicU64::default(),
            jobs: AtomicU64::default(),
            failed_jobs: AtomicU64::default(),
            refused_full: AtomicU64::default(),
            refused_busy: AtomicU64::default(),
            largest_group: AtomicU64::default(),
            group_sizes: Buckets::default(),
            retried_groups: AtomicU64::default(),
            reopened: AtomicU64::default(),
            checkpoints: AtomicU64::default(),
            last_commit: AtomicU64::default(),
            all_commits: AtomicU64::default(),
            all_syncs: AtomicU64::default(),
            sync_micros: Buckets::default(),
            minute: Mutex::default(),
            opened: Instant::now(),
            backlog: AtomicU64::default(),
            waiting: AtomicU64::default(),
            log_bytes: AtomicU64::default(),
            reserve: Mutex::default(),
        }
    }

    /// A group was committed.
    pub(crate) fn committed(&self, jobs: usize, bytes: u64, commit: Duration, sync: Duration) {
        self.landed(jobs);
        self.last_commit.store(nanos(commit), Relaxed);
        self.all_commits.fetch_add(nanos(commit), Relaxed);
        self.all_syncs.fetch_add(nanos(sync), Relaxed);
        self.sync_micros.add(nanos(sync) / 1_000);
        let second = self.opened.elapsed().as_secs();
        lock(&self.minute).add(second, jobs as u64, bytes);
    }

    /// A group is durable of which nothing else is known: its commit reported an error.
    pub(crate) fn landed(&self, jobs: usize) {
        let jobs = jobs as u64;
        self.groups.fetch_add(1, Relaxed);
        self.jobs.fetch_add(jobs, Relaxed);
        self.largest_group.fetch_max(jobs, Relaxed);
        self.group_sizes.add(jobs);
    }

    /// A job was not committed.
    pub(crate) fn refused(&self, error: &CommitError) {
        self.failed_jobs.fetch_add(1, Relaxed);
        match error {
            CommitError::DiskFull => drop(self.refused_full.fetch_add(1, Relaxed)),
            CommitError::Busy | CommitError::LogHeld => drop(self.refused_busy.fetch_add(1, Relaxed)),
            _ => {}
        }
    }

    /// How the store stands.
    pub(crate) fn note(&self, log_bytes: u64, reserve: ReserveState) {
        self.log_bytes.store(log_bytes, Relaxed);
        *lock(&self.reserve) = reserve;
    }

    /// `queued` counts the jobs that the writer's thread has not taken over yet.
    pub(crate) fn read(&self, queued: u64) -> Metrics {
        let groups = self.groups.load(Relaxed);
        let average = |all: &AtomicU64| Duration::from_nanos(all.load(Relaxed) / groups.max(1));
        let second = self.opened.elapsed().as_secs();
        let (jobs_per_second, bytes_per_second) = lock(&self.minute).rates(second);
        Metrics {
            groups,
            jobs: self.jobs.load(Relaxed),
            failed_jobs: self.failed_jobs.load(Relaxed),
            refused_full: self.refused_full.load(Relaxed),
            refused_busy: self.refused_busy.load(Relaxed),
            largest_group: self.largest_group.load(Relaxed),
            group_sizes: self.group_sizes.read(),
            retried_groups: self.retried_groups.load(Relaxed),
            reopened: self.reopened.load(Relaxed),
            checkpoints: self.checkpoints.load(Relaxed),
            last_commit: Duration::from_nanos(self.last_commit.load(Relaxed)),
            average_commit: average(&self.all_commits),
            average_sync: average(&self.all_syncs),
            sync_micros: self.sync_micros.read(),
            jobs_per_second,
            bytes_per_second,
            queued: queued + self.backlog.load(Relaxed),
            waiting: self.waiting.load(Relaxed),
            log_bytes: self.log_bytes.load(Relaxed),
            reserve: *lock(&self.reserve),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The last minute, by seconds since the journal was opened.
#[derive(Debug)]
struct Minute([Second; MINUTE]);

const MINUTE: usize = 60;

/// What was committed in a second.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    number: u64,
    jobs: u64,
    bytes: u64,
}

impl Default for Minute {
    fn default() -> Self {
        Self([Second::default(); MINUTE])
    }
}

impl Minute {
    fn add(&mut self, number: u64, jobs: u64, bytes: u64) {
        let second = &mut self.0[(number % MINUTE as u64) as usize];
        if second.number != number {
            *second = Second { number, ..Second::default() };
        }
        second.jobs += jobs;
        second.bytes += bytes;
    }

    /// Jobs and bytes in a second, on average over the last minute or since the journal was opened.
    fn rates(&self, now: u64) -> (f64, f64) {
        let seconds = self.0.iter().filter(|second| second.number + MINUTE as u64 > now && second.number <= now);
        let (jobs, bytes) = seconds.fold((0, 0), |(jobs, bytes), second| (jobs + second.jobs, bytes + second.bytes));
        let length = (now + 1).min(MINUTE as u64) as f64;
        (jobs as f64 / length, bytes as f64 / length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_bounds_of_their_buckets() {
        let buckets = Buckets::default();
        assert_eq!(buckets.read().quantile(0.5), 0);
        (0..98).for_each(|_| buckets.add(5));
        [0, u64::MAX].into_iter().for_each(|value| buckets.add(value));
        let histogram = buckets.read();
        assert_eq!(histogram.count(), 100);
        assert_eq!((histogram.buckets[0], histogram.buckets[3], histogram.buckets[BUCKETS - 1]), (1, 98, 1));
        assert_eq!((histogram.quantile(0.0), histogram.quantile(0.5), histogram.quantile(0.99)), (0, 7, 7));
        assert_eq!(histogram.quantile(1.0), (1 << (BUCKETS - 1)) - 1);
    }

    #[test]
    fn rates_are_of_the_last_minute_and_no_older() {
        let mut minute = Minute::default();
        assert_eq!(minute.rates(0), (0.0, 0.0));
        minute.add(0, 6, 600);
        assert_eq!(minute.rates(0), (6.0, 600.0));
        assert_eq!(minute.rates(2), (2.0, 200.0));
        minute.add(59, 54, 0);
        assert_eq!(minute.rates(59), (1.0, 10.0));
        assert_eq!(minute.rates(60), (0.9, 0.0), "the first second is over a minute ago");
        minute.add(60, 6, 0);
        assert_eq!(minute.rates(61).0, 1.0);
        assert_eq!(minute.rates(1_000), (0.0, 0.0));
    }

    #[test]
    fn a_refusal_is_counted_by_what_was_missing() {
        let counters = Counters::new();
        [CommitError::DiskFull, CommitError::LogHeld, CommitError::Busy, CommitError::Fenced]
            .iter()
            .for_each(|error| counters.refused(error));
        let metrics = counters.read(0);
        assert_eq!((metrics.failed_jobs, metrics.refused_full, metrics.refused_busy), (4, 1, 2));
    }
}
