//! The writer's answers to failures that no disk brings about on demand: jobs that count what is done with them.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use mainstay_protocol::{
    SessionId, TenantId, Timestamp,
    record::{
        NewRecord, RecordBody,
        v1::{Activity, ActivityChanged},
    },
};
use mainstay_session::{State, evolve};
use rusqlite::{Connection, Error, ffi};
use tokio::sync::{mpsc, oneshot};

use super::{
    Reserve,
    store::Store,
    thread::Thread,
    transaction::Entry,
    trouble::{Failed, Stage},
};
use crate::{
    Commit, CommitError, Committed, Priority, Transition,
    connection::{self, StoreFile},
    lease,
    metrics::Counters,
    migrations,
    write::{AppendHostRecords, CommitTransition, Failure, Forget, Job, Lane, Prepared},
};

/// Writes its name as a global value, and can tell whether it is there.
struct Note {
    name: &'static str,
    priority: Priority,
    told: Arc<Told>,
}

#[derive(Default)]
struct Told {
    applied: AtomicUsize,
    answers: Mutex<Vec<(&'static str, Result<(), CommitError>)>>,
}

impl Job for Note {
    fn lane(&self) -> Option<&Lane> {
        None
    }

    fn priority(&self) -> Priority {
        self.priority
    }

    fn apply(&mut self, connection: &Connection) -> Result<(), Failure> {
        self.told.applied.fetch_add(1, Relaxed);
        // Fails when it is there already.
        connection.execute("INSERT INTO globals (key, value) VALUES (?1, x'00')", [self.name])?;
        Ok(())
    }

    fn landed(&self, connection: &Connection) -> rusqlite::Result<Option<bool>> {
        let sql = "SELECT EXISTS (SELECT 1 FROM globals WHERE key = ?1)";
        connection.query_row(sql, [self.name], |row| row.get(0)).map(Some)
    }

