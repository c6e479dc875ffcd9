//! Committing a group: who is admitted, and what is done for each job when the group fails as a whole.

use std::{sync::atomic::Ordering::Relaxed, time::Instant};

use super::{
    thread::Thread,
    transaction::{self, Entry, Stamp},
    trouble::{Failed, Stage, Trouble},
};
use crate::{CommitError, Priority};

impl Thread {
    /// Commits what can be committed; each job has its outcome afterwards.
    pub(super) fn commit(&mut self, group: Vec<Entry>) -> Vec<Entry> {
        let (mut admitted, mut refused) = self.admit(group);
        if !admitted.is_empty()
            && let Err(failed) = self.transact(&mut admitted)
        {
            self.retry(&mut admitted, &failed);
        }
        admitted.append(&mut refused);
        admitted
    }

    /// Those that may be written, and those that may not for now.
    fn admit(&mut self, group: Vec<Entry>) -> (Vec<Entry>, Vec<Entry>) {
        let Err(error) = self.store.admits() else {
            return (group, Vec::new());
        };
        let (admitted, mut refused): (Vec<_>, Vec<_>) = group.into_iter().partition(must_end);
        refused.iter_mut().for_each(|entry| entry.refuse(error.clone()));
        (admitted, refused)
    }

    /// After a group that failed as a whole: does for each of its jobs what can be done.
    pub(super) fn retry(&mut self, group: &mut [Entry], failed: &Failed) {
        tracing::warn!(error = %failed.error, stage = ?failed.stage, jobs = group.len(), "a group of the journal failed");
        self.counters.retried_groups.fetch_add(1, Relaxed);
        if failed.is_in_doubt() {
            match self.landed(group) {
                Ok(true) => return,
                Ok(false) => {}
                Err(_) => return refuse(group, &failed.outcome()),
            }
        }
        match failed.trouble() {
            // Each would wait as long again, and those behind them too.
            Trouble::Busy => return refuse(group, &failed.outcome()),
            Trouble::Broken if failed.stage == Stage::Opening => return refuse(group, &failed.outcome()),
            Trouble::Full => self.store.make_room(),
            Trouble::Broken => {}
        }
        self.retry_each(group);
    }

    fn retry_each(&mut self, group: &mut [Entry]) {
        for index in 0..group.len() {
            let Err(failed) = self.retry_one(&mut group[index..=index]) else {
                continue;
            };
            group[index].refuse(failed.outcome());
            let hopeless = failed.trouble() == Trouble::Busy
                || failed.stage == Stage::Opening && failed.trouble() == Trouble::Broken;
            if hopeless {
                return refuse(&mut group[index + 1..], &failed.outcome());
            }
        }
    }

    fn retry_one(&mut self, entry: &mut [Entry]) -> Result<(), Failed> {
        let must_end = entry.iter().all(must_end);
        if !must_end && self.store.is_short_of_room() {
            // The room of the reserve is not for this one.
            entry.iter_mut().for_each(|entry| entry.refuse(CommitError::DiskFull));
            return Ok(());
        }
        match self.transact_surely(entry) {
            Err(failed) if failed.trouble() == Trouble::Full && must_end && self.store.spend_reserve() => {
                self.probe("journal.reserve-spent");
                self.transact_surely(entry)
            }
            done => done,
        }
    }

    /// One that is in the store all the same has not failed.
    fn transact_surely(&mut self, entry: &mut [Entry]) -> Result<(), Failed> {
        match self.transact(entry) {
            Err(failed) if failed.is_in_doubt() && self.landed(entry).is_ok_and(|landed| landed) => Ok(()),
            done => done,
        }
    }

    pub(super) fn transact(&mut self, group: &mut [Entry]) -> Result<(), Failed> {
        let started = Instant::now();
        let epoch = self.store.epoch;
        let before = self.store.pages();
        let connection = self.store.connection().map_err(Failed::at(Stage::Opening))?;
        let probe = |point| {
            if let Some(probe) = &self.probe {
                probe(point);
            }
        };
        match transaction::run(connection, epoch, group, &probe) {
            Ok(None) => {}
            Ok(Some(Stamp { jobs, sync })) => {
                self.pace.keep(sync);
                self.counters.committed(jobs, self.store.written_since(before), started.elapsed(), sync);
                self.store.note();
            }
            Err(failed) => {
                self.store.recover(&failed.error);
                return Err(failed);
            }
        }
        Ok(())
    }

    /// Whether a group is in the store whose commit reported an error, after the store was opened anew. All of its jobs are, or none:
    /// the first that can tell tells for all, and their outcomes stand. Those that can't tell may be done twice.
    fn landed(&mut self, group: &[Entry]) -> rusqlite::Result<bool> {
        let connection = self.store.connection()?;
        for entry in group.iter().filter(|entry| entry.succeeded()) {
            if let Some(landed) = entry.job.landed(connection)? {
                if landed {
                    self.counters.landed(group.iter().filter(|entry| entry.succeeded()).count());
                }
                return Ok(landed);
            }
        }
        Ok(false)
    }
}

fn must_end(entry: &Entry) -> bool {
    entry.job.priority() == Priority::Terminal
}

fn refuse(group: &mut [Entry], error: &CommitError) {
    group.iter_mut().for_each(|entry| entry.refuse(error.clone()));
}
