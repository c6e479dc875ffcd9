//! When the next piece of forgotten sessions is removed: one at a time, at once after the one before, and later where one failed.

use super::transaction::Entry;
use crate::write::Leftovers;

/// Groups that a failed piece is put off by at most.
const LONGEST: u32 = 64;

/// What the writer knows of rows that are left, and of the one job that removes them.
#[derive(Debug, Default)]
pub(super) struct Sweeps {
    is_queued: bool,
    /// Groups with a commit to wait for before the next piece; none when nothing is left.
    wait: Option<u32>,
    /// Pieces that failed in a row.
    failures: u32,
}

impl Sweeps {
    /// Something is left.
    pub(super) fn begin(&mut self) {
        self.wait = Some(0);
    }

    /// A piece failed, for want of room or of the log: later commits may find both again. Each failure in a row doubles the wait.
    pub(super) fn put_off(&mut self) {
        self.wait = Some(2_u32.saturating_pow(self.failures).min(LONGEST));
        self.failures = self.failures.saturating_add(1);
    }

    /// Learns from a group whose jobs have their outcomes.
    pub(super) fn note(&mut self, group: &[Entry]) {
        if group.iter().any(Entry::succeeded) {
            self.wait = self.wait.map(|wait| wait.saturating_sub(1));
        }
        let (mut left, mut failed) = (false, false);
        for entry in group {
            match (entry.job.leftovers(), entry.succeeded()) {
                (Some(Leftovers::Made), true) => left = true,
                (Some(Leftovers::Removed { more }), done) => {
                    (self.is_queued, self.wait) = (false, None);
                    (left, failed) = (left || done && more, !done);
                    self.failures *= u32::from(failed);
                }
                _ => {}
            }
        }
        match (failed, left) {
            (true, _) => self.put_off(),
            (false, true) => self.begin(),
            (false, false) => {}
        }
    }

    /// Whether the next piece is to be queued now. It is then the one.
    pub(super) fn take(&mut self) -> bool {
        let due = !self.is_queued && self.wait == Some(0);
        self.is_queued |= due;
        due
    }

    /// Whether the job is in the backlog.
    pub(super) fn is_queued(&self) -> bool {
        self.is_queued
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::{
        CommitError,
        write::{Failure, Job, Lane},
    };

    struct Fake(Option<Leftovers>);

    impl Job for Fake {
        fn lane(&self) -> Option<&Lane> {
            None
        }

        fn apply(&mut self, _connection: &Connection) -> Result<(), Failure> {
            Ok(())
        }

        fn leftovers(&self) -> Option<Leftovers> {
            self.0
        }

        fn answer(self: Box<Self>, _outcome: Result<(), CommitError>) {}
    }

    fn entry(leftovers: Option<Leftovers>, done: bool) -> Entry {
        let mut entry = Entry::new(Box::new(Fake(leftovers)));
        entry.outcome = Some(if done { Ok(()) } else { Err(CommitError::DiskFull) });
        entry
    }

    const FORGET: Option<Leftovers> = Some(Leftovers::Made);
    const MORE: Option<Leftovers> = Some(Leftovers::Removed { more: true });
    const LAST: Option<Leftovers> = Some(Leftovers::Removed { more: false });

    #[test]
    fn there_is_one_piece_at_a_time_until_nothing_is_left() {
        let mut sweeps = Sweeps::default();
        assert!(!sweeps.take());
        sweeps.note(&[entry(FORGET, true), entry(FORGET, true), entry(FORGET, false)]);
        assert!(sweeps.take() && !sweeps.take());
        // It waits in the backlog while another group goes first.
        sweeps.note(&[entry(FORGET, true)]);
        assert!(!sweeps.take() && sweeps.is_queued());
        sweeps.note(&[entry(MORE, true)]);
        assert!(sweeps.take());
        sweeps.note(&[entry(LAST, true), entry(FORGET, true)]);
        assert!(sweeps.take(), "what was forgotten behind it is left");
        sweeps.note(&[entry(LAST, true)]);
        assert!(!sweeps.take() && !sweeps.is_queued());
        sweeps.note(&[entry(FORGET, false)]);
        assert!(!sweeps.take(), "it was not forgotten");
    }

    /// Groups with a commit until the next piece is queued.
    fn groups_until_next(sweeps: &mut Sweeps) -> u32 {
        let mut groups = 0;
        while !sweeps.take() {
            assert!(groups < 1_000, "it never comes");
            sweeps.note(&[entry(None, false)]);
            assert!(!sweeps.is_queued(), "a group that fails counts for nothing");
            sweeps.note(&[entry(None, false), entry(None, true)]);
            groups += 1;
        }
        groups
    }

    #[test]
    fn a_piece_that_failed_is_tried_again_after_ever_more_commits() {
        let mut sweeps = Sweeps::default();
        sweeps.begin();
        assert!(sweeps.take());
        let waits: Vec<_> = (0..9)
            .map(|_| {
                sweeps.note(&[entry(MORE, false), entry(None, true)]);
                groups_until_next(&mut sweeps)
            })
            .collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 64, 64]);
        sweeps.note(&[entry(MORE, true)]);
        assert!(sweeps.take(), "it is well again");
        sweeps.note(&[entry(MORE, false)]);
        assert_eq!(groups_until_next(&mut sweeps), 1);
        sweeps.note(&[entry(MORE, false)]);
        sweeps.note(&[entry(FORGET, true)]);
        assert!(sweeps.take(), "there is room again");
    }
}
