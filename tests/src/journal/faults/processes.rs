//! C02: another process has the folder, or keeps SQLite's lock.

use mainstay_journal::{CommitError, Journal, OpenError, Options, SqliteJournal};
use rusqlite::Connection;

use super::{
    super::script::{Script, commit_all, head, refusal},
    open_on, process, quick, scratch,
};

#[tokio::test]
async fn c02_a_second_process_is_kept_out_until_the_first_is_gone() {
    let folder = scratch();
    let holder = process::Holder::start(process::part("processes::part_holds_the_journal", folder.path()));
    let error = SqliteJournal::open(folder.path(), Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::Locked { pid } if pid == Some(holder.pid())), "{error:?}");
    // However it goes: the system lets go of the folder.
    holder.kill();
    let journal = SqliteJournal::open(folder.path(), Options::default()).expect("nobody has it");
    assert_eq!(head(&journal, &Script::new("notes")).await.0, 1, "what the other had acknowledged is there");
}

#[tokio::test]
#[ignore = "a part of another test, as a process of its own"]
async fn part_holds_the_journal() {
    let journal = SqliteJournal::open(&process::folder(), Options::default()).expect("it opens");
    commit_all(&journal, [Script::new("notes").create()]).await;
    process::hold();
}

#[tokio::test]
async fn c02_a_lock_of_another_process_is_busy_and_loses_nothing() {
    let (folder, faults) = (scratch(), quick());
    // The journal waits for seconds before it says so; the test does not.
    faults.skip_sleeps(true);
    let journal = open_on(&faults, folder.path()).expect("it opens");
    let mut script = Script::new("notes");
    commit_all(&journal, [script.create()]).await;

    let holder = process::Holder::start(process::part("processes::part_holds_sqlites_lock", folder.path()));
    let submitted = script.submit("hello");
    let error = refusal(&journal, submitted.clone()).await;
    assert!(error == CommitError::Busy && error.is_retryable(), "{error:?}");
    assert_eq!(head(&journal, &script).await.0, 1, "and it can be read meanwhile");
    drop(journal);
    let error = open_on(&faults, folder.path()).unwrap_err();
    assert!(matches!(error, OpenError::Busy), "{error:?}");
    holder.release();

    let journal = open_on(&faults, folder.path()).expect("nobody has it");
    commit_all(&journal, [submitted]).await;
    let holder = process::Holder::start(process::part("processes::part_holds_sqlites_lock", folder.path()));
    let started = script.start("hello");
    assert_eq!(refusal(&journal, started.clone()).await, CommitError::Busy);
    holder.release();
    commit_all(&journal, [started]).await;
    assert!(journal.verify(&script.tenant, &script.session).await.unwrap().unwrap().is_sound());
}

#[test]
#[ignore = "a part of another test, as a process of its own"]
fn part_holds_sqlites_lock() {
    let connection = Connection::open(process::folder().join("journal.sqlite")).expect("it opens");
    connection.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes just now");
    process::hold();
}

#[tokio::test]
async fn c02_a_lock_that_is_let_go_in_time_is_no_error() {
    let (folder, faults) = (scratch(), quick());
    let journal = open_on(&faults, folder.path()).expect("it opens");
    let mut script = Script::new("notes");
    commit_all(&journal, [script.create()]).await;
    let holder = process::Holder::start(process::part("processes::part_holds_sqlites_lock", folder.path()));
    let (outcome, ()) = tokio::join!(journal.commit(script.submit("hello")), async { holder.release() });
    outcome.expect("it waited");
}
