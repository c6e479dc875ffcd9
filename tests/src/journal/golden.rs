//! Stores that earlier builds wrote: they open, verify, read as they were meant, and replay to the state that they hold.

mod writing;

use std::{
    fs,
    path::{Path, PathBuf},
};

use mainstay_journal::{
    Journal as _, Options, Range, ReadOnlyJournal, RunState, SessionsQuery, SqliteJournal, testing, verify::Depth,
};
use mainstay_protocol::{
    TenantId,
    content::ItemBody,
    record::{RecordBody, v1::UnknownRecord},
};
use mainstay_session::{State, evolve};

/// Where they are.
fn stores() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

/// A folder with a copy of a golden store: opening writes.
pub(super) fn copy_of(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::copy(stores().join(name).join("journal.sqlite"), folder.path().join("journal.sqlite")).expect("a copy");
    folder
}

pub(super) fn open(folder: &Path) -> SqliteJournal {
    SqliteJournal::open(folder, Options::default()).expect("it opens")
}

fn is_sound(folder: &Path) {
    let report = ReadOnlyJournal::open(folder).expect("it opens").verify(Depth::Full, |_| {}).expect("a report");
    assert!(report.is_sound(), "{report:#?}");
}

/// What `journal-1` holds, whichever way it came to this build's format.
pub(super) async fn reads_as_the_first_build_wrote_it(journal: &SqliteJournal) {
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
        // What that build did not store yet is no difference.
        let fields = |state: &State| serde_json::from_slice::<serde_json::Value>(&state.snapshot()).expect("JSON");
        let (stored, given) = (fields(&opened.state), fields(&replayed));
        for (name, value) in stored.as_object().expect("a stored state") {
            assert_eq!(given[name], *value, "replay_equals_state: {} differs in {name}", row.session);
        }
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

#[tokio::test(flavor = "multi_thread")]
async fn the_first_builds_store_reads_as_it_was_written() {
    let folder = copy_of("journal-1");
    let journal = open(folder.path());
    reads_as_the_first_build_wrote_it(&journal).await;
    // What format 2 adds, from what format 1 had.
    let tenant = TenantId::default_tenant();
    for (session, calls) in [("demo-1", 4), ("demo-2", 4), ("demo-3", 3)] {
        let session = session.parse().expect("legal");
        let page = journal.executions(&tenant, &session, Range::forward(10)).await.expect("executions");
        let [execution] = &page.rows[..] else { panic!("{page:?}") };
        assert_eq!((execution.number, execution.accepted.0, execution.state), (1, 1, RunState::Completed));
        assert_eq!((execution.tool_calls, execution.steps), (calls, 4), "{session}");
        let records = journal.records(&tenant, &session, Range::forward(1_000)).await.expect("records").rows;
        let ends = [records.iter().find(|record| matches!(&*record.body, RecordBody::TurnStarted(_))), records.last()];
        let [first, last] = ends.map(|record| record.expect("a record").ordinal);
        assert_eq!((execution.first, execution.last), (first, Some(last)));
    }
    let number = |sql| testing::query_number(folder.path(), sql).expect("a number");
    assert_eq!(number("SELECT count(*) FROM feed"), 27);
    let untold =
        "SELECT count(*) FROM feed f LEFT JOIN records r USING (tenant, session, ordinal) WHERE f.kind IS NOT r.kind";
    assert_eq!(number(untold), 0, "each event has its kind");
    assert_eq!(
        number("SELECT seq FROM sqlite_sequence WHERE name = 'feed'"),
        27,
        "the next place in the feed is the same"
    );
    assert_eq!(number("SELECT sum(turns * 100 + accepted * 10 + aborted + operating) FROM heads"), 330);
    assert_eq!(
        number(
            "SELECT count(*) FROM heads h WHERE item <> (SELECT ifnull(max(item), 0) FROM items i
                       WHERE i.tenant = h.tenant AND i.session = h.session)"
        ),
        0
    );
    assert!(journal.generations().await.expect("builds").len() == 3);
}

/// Whatever later stores are put there.
#[tokio::test(flavor = "multi_thread")]
async fn every_golden_store_is_sound_under_this_build() {
    let mut seen = 0;
    for entry in fs::read_dir(stores()).expect("a folder") {
        let name = entry.expect("an entry").file_name().into_string().expect("a name");
        if !name.starts_with("journal-") {
            continue;
        }
        seen += 1;
        let folder = copy_of(&name);
        let journal = open(folder.path());
        let mut sessions = 0;
        for tenant in ["default", "stranger"].map(|tenant| tenant.parse().expect("legal")) {
            let page = journal.sessions(&tenant, SessionsQuery { limit: 100, before: None }).await.expect("sessions");
            assert_eq!((page.damaged.len(), page.more), (0, false), "{name}");
            sessions += page.rows.len();
            for row in page.rows {
                let report = journal.verify(&tenant, &row.session).await.expect("a report").expect("a session");
                assert!(report.is_sound(), "{name}, {}: {report:?}", row.session);
            }
        }
        assert!(sessions > 0, "{name}");
        is_sound(folder.path());
    }
    assert!(seen > 0);
}
