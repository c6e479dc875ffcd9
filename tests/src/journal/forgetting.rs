//! Forgetting a session: nobody finds it any more, nothing revives it, its rows go in pieces, and a kill anywhere in between
//! changes none of that.

mod damage;
mod sweeps;

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
    task::{Context, Waker},
};

use mainstay_journal::{
    CommitError, FeedFilter, FeedQuery, Journal, Options, Range, ReadError, SessionsQuery, SqliteJournal, StateWrite,
    host_session, host_tenant, testing,
};
use mainstay_protocol::{
    AcceptedOrdinal, Digest, PluginName, TenantId, Timestamp,
    record::{NewRecord, RecordBody, v1::PluginLifecycle},
};

use super::script::{Script, commit_all, open, refusal};

const AT: Timestamp = Timestamp(1_800_000_000_000);
/// Tables with a session's rows.
const TABLES: [&str; 9] =
    ["heads", "records", "feed", "items", "queue", "submissions", "plugin_state", "executions", "blob_uses"];

/// Rows that are left of all sessions.
fn rows(folder: &Path) -> i64 {
    let counts = TABLES.map(|table| format!("(SELECT count(*) FROM {table})")).join(" + ");
    testing::query_number(folder, &format!("SELECT {counts}")).unwrap()
}

fn pending(folder: &Path) -> i64 {
    testing::query_number(folder, "SELECT count(*) FROM forgotten WHERE session IS NOT NULL").unwrap()
}

/// A session with some of everything, and `waiting` messages in its queue.
async fn fill(journal: &SqliteJournal, session: &str, waiting: usize) -> Script {
    let mut script = Script::new(session);
    let mut create = script.create();
    let plugin = PluginName::new("files").unwrap();
    create.plugin_state.push(StateWrite { plugin, key: "k".to_owned(), value: Some(vec![1]) });
    commit_all(journal, [create]).await;
    commit_all(journal, script.turn_without_tools("hello", &"large ".repeat(5_000))).await;
    for _ in 0..waiting {
        commit_all(journal, [script.submit("and more")]).await;
    }
    script
}

async fn forget(journal: &SqliteJournal, script: &Script) -> Result<(), CommitError> {
    journal.forget(&script.tenant, &script.session, AT).await.map(drop)
}

/// Waits until nothing is left of forgotten sessions: each round trip through the writer lets a piece pass.
async fn swept(journal: &SqliteJournal) {
    for _ in 0..1_000 {
        if pending(journal.folder()) == 0 {
            return;
        }
        journal.set_global("round".to_owned(), None).await.unwrap();
    }
    panic!("something is left of a forgotten session: {} rows", rows(journal.folder()));
}

/// Every way to read a session, or to write to it, says that it is gone.
async fn is_gone(journal: &SqliteJournal, script: &Script) {
    let (tenant, session) = (&script.tenant, &script.session);
    let plugin = PluginName::new("files").unwrap();
    assert_eq!(journal.open_session(tenant, session).await.unwrap_err(), ReadError::Gone);
    assert_eq!(journal.records(tenant, session, Range::forward(1)).await.unwrap_err(), ReadError::Gone);
    assert_eq!(journal.items(tenant, session, Range::forward(1)).await.unwrap_err(), ReadError::Gone);
    assert_eq!(journal.executions(tenant, session, Range::forward(1)).await.unwrap_err(), ReadError::Gone);
    assert_eq!(journal.queued(tenant, session, AcceptedOrdinal(2)).await.unwrap_err(), ReadError::Gone);
    assert_eq!(journal.submission(tenant, session, &script.submission()).await.unwrap_err(), ReadError::Gone);
    assert_eq!(journal.state_value(tenant, session, &plugin, "k").await.unwrap_err(), ReadError::Gone);
    assert_eq!(journal.state_keys(tenant, session, &plugin, "").await.unwrap_err(), ReadError::Gone);
    let blob = mainstay_protocol::blob::BlobReference::new(Digest::of(b"anything"));
    assert_eq!(journal.blob_info(tenant, session, &blob).await.unwrap_err(), ReadError::Gone);
    assert_eq!(journal.blob_read(tenant, session, &blob, 0, 1).await.unwrap_err(), ReadError::Gone);
    assert_eq!(journal.replay(tenant, session, 1).await.unwrap_err(), ReadError::Gone);
    assert_eq!(journal.verify(tenant, session).await.unwrap_err(), ReadError::Gone);

    assert_eq!(refusal(journal, script.clone().submit("more")).await, CommitError::Gone);
    let mut anew = Script::new(session.as_str());
    anew.tenant = tenant.clone();
    assert_eq!(refusal(journal, anew.create()).await, CommitError::Gone, "nothing revives it");
    assert!(!CommitError::Gone.is_retryable());
    let list = journal.sessions(tenant, SessionsQuery { limit: 100, before: None }).await.unwrap().rows;
    assert!(list.iter().all(|row| row.session != *session));
    assert!(journal.sessions_with_work().await.unwrap().iter().all(|row| row.session != *session));
    let query = FeedQuery { filter: FeedFilter::default(), after: Some(journal.feed_start()), limit: 1_000 };
    let page = journal.feed(query).await.unwrap();
    assert!(page.events.iter().all(|event| event.session != *session) && page.damaged.is_empty());
}

