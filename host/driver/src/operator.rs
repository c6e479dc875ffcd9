//! What operators ask of a host beside its sessions: how its writer does.

use mainstay_journal::ReserveState;
use serde::{Deserialize, Serialize};

use crate::Host;

/// The folder of a data folder in which the builds of plugins are kept. Its files never change.
pub const COMPONENTS: &str = "components";

/// The journal's writer since the host was started, and how it stands now. Times are in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WriterView {
    /// Groups that were committed: each is one transaction and one fsync barrier.
    pub groups: u64,
    /// Jobs in them that were committed.
    pub jobs: u64,
    /// Jobs that were refused or failed.
    pub failed_jobs: u64,
    /// Of these, the ones for which there was no room on the disk.
    pub refused_full: u64,
    /// Of these, the ones that another program kept out.
    pub refused_busy: u64,
    /// The most jobs that one group committed.
    pub largest_group: u64,
    /// A bound that half of the groups don't exceed, exact to a power of two.
    pub group_size_p50: u64,
    /// A bound that 99 of 100 groups don't exceed, exact to a power of two.
    pub group_size_p99: u64,
    /// Times that a group failed as a whole.
    pub retried_groups: u64,
    /// Times that the store was opened again after an error.
    pub reopened: u64,
    /// Checkpoints of the write-ahead log.
    pub checkpoints: u64,
    /// How long the last group took, from its first statement to durable.
    pub last_commit_micros: u64,
    /// How long a group took on average.
    pub average_commit_micros: u64,
    /// The part of that average in which the commit itself wrote and synced.
    pub average_sync_micros: u64,
    /// A bound that half of these parts don't exceed, exact to a power of two.
    pub sync_p50_micros: u64,
    /// A bound that 99 of 100 of them don't exceed, exact to a power of two.
    pub sync_p99_micros: u64,
    /// Jobs committed in a second, on average over the last minute.
    pub jobs_per_second: f64,
    /// Bytes written to the log in a second, on average over the last minute.
    pub bytes_per_second: f64,
    /// Jobs in the queue.
    pub queued: u64,
    /// Callers who wait for a place in the queue.
    pub waiting: u64,
    /// Bytes of the write-ahead log.
    pub log_bytes: u64,
    /// The room that is kept for what must end: `held`, `spent` or `missing`.
    pub reserve: String,
}

impl Host {
    /// How the journal's writer does.
    pub fn writer(&self) -> WriterView {
        let metrics = self.journal_metrics();
        let micros = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let reserve = match metrics.reserve {
            ReserveState::Held => "held",
            ReserveState::Spent => "spent",
            ReserveState::Missing => "missing",
        };
        WriterView {
            groups: metrics.groups,
            jobs: metrics.jobs,
            failed_jobs: metrics.failed_jobs,
            refused_full: metrics.refused_full,
            refused_busy: metrics.refused_busy,
            largest_group: metrics.largest_group,
            group_size_p50: metrics.group_sizes.quantile(0.5),
            group_size_p99: metrics.group_sizes.quantile(0.99),
            retried_groups: metrics.retried_groups,
            reopened: metrics.reopened,
            checkpoints: metrics.checkpoints,
            last_commit_micros: micros(metrics.last_commit),
            average_commit_micros: micros(metrics.average_commit),
            average_sync_micros: micros(metrics.average_sync),
            sync_p50_micros: metrics.sync_micros.quantile(0.5),
            sync_p99_micros: metrics.sync_micros.quantile(0.99),
            jobs_per_second: metrics.jobs_per_second,
            bytes_per_second: metrics.bytes_per_second,
            queued: metrics.queued,
            waiting: metrics.waiting,
            log_bytes: metrics.log_bytes,
            reserve: reserve.to_owned(),
        }
    }
}
