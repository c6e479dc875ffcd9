//! The writer: many sessions share a barrier, and none spoils another's.

use std::{
    sync::{Arc, Mutex},
    task::{Context, Waker},
};

use futures::future::join_all;
use mainstay_journal::{CommitError, Journal, Options, SqliteJournal, testing};
use mainstay_protocol::Ordinal;

use super::script::{Script, commit_all, head, open, refusal};

#[tokio::test(flavor = "multi_thread")]
async fn sessions_share_barriers() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let mut scripts: Vec<_> = (0..64).map(|number| Script::new(&format!("s{number}"))).collect();
    for _ in 0..4 {
        let jobs = scripts
            .iter_mut()
            .map(|script| if script.state.head().0 == 0 { script.create() } else { script.submit("x") });
        let commits = join_all(jobs.map(|transition| journal.commit(transition))).await;
        assert!(commits.iter().all(Result::is_ok));
    }
    let metrics = journal.metrics();
    assert_eq!((metrics.jobs, metrics.failed_jobs), (256, 0));
    assert!(metrics.groups < 64, "{metrics:?}");
    assert!(metrics.largest_group > 1, "{metrics:?}");
    for script in &scripts {
        assert_eq!(head(&journal, script).await, Ordinal(4));
        assert!(journal.verify(&script.tenant, &script.session).await.unwrap().unwrap().is_sound());
    }
}

#[tokio::test]
async fn one_commit_alone_is_one_barrier() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    commit_all(&journal, [script.create()]).await;
    let before = journal.metrics().groups;
    commit_all(&journal, script.turn_without_tools("hello", "hi")).await;
    assert_eq!(journal.metrics().groups - before, 3);
}

#[tokio::test]
async fn a_refused_job_does_not_spoil_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let mut scripts: Vec<_> = (0..8).map(|number| Script::new(&format!("s{number}"))).collect();
    let mut transitions: Vec<_> = scripts.iter_mut().map(Script::create).collect();
    transitions[3].expected = Ordinal(7);
    transitions[3].state = {
        let mut ahead = Script::new("ahead");
        (0..8).for_each(|_| drop(ahead.submit("x")));
        ahead.state
    };
    let outcomes = join_all(transitions.into_iter().map(|transition| journal.commit(transition))).await;
    for (number, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Err(error) => {
                assert_eq!((number, error), (3, CommitError::Conflict { expected: Ordinal(7), found: Ordinal(0) }));
            }
            Ok(_) => assert_eq!(head(&journal, &scripts[number]).await, Ordinal(1)),
        }
    }
    assert_eq!(head(&journal, &scripts[3]).await, Ordinal(0), "not even the session is there");
}

#[tokio::test]
async fn a_group_that_fails_is_tried_job_by_job() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let (mut good, mut bad) = (Script::new("good"), Script::new("bad"));
    commit_all(&journal, [good.create(), bad.create()]).await;
    // A trigger that rolls back the whole transaction, as a full disk may.
    let trigger =
        "CREATE TRIGGER spoil BEFORE UPDATE ON heads WHEN new.session = 2 BEGIN SELECT RAISE(ROLLBACK, 'spoiled'); END";
    testing::execute_sql(folder.path(), trigger).unwrap();
    let (one, other) = tokio::join!(journal.commit(good.submit("x")), journal.commit(bad.submit("x")));
    assert!(one.is_ok(), "{one:?}");
    assert!(other.is_err());
    assert_eq!((head(&journal, &good).await, head(&journal, &bad).await), (Ordinal(2), Ordinal(1)));
}

#[tokio::test]
async fn a_fenced_writer_writes_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    commit_all(&journal, [script.create()]).await;
    testing::take_lease(folder.path()).unwrap();
    assert_eq!(refusal(&journal, script.submit("x")).await, CommitError::Fenced);
    assert_eq!(head(&journal, &script).await, Ordinal(1));
}

#[tokio::test]
async fn the_probe_sees_each_point_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut options = Options::default();
    options.probe = Some(Arc::new({
        let seen = seen.clone();
        move |point| seen.lock().unwrap().push(point)
    }));
    let journal = SqliteJournal::open(folder.path(), options).unwrap();
    commit_all(&journal, [Script::new("notes").create()]).await;
    assert_eq!(*seen.lock().unwrap(), ["journal.before-commit", "journal.after-commit", "journal.before-reply"]);
}

#[tokio::test]
async fn dropping_the_journal_finishes_what_was_queued() {
    let folder = tempfile::tempdir().unwrap();
    let mut script = Script::new("notes");
    let journal = open(folder.path());
    {
        let mut commit = journal.commit(script.create());
        assert!(commit.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    drop(journal);
    assert_eq!(head(&open(folder.path()), &script).await, Ordinal(1));
}
