//! One transaction for a group of jobs: fence, a savepoint for each job, one commit.

use std::time::{Duration, Instant};

use rusqlite::Connection;

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
}

/// What a commit made durable, and how long it took to write and sync it.
pub(super) struct Stamp {
    pub(super) jobs: usize,
    pub(super) sync: Duration,
}

/// Applies each job and commits those that could be applied; none when there were none. After an error nothing is committed and
/// no transaction is open.
pub(super) fn run(
    connection: &Connection,
    epoch: i64,
    group: &mut [Entry],
    probe: &dyn Fn(&'static str),
) -> rusqlite::Result<Option<Stamp>> {
    let done = attempt(connection, epoch, group, probe);
    // SQLite ends the transaction by itself on some errors, and on others leaves that to us.
    if !connection.is_autocommit() {
        let undone = execute(connection, "ROLLBACK");
        return done.and_then(|stamp| undone.map(|()| stamp));
    }
    done
}

fn attempt(
    connection: &Connection,
    epoch: i64,
    group: &mut [Entry],
    probe: &dyn Fn(&'static str),
) -> rusqlite::Result<Option<Stamp>> {
    execute(connection, "BEGIN IMMEDIATE")?;
    if lease::current(connection)? != epoch {
        group.iter_mut().for_each(|entry| entry.outcome = Some(Err(CommitError::Fenced)));
        return Ok(None);
    }
    for entry in group.iter_mut() {
        entry.outcome = Some(apply(connection, entry.job.as_mut())?);
    }
    let jobs = group.iter().filter(|entry| matches!(entry.outcome, Some(Ok(())))).count();
    if jobs == 0 {
        return Ok(None);
    }
    probe("journal.before-commit");
    let started = Instant::now();
    execute(connection, "COMMIT")?;
    let sync = started.elapsed();
    probe("journal.after-commit");
    Ok(Some(Stamp { jobs, sync }))
}

/// A job that is refused leaves no trace; an error of the store ends the group.
fn apply(connection: &Connection, job: &mut dyn Job) -> rusqlite::Result<Result<(), CommitError>> {
    execute(connection, "SAVEPOINT job")?;
    match job.apply(connection) {
        Ok(()) => execute(connection, "RELEASE job").map(Ok),
        Err(Failure::Refused(error)) => {
            execute(connection, "ROLLBACK TO job")?;
            execute(connection, "RELEASE job")?;
            Ok(Err(error))
        }
        Err(Failure::Store(error)) => Err(error),
    }
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