#[tokio::test]
async fn a_forgotten_session_is_gone_and_stays_gone() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = open(folder.path());
    let script = fill(&journal, "notes", 2).await;
    let latest = journal.feed(FeedQuery { filter: FeedFilter::default(), after: None, limit: 1 }).await.unwrap().latest;
    assert_eq!(latest.seq.0, 2);
    forget(&journal, &script).await.unwrap();
    is_gone(&journal, &script).await;
    swept(&journal).await;
    is_gone(&journal, &script).await;
    assert_eq!(rows(folder.path()), 0);
    assert_eq!(testing::query_number(folder.path(), "SELECT count(*) FROM blobs").unwrap(), 0);
    assert_eq!(testing::query_number(folder.path(), "SELECT count(*) FROM blob_pieces").unwrap(), 0);
    forget(&journal, &script).await.unwrap();
    drop(journal);

    journal = open(folder.path());
    is_gone(&journal, &script).await;
    forget(&journal, &script).await.unwrap();
    let after = journal.feed(FeedQuery { filter: FeedFilter::default(), after: None, limit: 1 }).await.unwrap().latest;
    assert_eq!(after.seq, latest.seq, "the frontier survives deletion");
    let mut other = Script::new("other");
    commit_all(&journal, [other.create()]).await;
    let commits = commit_all(&journal, other.turn_without_tools("hello", "hi")).await;
    assert_eq!(commits[1].records[0].seq.unwrap().0, 3, "no place in the feed is used twice");
    assert_eq!(testing::query_number(folder.path(), "SELECT session FROM sessions").unwrap(), 2, "nor a number");
}

#[tokio::test]
async fn others_keep_what_is_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let (script, other) = (fill(&journal, "notes", 2).await, fill(&journal, "other", 1).await);
    let mut namesake = Script::new("notes");
    namesake.tenant = TenantId::new("stranger").unwrap();
    commit_all(&journal, [namesake.create()]).await;
    let query = || FeedQuery { filter: FeedFilter::default(), after: Some(journal.feed_start()), limit: 100 };
    assert_eq!(journal.feed(query()).await.unwrap().events.len(), 4);
    forget(&journal, &script).await.unwrap();
    swept(&journal).await;
    for kept in [&other, &namesake] {
        let opened = journal.open_session(&kept.tenant, &kept.session).await.unwrap().unwrap();
        assert_eq!(opened.state, kept.state);
        assert!(journal.verify(&kept.tenant, &kept.session).await.unwrap().unwrap().is_sound());
    }
    // Both sessions had the same large answer.
    let items = journal.items(&other.tenant, &other.session, Range::forward(10)).await.unwrap();
    assert_eq!((items.rows.len(), items.damaged.len()), (2, 0));
    assert_eq!(journal.feed(query()).await.unwrap().events.len(), 2);
    forget(&journal, &other).await.unwrap();
    swept(&journal).await;
    assert_eq!(testing::query_number(folder.path(), "SELECT count(*) FROM blob_pieces").unwrap(), 0);
}

#[tokio::test]
async fn what_never_was_cannot_be_forgotten_and_the_host_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let nobody = Script::new("nobody");
    assert_eq!(forget(&journal, &nobody).await, Err(CommitError::UnknownSession));
    commit_all(&journal, [Script::new("notes").create()]).await;
    assert_eq!(forget(&journal, &nobody).await, Err(CommitError::UnknownSession));
    assert!(journal.open_session(&nobody.tenant, &nobody.session).await.unwrap().is_none(), "it reads as none");

    let body = RecordBody::PluginActivated(PluginLifecycle {
        plugin: PluginName::new("files").unwrap(),
        sha256: Digest::of(b"files"),
        version: "0.1.0".to_owned(),
        replaces: None,
        reason: None,
    });
    journal.append_host_records(vec![NewRecord { at: AT, body }], Vec::new()).await.unwrap();
    let error = journal.forget(&host_tenant(), &host_session(), AT).await.unwrap_err();
    assert!(matches!(error, CommitError::Integrity { .. }), "{error}");
    let records = journal.records(&host_tenant(), &host_session(), Range::forward(10)).await.unwrap();
    assert_eq!(records.rows.len(), 1);
}

