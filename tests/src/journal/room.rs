//! The disk reserve: on a full disk what must end is written, nothing else is, and nothing is lost.

use std::{
    fs,
    num::NonZeroU64,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use mainstay_faults::{Class, Effect, Fault, Faults, Role, code};
use mainstay_journal::{CommitError, Journal, OpenError, Options, Priority, ReserveState, SqliteJournal, Transition};
use mainstay_protocol::{Ordinal, Timestamp, record::NewRecord};

use super::script::{Script, commit_all, head, open, refusal};

const RESERVE: u64 = 200_000;

fn options(faults: &Faults) -> Options {
    let mut options = Options::default();
    options.vfs = Some(faults.name());
    options.reserve = NonZeroU64::new(RESERVE).unwrap();
    options
}

/// A journal on a disk that can be filled, and has room again once the reserve was given up.
fn open_on(faults: &Arc<Faults>, folder: &Path) -> SqliteJournal {
    let mut options = options(faults);
    options.probe = Some(Arc::new({
        let faults = faults.clone();
        move |point| {
            if point == "journal.reserve-spent" {
                faults.heal();
            }
        }
    }));
    SqliteJournal::open(folder, options).unwrap()
}

fn fill(faults: &Faults) {
    for role in [Role::Wal, Role::Database] {
        faults.inject(Fault::each(Class::Write, Effect::Fail(code::SQLITE_FULL)).of(role));
    }
}

fn reserve(folder: &Path) -> PathBuf {
    folder.join("reserve")
}

fn last(mut transition: Transition) -> Transition {
    transition.priority = Priority::Terminal;
    transition
}

#[tokio::test]
async fn the_reserve_is_room_that_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let file = reserve(folder.path()).metadata().unwrap();
    assert_eq!(file.len(), Options::default().reserve.get());
    assert!(file.blocks() * 512 >= file.len(), "it has holes");
    assert_eq!(journal.metrics().reserve, ReserveState::Held);
}

#[tokio::test]
async fn a_full_disk_refuses_and_keeps_its_reserve_for_what_must_end() {
    let (faults, folder) = (Arc::new(Faults::register()), tempfile::tempdir().unwrap());
    let (journal, mut script) = (open_on(&faults, folder.path()), Script::new("notes"));
    commit_all(&journal, [script.create(), script.submit("one"), script.start("one")]).await;
    fill(&faults);
    // The same turn may go on later or end now.
    let mut other = script.clone();
    let refused = script.submit("two");
    let error = refusal(&journal, refused).await;
    assert!(error == CommitError::DiskFull && error.is_retryable());
    assert_eq!(journal.metrics().reserve, ReserveState::Held, "an ordinary job does not get it");
    assert_eq!(head(&journal, &other).await, Ordinal(4));

    commit_all(&journal, [last(other.finish("done"))]).await;
    let metrics = journal.metrics();
    assert_eq!((metrics.reserve, metrics.reopened, metrics.refused_full), (ReserveState::Spent, 0, 1));
    assert_eq!(reserve(folder.path()).metadata().unwrap().len(), 0);
    assert_eq!(head(&journal, &other).await, Ordinal(6));
    assert!(journal.verify(&other.tenant, &other.session).await.unwrap().unwrap().is_sound());
}

#[tokio::test]
async fn a_spent_reserve_is_made_again_before_anything_ordinary_is_written() {
    let (faults, folder) = (Arc::new(Faults::register()), tempfile::tempdir().unwrap());
    let (journal, mut script) = (open_on(&faults, folder.path()), Script::new("notes"));
    commit_all(&journal, [script.create()]).await;
    fill(&faults);
    commit_all(&journal, [last(script.submit("one"))]).await;
    commit_all(&journal, [last(script.submit("two"))]).await;
    let record = NewRecord { at: Timestamp(1), body: Script::new("other").create().records[0].body.clone() };
    assert!(journal.append_host_records(vec![record], Vec::new()).await.is_ok(), "the host's own records too");

    let next = script.submit("three");
    while let Err(error) = journal.commit(next.clone()).await {
        assert_eq!(error, CommitError::DiskFull);
        tokio::task::yield_now().await;
    }
    assert_eq!(journal.metrics().reserve, ReserveState::Held);
    assert_eq!(reserve(folder.path()).metadata().unwrap().len(), RESERVE);
}

#[tokio::test]
async fn a_full_disk_opens_with_the_room_of_the_reserve() {
    let (faults, folder) = (Faults::register(), tempfile::tempdir().unwrap());
    let mut script = Script::new("notes");
    commit_all(&SqliteJournal::open(folder.path(), options(&faults)).unwrap(), [script.create()]).await;
    faults.inject(Fault::nth(Class::Write, 1, Effect::Fail(code::SQLITE_FULL)));
    let journal = SqliteJournal::open(folder.path(), options(&faults)).unwrap();
    assert_eq!(faults.struck(), 1);
    assert_eq!(journal.metrics().reserve, ReserveState::Spent);
    commit_all(&journal, [last(script.submit("one"))]).await;
    drop(journal);
    // Without one there is nothing to give.
    fs::write(reserve(folder.path()), b"").unwrap();
    faults.inject(Fault::nth(Class::Write, 1, Effect::Fail(code::SQLITE_FULL)));
    let error = SqliteJournal::open(folder.path(), options(&faults)).unwrap_err();
    assert!(matches!(error, OpenError::DiskFull), "{error}");
}