    fn answer(self: Box<Self>, outcome: Result<(), CommitError>) {
        self.told.answers.lock().unwrap().push((self.name, outcome));
    }
}

fn group(told: &Arc<Told>, names: &[&'static str]) -> Vec<Entry> {
    let note = |name: &&'static str| Note { name, priority: Priority::Normal, told: told.clone() };
    names.iter().map(|name| Entry::new(Box::new(note(name)))).collect()
}

fn thread(folder: &Path) -> Thread {
    let file = StoreFile::of(folder, None);
    std::fs::write(&file.path, b"").unwrap();
    let mut connection = connection::open_writer(&file).unwrap();
    migrations::migrate(&mut connection, &file.path).unwrap();
    let epoch = lease::take(&connection).unwrap();
    let counters = Arc::new(Counters::new());
    let mut reserve = Reserve::find(folder, 4096);
    reserve.pause = std::time::Duration::MAX;
    let store = Store::new(file, epoch, connection, reserve, 1 << 20, counters.clone()).unwrap();
    Thread::new(store, mpsc::channel(1).1, 128, None, counters)
}

/// A transition of one record.
fn step(state: &mut State, reply: oneshot::Sender<Result<Committed<Commit>, CommitError>>) -> Entry {
    step_of("notes", state, reply)
}

fn step_of(session: &str, state: &mut State, reply: oneshot::Sender<Result<Committed<Commit>, CommitError>>) -> Entry {
    let expected = state.head();
    let body = RecordBody::ActivityChanged(ActivityChanged { activity: Activity::Working, details: None });
    evolve(state, &body);
    let (tenant, session) = (TenantId::default_tenant(), SessionId::new(session).unwrap());
    let records = vec![NewRecord { at: Timestamp(1), body }];
    let transition = Transition::new(tenant, session, expected, records, state.clone());
    Entry::new(Box::new(CommitTransition::new(Prepared::new(transition).unwrap(), reply)))
}

fn failed(stage: Stage, code: i32) -> Failed {
    Failed { stage, error: Error::SqliteFailure(ffi::Error::new(code), None) }
}

fn outcomes(group: &[Entry]) -> Vec<Option<Result<(), CommitError>>> {
    group.iter().map(|entry| entry.outcome.clone()).collect()
}

#[test]
fn a_commit_that_reports_an_error_and_is_durable_is_no_failure_and_is_done_once() {
    let (folder, told) = (tempfile::tempdir().unwrap(), Arc::new(Told::default()));
    let mut thread = thread(folder.path());
    let mut group = group(&told, &["one", "other", "one"]);
    thread.transact(&mut group).unwrap();
    let refused = Some(Err(CommitError::Integrity { rule: "a row breaks a constraint" }));
    assert_eq!(outcomes(&group), [Some(Ok(())), Some(Ok(())), refused.clone()]);
    thread.retry(&mut group, &failed(Stage::Committing, ffi::SQLITE_IOERR_FSYNC));
    assert_eq!(outcomes(&group), [Some(Ok(())), Some(Ok(())), refused], "its outcomes stand");
    assert_eq!(told.applied.load(Relaxed), 3);
}

#[test]
fn transitions_and_records_of_the_host_know_their_own_commit_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut thread = thread(folder.path());
    let (mut state, mut answers) = (State::default(), Vec::new());
    let mut group = Vec::new();
    // The session's head is that of the second one when the first looks for itself.
    for _ in 0..2 {
        let (reply, answer) = oneshot::channel();
        group.push(step(&mut state, reply));
        answers.push(answer);
    }
    let body = RecordBody::ActivityChanged(ActivityChanged { activity: Activity::Idle, details: None });
    let record = NewRecord { at: Timestamp(1), body };
    let (reply, host) = oneshot::channel();
    group.push(Entry::new(Box::new(AppendHostRecords::new(vec![record], Vec::new(), reply).unwrap())));

    let landed = |thread: &mut Thread, group: &[Entry]| -> Vec<_> {
        let connection = thread.store.connection().unwrap();
        group.iter().map(|entry| entry.job.landed(connection).unwrap()).collect()
    };
    assert_eq!(landed(&mut thread, &group), [None, None, None], "none has been applied");
    thread.transact(&mut group).unwrap();
    assert_eq!(landed(&mut thread, &group), [Some(true), Some(true), Some(true)]);
    thread.retry(&mut group, &failed(Stage::Committing, ffi::SQLITE_IOERR_FSYNC));
    group.into_iter().for_each(|entry| thread.answer(entry));
    for (index, mut answer) in answers.into_iter().enumerate() {
        assert_eq!(answer.try_recv().unwrap().unwrap().records[0].ordinal.0, index as u64 + 1);
    }
    assert_eq!({ host }.try_recv().unwrap().unwrap().len(), 1);
    let records = "SELECT count(*) FROM records";
    let count: i64 = thread.store.connection().unwrap().query_row(records, [], |row| row.get(0)).unwrap();
    assert_eq!(count, 3, "nothing was done twice");
}

/// A session's commit, the forgetting of that session, and what others want meanwhile.
fn forgetting_group() -> Vec<Entry> {
    let lane = Lane { tenant: TenantId::default_tenant(), session: SessionId::new("notes").unwrap() };
    let body = RecordBody::ActivityChanged(ActivityChanged { activity: Activity::Idle, details: None });
    let host = AppendHostRecords::new(vec![NewRecord { at: Timestamp(1), body }], Vec::new(), oneshot::channel().0);
    vec![
        step(&mut State::default(), oneshot::channel().0),
        Entry::new(Box::new(Forget::new(lane, Timestamp(2), oneshot::channel().0))),
        step_of("others", &mut State::default(), oneshot::channel().0),
        Entry::new(Box::new(host.unwrap())),
    ]
}

#[test]
fn a_commit_whose_session_is_forgotten_in_the_same_group_leaves_the_answer_to_the_forgetting() {
    let folder = tempfile::tempdir().unwrap();
    let mut thread = thread(folder.path());
    let mut group = forgetting_group();
    thread.transact(&mut group).unwrap();
    let connection = thread.store.connection().unwrap();
    let landed: Vec<_> = group.iter().map(|entry| entry.job.landed(connection).unwrap()).collect();
    assert_eq!(landed, [None, Some(true), Some(true), Some(true)]);
    thread.retry(&mut group, &failed(Stage::Committing, ffi::SQLITE_IOERR_FSYNC));
    assert_eq!(outcomes(&group), vec![Some(Ok(())); 4], "its outcomes stand");
    let records = "SELECT count(*) FROM records";
    let count: i64 = thread.store.connection().unwrap().query_row(records, [], |row| row.get(0)).unwrap();
    assert_eq!(count, 3, "nothing was done twice");
}

#[test]
fn a_forgetting_that_was_rolled_back_is_done_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut thread = thread(folder.path());
    let mut group = forgetting_group();
    let connection = thread.store.connection().unwrap();
    connection.execute_batch("BEGIN").unwrap();
    for entry in &mut group {
        entry.job.apply(connection).unwrap();
        entry.outcome = Some(Ok(()));
    }
    connection.execute_batch("ROLLBACK").unwrap();
    let landed: Vec<_> = group.iter().map(|entry| entry.job.landed(connection).unwrap()).collect();
    assert_eq!(landed, [Some(false); 4]);
    thread.retry(&mut group, &failed(Stage::Committing, ffi::SQLITE_IOERR_FSYNC));
    assert_eq!(outcomes(&group), vec![Some(Ok(())); 4]);
    let count = "SELECT (SELECT count(*) FROM records) * 10 + (SELECT count(*) FROM forgotten)";
    let count: i64 = thread.store.connection().unwrap().query_row(count, [], |row| row.get(0)).unwrap();
    assert_eq!(count, 31);
    // One that was forgotten before has nothing to tell by.
    let again = &mut forgetting_group()[1..2];
    thread.transact(again).unwrap();
    assert_eq!(again[0].job.landed(thread.store.connection().unwrap()).unwrap(), None);
}

