//! E12, E15, E16, E17: stores that are old, damaged, newer than this build, or put back from a backup.

use std::{fs, path::Path, sync::Arc};

use mainstay_journal::{
    FeedFilter, FeedQuery, Journal, ReadError, SqliteJournal,
    backup::{self, BackupOptions},
    restore::{self, RestoreOptions},
    testing::execute_sql,
    verify::Location,
};
use mainstay_protocol::{
    SubmissionId, Timestamp,
    feed::{FeedBody, FeedKind},
    record::{record_digest, v1::TurnOutcome},
};

use super::session::{Session, ended, whole_turn};
use crate::journal::script::open;

/// A statement that plants a feed event as another build wrote it.
fn plant(seq: u64, ordinal: u64, at: u64, kind: &str, body: &str) -> String {
    let digest = record_digest(kind, Timestamp(at), body.as_bytes());
    format!(
        "INSERT OR IGNORE INTO kinds (name) VALUES ('{kind}');
         INSERT INTO records (tenant, session, ordinal, seq, at, kind, digest, body)
             SELECT 1, 1, {ordinal}, {seq}, {at}, kind, x'{digest}', '{body}' FROM kinds WHERE name = '{kind}';
         INSERT INTO feed (seq, tenant, session, ordinal) VALUES ({seq}, 1, 1, {ordinal});
         UPDATE heads SET head = max(head, {ordinal}) WHERE tenant = 1 AND session = 1;"
    )
}

/// A store of the first build with one session that has no records.
fn first_builds_store(folder: &Path) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/journal-1/journal.sqlite");
    fs::copy(golden, folder.join("journal.sqlite")).unwrap();
    let tables = ["feed", "records", "items", "queue", "submissions", "plugin_state"];
    for table in tables {
        execute_sql(folder, &format!("DELETE FROM {table}")).unwrap();
    }
    let empty = "DELETE FROM sqlite_sequence; UPDATE heads SET head = 0, chain = zeroblob(32), state = NULL;
        DELETE FROM heads WHERE (tenant, session) <> (1, 1);
        DELETE FROM sessions WHERE (tenant, session) <> (1, 1);
        DELETE FROM tenants WHERE tenant <> 1";
    execute_sql(folder, empty).unwrap();
}

