//! The writer under pressure: sessions that crowd, a disk that fails, a log that may not be emptied.

use std::{
    num::{NonZeroU64, NonZeroUsize},
    path::Path,
    pin::Pin,
    task::{Context, Waker},
};

use futures::{
    FutureExt as _,
    future::{join_all, maybe_done},
};
use mainstay_faults::{Class, Disk, Effect, Fault, Faults, Role, Variant, code};
use mainstay_journal::{CommitError, Journal, Options, Priority, SqliteJournal, Transition};
use mainstay_protocol::{
    Ordinal,
    record::{
        RecordBody,
        v1::{Activity, ActivityChanged},
    },
};
use rusqlite::Connection;

use super::script::{Script, commit_all, head, open, refusal};

/// A commit of one feed event: its place in the feed tells when it was committed.
fn event(script: &mut Script) -> Transition {
    script.records(vec![RecordBody::ActivityChanged(ActivityChanged { activity: Activity::Working, details: None })])
}

fn number(number: usize) -> NonZeroUsize {
    NonZeroUsize::new(number).unwrap()
}

fn open_on(faults: &Faults, folder: &Path) -> SqliteJournal {
    let mut options = Options::default();
    options.vfs = Some(faults.name());
    // Few of these tests need one, and some open many journals.
    options.reserve = NonZeroU64::MIN;
    SqliteJournal::open(folder, options).unwrap()
}

async fn check_soundness(journal: &SqliteJournal, script: &Script) {
    let verdict = journal.verify(&script.tenant, &script.session).await.unwrap().unwrap();
    assert!(verdict.is_sound(), "{verdict:?}");
}

#[tokio::test]
async fn a_session_with_thousands_of_waiting_commits_leaves_room_for_another() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let (mut chatty, mut quiet) = (Script::new("chatty"), Script::new("quiet"));
    commit_all(&journal, [chatty.create(), quiet.create()]).await;
    let flood: Vec<_> = (0..5_000).map(|_| event(&mut chatty)).collect();
    let mut flood: Vec<_> = flood.into_iter().map(|transition| maybe_done(journal.commit(transition))).collect();
    // All of them wait when the other one comes.
    let mut context = Context::from_waker(Waker::noop());
    for commit in &mut flood {
        let _ = commit.poll_unpin(&mut context);
    }
    let before = journal.metrics().jobs;
    let (quiet, _) = tokio::join!(journal.commit(event(&mut quiet)), join_all(flood.iter_mut()));
    for commit in &mut flood {
        Pin::new(commit).take_output().expect("it is done").unwrap();
    }
    // The group that was being written, the queue, and itself.
    let seq = quiet.unwrap().records[0].seq.unwrap().0;
    let bound = before + 2 * Options::default().lane.get() as u64 + 1;
    assert!(seq <= bound, "{seq} events were committed up to it, {before} before it came");
    let metrics = journal.metrics();
    assert_eq!((metrics.queued, metrics.waiting), (0, 0));
    assert_eq!(metrics.group_sizes.count(), metrics.groups);
    assert_eq!(metrics.sync_micros.count(), metrics.groups);
}

#[tokio::test]
async fn a_full_queue_makes_its_callers_wait_and_loses_none() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    (options.queue, options.lane, options.group) = (number(1), number(1), number(1));
    let journal = SqliteJournal::open(folder.path(), options).unwrap();
    let mut scripts: Vec<_> = (0..10).map(|number| Script::new(&format!("s{number}"))).collect();
    commit_all(&journal, scripts.iter_mut().map(Script::create)).await;
    let all: Vec<_> = scripts.iter_mut().flat_map(|script| [(); 10].map(|()| event(script))).collect();
    let outcomes = join_all(all.into_iter().map(|transition| journal.commit(transition))).await;
    assert!(outcomes.iter().all(Result::is_ok), "{:?}", outcomes.iter().find(|outcome| outcome.is_err()));
    assert_eq!(journal.metrics().largest_group, 1);
}

#[tokio::test]
async fn after_a_sync_that_failed_the_store_is_opened_anew_and_the_commit_is_done_once() {
    let (faults, folder) = (Faults::register(), tempfile::tempdir().unwrap());
    let (journal, mut script) = (open_on(&faults, folder.path()), Script::new("notes"));
    commit_all(&journal, [script.create()]).await;
    let moved = faults.count(Class::Sync, Some(Role::Database));
    faults.inject(Fault::nth(Class::Sync, 1, Effect::Fail(code::SQLITE_IOERR_FSYNC)).of(Role::Wal));
    commit_all(&journal, [script.submit("hello")]).await;
    let metrics = journal.metrics();
    assert_eq!((metrics.retried_groups, metrics.reopened, metrics.failed_jobs), (1, 1, 0));
    assert!(faults.count(Class::Sync, Some(Role::Database)) > moved, "the log was brought into the database");
    assert_eq!(head(&journal, &script).await, Ordinal(2));
    check_soundness(&journal, &script).await;
}