#[test]
fn what_was_rolled_back_is_not_taken_for_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let mut thread = thread(folder.path());
    let (reply, _answer) = oneshot::channel();
    let mut group = [step(&mut State::default(), reply)];
    let connection = thread.store.connection().unwrap();
    connection.execute_batch("BEGIN").unwrap();
    group[0].job.apply(connection).unwrap();
    connection.execute_batch("ROLLBACK").unwrap();
    assert_eq!(group[0].job.landed(connection).unwrap(), Some(false));
    // A record with the same ordinal and another past.
    let (reply, _answer) = oneshot::channel();
    thread.transact(&mut [step(&mut State::default(), reply)]).unwrap();
    let connection = thread.store.connection().unwrap();
    connection.execute_batch("UPDATE records SET chain = zeroblob(32)").unwrap();
    assert_eq!(group[0].job.landed(connection).unwrap(), Some(false));
}

#[test]
fn a_commit_that_reports_an_error_and_is_not_durable_is_done_again() {
    let (folder, told) = (tempfile::tempdir().unwrap(), Arc::new(Told::default()));
    let mut thread = thread(folder.path());
    let mut group = group(&told, &["one", "other"]);
    group.iter_mut().for_each(|entry| entry.outcome = Some(Ok(())));
    thread.retry(&mut group, &failed(Stage::Committing, ffi::SQLITE_IOERR_FSYNC));
    assert_eq!(outcomes(&group), [Some(Ok(())), Some(Ok(()))]);
    assert_eq!(told.applied.load(Relaxed), 2);
    assert!(group[1].job.landed(thread.store.connection().unwrap()).unwrap().unwrap());
}

#[test]
fn a_foreign_lock_is_waited_for_once_and_not_again_by_each_job() {
    let (folder, told) = (tempfile::tempdir().unwrap(), Arc::new(Told::default()));
    let mut thread = thread(folder.path());
    let mut group = group(&told, &["one", "other"]);
    thread.retry(&mut group, &failed(Stage::Applying, ffi::SQLITE_BUSY));
    assert_eq!(outcomes(&group), [Some(Err(CommitError::Busy)), Some(Err(CommitError::Busy))]);
    assert_eq!(told.applied.load(Relaxed), 0);
}

#[test]
fn a_store_that_does_not_open_is_tried_once_a_group() {
    let (folder, told) = (tempfile::tempdir().unwrap(), Arc::new(Told::default()));
    let mut thread = thread(folder.path());
    let mut group = group(&told, &["one", "other"]);
    thread.retry(&mut group, &failed(Stage::Opening, ffi::SQLITE_CANTOPEN));
    assert!(outcomes(&group).iter().all(|outcome| matches!(outcome, Some(Err(CommitError::Io { .. })))));
    assert_eq!(told.applied.load(Relaxed), 0);
}

#[test]
fn in_a_group_that_found_no_room_only_what_must_end_gets_the_reserve() {
    let (folder, told) = (tempfile::tempdir().unwrap(), Arc::new(Told::default()));
    let mut thread = thread(folder.path());
    // As if a job of this group, or of one before, had spent it.
    assert!(thread.store.spend_reserve());
    let mut group = group(&told, &["one"]);
    let last = Note { name: "last", priority: Priority::Terminal, told: told.clone() };
    group.push(Entry::new(Box::new(last)));
    thread.retry(&mut group, &failed(Stage::Applying, ffi::SQLITE_FULL));
    assert_eq!(outcomes(&group), [Some(Err(CommitError::DiskFull)), Some(Ok(()))]);
    assert_eq!(told.applied.load(Relaxed), 1);
}

#[test]
fn each_job_is_answered_with_its_outcome() {
    let (folder, told) = (tempfile::tempdir().unwrap(), Arc::new(Told::default()));
    let mut thread = thread(folder.path());
    thread.store.spend_reserve();
    let mut group = group(&told, &["one"]);
    group.push(Entry::new(Box::new(Note { name: "last", priority: Priority::Terminal, told: told.clone() })));
    thread.commit(group).into_iter().for_each(|entry| thread.answer(entry));
    assert_eq!(*told.answers.lock().unwrap(), [("last", Ok(())), ("one", Err(CommitError::DiskFull))]);
}
