//! One transaction for a group of jobs: fence, a savepoint for each job, one commit.

use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::trouble::{Failed, Stage};
use crate::{
    CommitError, lease,
    write::{Failure, Job},
};

/// A job in a group, and what became of it.
pub(super) struct Entry {
    pub(super) job: Box<dyn Job>,
    pub(super) outcome: Option<Result<(), CommitError>>,
}

impl Entry {
    pub(super) fn new(job: Box<dyn Job>) -> Self {
        Self { job, outcome: None }
    }

    pub(super) fn refuse(&mut self, error: CommitError) {
        self.outcome = Some(Err(error));
    }

    pub(super) fn succeeded(&self) -> bool {
        matches!(self.outcome, Some(Ok(())))
    }
}

/// What a commit made durable, and how long it took to write and sync it.
pub(super) struct Stamp {
    pub(super) jobs: usize,
    pub(super) sync: Duration,
}

/// Applies each job and commits those that could be applied; none when there were none. After an error no transaction is open, and
/// nothing is committed unless the commit itself failed: what that left is known only after a look into the store.
pub(super) fn run(
    connection: &Connection,
    epoch: i64,
    group: &mut [Entry],
    probe: &dyn Fn(&'static str),
) -> Result<Option<Stamp>, Failed> {
    let done = attempt(connection, epoch, group, probe);
    // SQLite ends the transaction by itself on some errors, and on others leaves that to us.
    if !connection.is_autocommit() {
        let undone = execute(connection, "ROLLBACK").map_err(Failed::at(Stage::Applying));
        return done.and_then(|stamp| undone.map(|()| stamp));
    }
    done
}

fn attempt(
    connection: &Connection,
    epoch: i64,
    group: &mut [Entry],
    probe: &dyn Fn(&'static str),
) -> Result<Option<Stamp>, Failed> {
    if !apply_all(connection, epoch, group).map_err(Failed::at(Stage::Applying))? {
        return Ok(None);
    }
    let jobs = group.iter().filter(|entry| entry.succeeded()).count();
    if jobs == 0 {
        return Ok(None);
    }
    probe("journal.before-commit");
    let started = Instant::now();
    execute(connection, "COMMIT").map_err(Failed::at(Stage::Committing))?;
    let sync = started.elapsed();
    probe("journal.after-commit");
    Ok(Some(Stamp { jobs, sync }))
}

/// Begins a transaction and applies each job in it; false when this writer is fenced.
fn apply_all(connection: &Connection, epoch: i64, group: &mut [Entry]) -> rusqlite::Result<bool> {
    execute(connection, "BEGIN IMMEDIATE")?;
    if lease::current(connection)? != epoch {
        group.iter_mut().for_each(|entry| entry.refuse(CommitError::Fenced));
        return Ok(false);
    }
    // A job alone needs no savepoint: when it is refused, nothing is committed.
    if let [entry] = group {
        entry.outcome = Some(outcome(entry.job.apply(connection))?);
        return Ok(true);
    }
    for entry in group {
        entry.outcome = Some(apply(connection, entry.job.as_mut())?);
    }
    Ok(true)
}

/// A job that is refused leaves no trace; an error of the store ends the group.
fn apply(connection: &Connection, job: &mut dyn Job) -> rusqlite::Result<Result<(), CommitError>> {
    execute(connection, "SAVEPOINT job")?;
    let outcome = outcome(job.apply(connection))?;
    if outcome.is_err() {
        execute(connection, "ROLLBACK TO job")?;
    }
    execute(connection, "RELEASE job")?;
    Ok(outcome)
}

fn outcome(applied: Result<(), Failure>) -> rusqlite::Result<Result<(), CommitError>> {
    match applied {
        Ok(()) => Ok(Ok(())),
        Err(Failure::Refused(error)) => Ok(Err(error)),
        Err(Failure::Store(error)) => Err(error),
    }
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