async fn all(journal: &SqliteJournal) -> mainstay_journal::FeedPage {
    let after = Some(journal.feed_start());
    journal.feed(FeedQuery { filter: FeedFilter::default(), after, limit: 1_000 }).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn e12_events_of_an_old_store_keep_their_places_and_read_as_those_of_today() {
    let folder = tempfile::tempdir().unwrap();
    first_builds_store(folder.path());
    let started = r#"{"turn":"t-1","submission":"c-1","accepted":1}"#;
    execute_sql(folder.path(), &plant(1, 1, 1_001, "turn_started", started)).unwrap();
    let old_end = r#"{"turn":"t-1","command_id":"c-1"}"#;
    execute_sql(folder.path(), &plant(2, 2, 1_002, "turn_ended", old_end)).unwrap();
    let error = r#"{"command_id":"c-2","message":"it broke: \"badly\""}"#;
    execute_sql(folder.path(), &plant(8, 3, 1_008, "error", error)).unwrap();
    let page = all(&open(folder.path())).await;
    assert!(page.damaged.is_empty(), "{page:?}");
    let places: Vec<_> = page.events.iter().map(|event| (event.seq.0, event.at.0)).collect();
    assert_eq!(places, [(1, 1_001), (2, 1_002), (8, 1_008)]);
    assert_eq!((page.latest.seq.0, page.next.seq.0), (8, 8));
    assert_eq!(ended(&page.events).outcome, TurnOutcome::Completed);
    let FeedBody::LegacyNotice(notice) = &page.events[2].body else { panic!("{:?}", page.events[2]) };
    assert_eq!(notice.original_kind, "error");
    assert_eq!(notice.command.as_ref().map(SubmissionId::as_str), Some("c-2"));
    assert_eq!(notice.message, "it broke: \"badly\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn e15_a_damaged_row_is_reported_and_passed() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::create(folder.path()).await;
    session.commit(whole_turn("message-1")).await.unwrap();
    session.commit(whole_turn("message-2")).await.unwrap();
    let victim = session.events().await[1].ordinal;
    let damage = format!("UPDATE records SET body = replace(body, 'turn-1', 'turn-2') WHERE ordinal = {victim}");
    execute_sql(folder.path(), &damage).unwrap();
    let page = all(&session.journal).await;
    let seqs: Vec<_> = page.events.iter().map(|event| event.seq.0).collect();
    assert_eq!(seqs, [1, 3, 4], "the page goes on past it");
    assert_eq!(page.damaged.len(), 1, "and reports it: {page:?}");
    assert_eq!(page.damaged[0].ordinal, victim);
    let report = session.journal.verify(&session.tenant, &session.id).await.unwrap().expect("a session");
    let named: Vec<_> = report.findings.iter().map(|finding| &finding.place).collect();
    assert_eq!(named, [&Location::Record { ordinal: victim }], "verify names it and nothing else: {report:?}");
    assert_eq!(report.counts.records, session.state.head().0, "the session's other records are still checked");
}

#[tokio::test(flavor = "multi_thread")]
async fn e16_a_kind_from_a_newer_build_is_served_with_its_body() {
    const BODY: &str = r#"{"whatever":[1,2,3]}"#;
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::create(folder.path()).await;
    session.commit(whole_turn("message")).await.unwrap();
    let ordinal = session.state.head().0 + 1;
    let kind = "UPDATE feed SET kind = (SELECT kind FROM records r WHERE r.tenant = feed.tenant
        AND r.session = feed.session AND r.ordinal = feed.ordinal)";
    execute_sql(folder.path(), &plant(3, ordinal, 1_003, "holodeck_opened", BODY)).unwrap();
    execute_sql(folder.path(), kind).unwrap();
    let page = all(&session.journal).await;
    assert_eq!(page.events.len(), 3, "nothing is locked out: {page:?}");
    let FeedBody::Unknown(unknown) = &page.events[2].body else { panic!("{:?}", page.events[2]) };
    assert_eq!((unknown.original_kind.as_str(), unknown.body.get()), ("holodeck_opened", BODY));
    let told = serde_json::to_value(&page.events[2]).unwrap();
    assert_eq!((&told["event"], &told["body"]["whatever"][2]), (&"unknown".into(), &3.into()), "{told}");
    let only = FeedFilter { kinds: [FeedKind::Unknown].into(), ..FeedFilter::default() };
    assert_eq!(session.events_of(only).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn e17_a_client_of_the_store_before_a_restore_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let (data, yesterday) = (folder.path().join("data"), folder.path().join("yesterday"));
    let mut session = Session::create(&data).await;
    session.commit(whole_turn("message-1")).await.unwrap();
    backup::backup(&data, &yesterday, &BackupOptions::new("0.2.0", Timestamp(1)), |_| {}).unwrap();
    session.commit(whole_turn("message-2")).await.unwrap();
    let newer = session.page(FeedQuery { filter: FeedFilter::default(), after: None, limit: 1 }).await.latest;
    drop(session);
    let restored = folder.path().join("restored");
    restore::restore(&yesterday, &restored, &RestoreOptions::new(Timestamp(2)), |_| {}).unwrap();
    let journal = Arc::new(open(&restored));
    let answer = journal.feed(FeedQuery { filter: FeedFilter::default(), after: Some(newer), limit: 10 }).await;
    assert!(matches!(answer, Err(ReadError::EpochChanged { .. })), "{answer:?}");
    let mut subscription = journal.subscribe(FeedFilter::default(), Some(newer));
    let answer = subscription.next().await;
    assert!(matches!(answer, Err(ReadError::EpochChanged { .. })), "{answer:?}");
    assert_eq!(all(&journal).await.events.len(), 2, "what the backup holds is all there");
}