/// What a kill at each named point leaves, from the forgetting on: copies of the folder's files.
struct Kills {
    folder: tempfile::TempDir,
    armed: Arc<Mutex<bool>>,
    copies: Arc<Mutex<Vec<(&'static str, tempfile::TempDir)>>>,
}

impl Kills {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder, armed: Arc::default(), copies: Arc::default() }
    }

    fn open(&self) -> SqliteJournal {
        let mut options = Options::default();
        let (folder, armed, copies) = (self.folder.path().to_owned(), self.armed.clone(), self.copies.clone());
        options.probe = Some(Arc::new(move |point| {
            if *armed.lock().unwrap() {
                copies.lock().unwrap().push((point, copy(&folder)));
            }
        }));
        SqliteJournal::open(self.folder.path(), options).unwrap()
    }
}

/// The files as a killed process leaves them; the shared memory beside the log is made again.
fn copy(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for name in ["journal.sqlite", "journal.sqlite-wal"] {
        if folder.join(name).exists() {
            fs::copy(folder.join(name), copy.path().join(name)).unwrap();
        }
    }
    copy
}

#[tokio::test]
async fn a_kill_at_any_point_leaves_it_whole_or_gone() {
    let kills = Kills::new();
    let journal = kills.open();
    let (script, other) = (fill(&journal, "notes", 600).await, fill(&journal, "other", 0).await);
    *kills.armed.lock().unwrap() = true;
    forget(&journal, &script).await.unwrap();
    swept(&journal).await;
    drop(journal);
    let copies = std::mem::take(&mut *kills.copies.lock().unwrap());
    assert_eq!(copies[0].0, "journal.before-commit");
    assert!(copies.len() > 12, "it took several pieces: {}", copies.len());
    let mut unfinished = 0;
    for (index, (point, folder)) in copies.iter().enumerate() {
        unfinished += usize::from(index > 0 && pending(folder.path()) > 0);
        let journal = open(folder.path());
        if index == 0 {
            let opened = journal.open_session(&script.tenant, &script.session).await.unwrap().unwrap();
            assert_eq!(opened.state, script.state, "nothing was promised: it is all there");
            assert!(journal.verify(&script.tenant, &script.session).await.unwrap().unwrap().is_sound());
            continue;
        }
        is_gone(&journal, &script).await;
        swept(&journal).await;
        is_gone(&journal, &script).await;
        let left = "SELECT count(*) FROM records WHERE session = 1";
        assert_eq!(testing::query_number(folder.path(), left).unwrap(), 0, "{index} {point}");
        assert!(journal.verify(&other.tenant, &other.session).await.unwrap().unwrap().is_sound());
        drop(journal);
        let dangling = "SELECT count(*) FROM pragma_foreign_key_check";
        assert_eq!(testing::query_number(folder.path(), dangling).unwrap(), 0, "{index} {point}");
    }
    assert!(unfinished > 6, "the next start went on with it: {unfinished}");
}

#[tokio::test]
async fn its_rows_go_in_pieces_and_other_work_goes_first() {
    let folder = tempfile::tempdir().unwrap();
    let (seen, gate) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(())));
    let mut options = Options::default();
    options.group = std::num::NonZeroUsize::new(1).unwrap();
    let (of, counts, closed) = (folder.path().to_owned(), seen.clone(), gate.clone());
    options.probe = Some(Arc::new(move |point| match point {
        "journal.before-commit" => drop(closed.lock().unwrap()),
        "journal.after-commit" => counts.lock().unwrap().push(rows(&of)),
        _ => {}
    }));
    let journal = SqliteJournal::open(folder.path(), options).unwrap();
    let script = fill(&journal, "notes", 800).await;
    let mut others: Vec<_> = (0..3).map(|number| Script::new(&format!("s{number}"))).collect();
    let before = rows(folder.path());
    seen.lock().unwrap().clear();

    // The other work is there before the forgetting is durable.
    let mut context = Context::from_waker(Waker::noop());
    let mut forgetting = journal.forget(&script.tenant, &script.session, AT);
    let mut commits: Vec<_> = others.iter_mut().map(|other| journal.commit(other.create())).collect();
    let shut = gate.lock().unwrap();
    assert!(forgetting.as_mut().poll(&mut context).is_pending());
    assert!(commits.iter_mut().all(|commit| commit.as_mut().poll(&mut context).is_pending()));
    drop(shut);
    forgetting.await.unwrap();
    for commit in commits {
        commit.await.unwrap();
    }
    swept(&journal).await;

    let seen = seen.lock().unwrap().clone();
    // Each of the others is a head and a record.
    assert_eq!(seen[..4], [before, before + 2, before + 4, before + 6], "the name goes first, and alone: {seen:?}");
    let pieces: Vec<_> = seen[3..].windows(2).map(|pair| pair[0] - pair[1]).filter(|removed| *removed > 0).collect();
    // A piece of records takes their events along, and a last item its rows.
    assert!(pieces.len() > 4 && pieces.iter().all(|removed| *removed <= 520), "{pieces:?}");
    assert_eq!(pieces.iter().sum::<i64>(), before);
}
