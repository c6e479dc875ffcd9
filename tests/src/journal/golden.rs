//! Stores that earlier builds wrote: they open, verify, read as they were meant, and replay to the state that they hold.

use std::{fs, path::Path};

use mainstay_journal::{Journal as _, Options, Range, SessionsQuery, SqliteJournal};
use mainstay_protocol::{
    TenantId,
    content::ItemBody,
    record::{RecordBody, v1::UnknownRecord},
};
use mainstay_session::{State, evolve};

/// Opens a copy of a golden store: opening writes.
fn golden(name: &str) -> (SqliteJournal, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name).join("journal.sqlite");
    fs::copy(store, folder.path().join("journal.sqlite")).expect("a copy");
    let journal = SqliteJournal::open(folder.path(), Options::default()).expect("it opens");
    (journal, folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_builds_store_reads_as_it_was_written() {
    let (journal, _folder) = golden("journal-1");
    let tenant = TenantId::default_tenant();
    let page = journal.sessions(&tenant, SessionsQuery { limit: 10, before: None }).await.expect("sessions");
    let mut seen: Vec<_> = page.rows.iter().map(|row| (row.session.as_str(), row.phase.as_str(), row.turns)).collect();
    seen.sort_unstable();
    assert_eq!(seen, [("demo-1", "idle", 1), ("demo-2", "idle", 1), ("demo-3", "idle", 1)]);
    for row in &page.rows {
        let verdict = journal.verify(&tenant, &row.session).await.expect("a verdict").expect("a session");
        assert!(verdict.is_sound(), "{}: {verdict:?}", row.session);
        let records = journal.records(&tenant, &row.session, Range::forward(1_000)).await.expect("records").rows;
        let mut replayed = State::default();
        for record in &records {
            assert!(!matches!(&*record.body, RecordBody::Unknown(UnknownRecord { .. })), "{:?}", record.body);
            evolve(&mut replayed, &record.body);
        }
        let opened = journal.open_session(&tenant, &row.session).await.expect("a read").expect("a session");
        assert_eq!(replayed, opened.state, "replay_equals_state: {}", row.session);
        let items = journal.items(&tenant, &row.session, Range::forward(1_000)).await.expect("items").rows;
        let calls = items.iter().filter(|item| matches!(item.body, ItemBody::ToolCall(_))).count();
        let results = items.iter().filter(|item| matches!(item.body, ItemBody::ToolResult(_))).count();
        assert!(calls > 0 && calls == results, "{}", row.session);
    }
    let demo = "demo-1".parse().expect("legal");
    let items = journal.items(&tenant, &demo, Range::forward(1_000)).await.expect("items").rows;
    let private = items.iter().find_map(|item| item.private_part.as_ref()).expect("a private part");
    assert_eq!(private.bytes, b"rehearsal-private: plan of the demo");
}