#[tokio::test]
async fn while_the_disk_fails_jobs_are_answered_and_each_group_tries_anew() {
    let (faults, folder) = (Faults::register(), tempfile::tempdir().unwrap());
    faults.skip_sleeps(true);
    let (journal, mut script) = (open_on(&faults, folder.path()), Script::new("notes"));
    let mut others: Vec<_> = (0..8).map(|number| Script::new(&format!("s{number}"))).collect();
    commit_all(&journal, [script.create()]).await;
    commit_all(&journal, others.iter_mut().map(Script::create)).await;
    faults.inject(Fault::each(Class::Sync, Effect::Fail(code::SQLITE_IOERR_FSYNC)));
    faults.inject(Fault::each(Class::Open, Effect::Fail(code::SQLITE_CANTOPEN)));
    let refused = script.submit("hello");
    assert!(matches!(refusal(&journal, refused.clone()).await, CommitError::Io { .. }));
    let (opens, groups) = (faults.count(Class::Open, Some(Role::Database)), journal.metrics().retried_groups);
    let transitions: Vec<_> = others.iter_mut().map(|other| other.submit("x")).collect();
    let outcomes = join_all(transitions.iter().map(|transition| journal.commit(transition.clone()))).await;
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Err(CommitError::Io { .. }))), "{outcomes:?}");
    let (opens, groups) =
        (faults.count(Class::Open, Some(Role::Database)) - opens, journal.metrics().retried_groups - groups);
    assert_eq!(opens, groups, "the store is tried once a group, not once a job");
    assert_eq!(journal.metrics().reopened, 0);

    faults.heal();
    assert_eq!(head(&journal, &script).await, Ordinal(1), "nothing of it is there");
    commit_all(&journal, [refused]).await;
    commit_all(&journal, transitions).await;
    assert_eq!(journal.metrics().reopened, 1);
    check_soundness(&journal, &script).await;
}

/// A sync fails, the store is opened anew, and at some point of that the power goes.
#[tokio::test]
async fn what_a_failed_sync_left_in_the_log_is_not_taken_over() {
    let (faults, folder) = (Faults::register(), tempfile::tempdir().unwrap());
    faults.skip_syncs(true);
    faults.record();
    let mut script = Script::new("notes");
    {
        let journal = open_on(&faults, folder.path());
        commit_all(&journal, [script.create()]).await;
        commit_all(&journal, script.turn_without_tools("hello", "hi")).await;
        faults.mark("acknowledged");
        // The commit, and each try to bring the log into the database, also the one of a connection that closes.
        faults.inject(Fault::each(Class::Sync, Effect::Fail(code::SQLITE_IOERR_FSYNC)));
        let refused = script.submit("more");
        assert!(matches!(refusal(&journal, refused.clone()).await, CommitError::Io { .. }));
        faults.heal();
        commit_all(&journal, [refused]).await;
        faults.mark("acknowledged");
    }
    let log = faults.take_log();
    let mut disk = Disk::new(&log);
    for position in 0..=log.len() {
        disk.advance(position);
        for variant in [Variant::NothingUnsynced, Variant::AllUnsynced, Variant::Pages(position as u64)] {
            let folder = tempfile::tempdir().unwrap();
            disk.crash(variant).write_to(folder.path()).unwrap();
            let journal = open_on(&faults, folder.path());
            let found = head(&journal, &script).await.0;
            let least = [0, 6, 7][log.marks(position).count()];
            assert!(found >= least, "{found} of {least} records after {variant:?} at {position}");
            if found > 0 {
                check_soundness(&journal, &script).await;
            }
        }
    }
}

#[tokio::test]
async fn a_foreign_lock_is_busy_and_loses_nothing() {
    let (faults, folder) = (Faults::register(), tempfile::tempdir().unwrap());
    faults.skip_sleeps(true);
    let journal = open_on(&faults, folder.path());
    let mut scripts: Vec<_> = (0..8).map(|number| Script::new(&format!("s{number}"))).collect();
    commit_all(&journal, scripts.iter_mut().map(Script::create)).await;
    let foreign = Connection::open(folder.path().join("journal.sqlite")).unwrap();
    foreign.execute_batch("BEGIN IMMEDIATE").unwrap();
    let transitions: Vec<_> = scripts.iter_mut().map(|script| script.submit("x")).collect();
    let outcomes = join_all(transitions.iter().map(|transition| journal.commit(transition.clone()))).await;
    for outcome in &outcomes {
        assert!(matches!(outcome, Err(error @ CommitError::Busy) if error.is_retryable()), "{outcome:?}");
    }
    assert_eq!((journal.metrics().refused_busy, journal.metrics().reopened), (8, 0));
    foreign.execute_batch("ROLLBACK").unwrap();
    commit_all(&journal, transitions).await;
}

#[tokio::test]
async fn a_log_that_a_reader_holds_has_a_bound() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.log = NonZeroU64::new(256 << 10).unwrap();
    let bound = options.log.get();
    let (journal, mut script) = (SqliteJournal::open(folder.path(), options).unwrap(), Script::new("notes"));
    commit_all(&journal, [script.create()]).await;
    let foreign = Connection::open(folder.path().join("journal.sqlite")).unwrap();
    foreign.execute_batch("BEGIN").unwrap();
    foreign.query_row("SELECT count(*) FROM records", [], |_| Ok(())).unwrap();

    let mut refused = script.submit("x");
    let error = loop {
        match journal.commit(refused.clone()).await {
            Ok(_) => refused = script.submit("x"),
            Err(error) => break error,
        }
        assert!(journal.metrics().log_bytes < 2 * bound, "it has no bound");
    };
    assert!(error == CommitError::LogHeld && error.is_retryable(), "{error:?}");
    assert!(journal.metrics().log_bytes >= bound - 5_000, "{:?}", journal.metrics());
    assert_eq!(journal.metrics().refused_busy, 1);
    refused.priority = Priority::Terminal;
    commit_all(&journal, [refused]).await;
    let next = script.submit("x");
    assert_eq!(refusal(&journal, next.clone()).await, CommitError::LogHeld);

    foreign.execute_batch("COMMIT").unwrap();
    commit_all(&journal, [next]).await;
    assert!(journal.metrics().log_bytes < bound / 2, "{:?}", journal.metrics());
    check_soundness(&journal, &script).await;
}
