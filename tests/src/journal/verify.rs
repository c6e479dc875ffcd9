//! `journal verify`: each kind of damage is named, wherever it is, and everything else is still checked.

mod alone;
mod builds;
mod flips;

use std::path::Path;

use mainstay_journal::{
    Damage, Journal, ReadOnlyJournal, testing,
    verify::{Depth, Finding, Location, Phase, Report},
};
use mainstay_protocol::{ItemId, Ordinal, SessionId};

use super::{
    script::{commit_all, open},
    talk::{Talk, filled, large},
};

fn verify(folder: &Path) -> Report {
    ReadOnlyJournal::open(folder).unwrap().verify(Depth::Full, |_| {}).unwrap()
}

fn quick(folder: &Path) -> Report {
    ReadOnlyJournal::open(folder).unwrap().verify(Depth::Quick, |_| {}).unwrap()
}

/// Findings as text: `session: place: damage`.
fn found(report: &Report) -> Vec<String> {
    let shown = |finding: &Finding| {
        let session = finding.session.as_ref().map_or("-", SessionId::as_str);
        format!("{session}: {}: {}", finding.place, serde_json::to_value(finding.damage).unwrap().as_str().unwrap())
    };
    report.findings.iter().map(shown).collect()
}

/// The file of a filled store; made once, in a thread of its own because tests have runtimes of theirs.
fn whole_store() -> &'static [u8] {
    static STORE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    let make = || {
        let folder = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(filled(folder.path()));
        std::fs::read(folder.path().join("journal.sqlite")).unwrap()
    };
    STORE.get_or_init(|| std::thread::spawn(make).join().unwrap())
}

/// Damages a filled store and compares what is found.
fn check(sql: &str, expected: &[&str]) {
    check_bytes(whole_store(), sql, expected);
}

/// The same with another store, which stays as it is.
fn check_store(folder: &Path, sql: &str, expected: &[&str]) {
    check_bytes(&std::fs::read(folder.join("journal.sqlite")).unwrap(), sql, expected);
}

fn check_bytes(store: &[u8], sql: &str, expected: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("journal.sqlite"), store).unwrap();
    testing::execute_sql(folder.path(), sql).unwrap();
    let report = verify(folder.path());
    assert_eq!(found(&report), expected, "{sql}\n{report:#?}");
    assert_eq!((report.is_sound(), report.damaged), (expected.is_empty(), expected.len() as u64));
}

#[tokio::test]
async fn a_sound_store_is_sound_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let talks = filled(folder.path()).await;
    let mut phases = Vec::new();
    let mut last = None;
    let report = ReadOnlyJournal::open(folder.path())
        .unwrap()
        .verify(Depth::Full, |progress| {
            phases.push(progress.phase);
            last = Some(progress);
        })
        .unwrap();
    assert_eq!(found(&report), [""; 0], "{report:#?}");
    assert!(report.notes.is_empty(), "{:?}", report.notes);
    let counts = report.counts;
    let records: u64 = talks.iter().map(|talk| talk.state.head().0).sum();
    assert_eq!((counts.sessions, counts.records, counts.turns), (4, records + 1, 4));
    assert_eq!((counts.queued, counts.plugin_values, counts.submissions), (1, 2, 5));
    assert!(counts.blobs >= 4 && counts.bytes > 30_000, "{counts:?}");
    phases.dedup();
    assert_eq!(phases, [Phase::Pages, Phase::Sessions, Phase::Store]);
    let last = last.unwrap();
    assert_eq!((last.counts.records, last.records), (records + 1, records + 1));
    assert!(quick(folder.path()).is_sound());
}

#[test]
fn damaged_records_are_named_one_by_one() {
    let notes = "tenant = 1 AND session = 1";
    let flip =
        format!("UPDATE records SET body = replace(body, 'default', 'defbult') WHERE {notes} AND ordinal IN (1, 4)");
    check(&flip, &["notes: record 1: digest", "notes: record 4: digest"]);
    let later = format!("UPDATE records SET at = at + 1 WHERE {notes} AND ordinal = 2");
    check(&later, &["notes: record 2: digest"]);
    let gone = format!("DELETE FROM records WHERE {notes} AND ordinal = 4");
    check(&gone, &["notes: record 4: missing"]);
    let gap = format!("DELETE FROM records WHERE {notes} AND ordinal BETWEEN 4 AND 5");
    check(&gap, &["notes: records 4 to 5: missing"]);
    let chain = format!("UPDATE records SET chain = zeroblob(32) WHERE {notes} AND ordinal = 4");
    check(&chain, &["notes: record 4: chain", "notes: record 7: chain"]);
    let kind = "UPDATE kinds SET name = 'step_opend' WHERE name = 'step_opened'";
    let expected: Vec<_> =
        [("notes", 4), ("notes", 10), ("notes", 15), ("notes", 21), ("running", 4), ("other", 4), ("other", 10)]
            .map(|(session, ordinal)| format!("{session}: record {ordinal}: digest"))
            .into();
    check(kind, &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn the_end_of_a_session_is_where_its_head_says() {
    let other = "tenant = 2 AND session = 1";
    let tail = format!("DELETE FROM records WHERE {other} AND ordinal > 10");
    check(&tail, &["other: records 11 to 12: missing", "-: feed event 7: reference"]);
    check(&format!("UPDATE heads SET head = 3 WHERE {other}"), &["other: the session's head: reference"]);
    check(&format!("UPDATE heads SET chain = zeroblob(32) WHERE {other}"), &["other: the session's chain: chain"]);
    // A head beyond all bounds is one finding, and not one for each record up to it.
    let huge = format!("UPDATE heads SET head = 9000000000000000000 WHERE {other}");
    check(&huge, &["other: records 13 to 9000000000000000000: missing"]);
    let headless = format!("PRAGMA foreign_keys = off; DELETE FROM heads WHERE {other}");
    check(&headless, &["other: the session: missing"]);
}

#[test]
fn what_is_kept_beside_the_records_is_what_they_give() {
    for (column, value) in [
        ("active_at", "active_at + 1"),
        ("minute", "minute + 1"),
        ("busy", "1 - busy"),
        ("operating", "1"),
        ("phase", "'running'"),
        ("route", "'other'"),
        ("turns", "turns + 1"),
        ("aborted", "aborted + 1"),
        ("accepted", "accepted - 1"),
        ("item", "item + 1"),
        ("context_epoch", "context_epoch + 1"),
    ] {
        let sql = format!("UPDATE heads SET {column} = {value} WHERE tenant = 2 AND session = 1");
        check(&sql, &[&format!("other: the session's {column}: count")]);
    }
    for (column, value) in [("created_at", "5"), ("labels", "'{}'"), ("metadata", "NULL")] {
        let sql = format!("UPDATE sessions SET {column} = {value} WHERE tenant = 1 AND session = 1");
        check(&sql, &[&format!("notes: the session's {column}: count")]);
    }
    let state = "UPDATE heads SET state = CAST(state || ' ' AS BLOB) WHERE tenant = 1 AND session = 2";
    check(state, &["running: the state: digest"]);
}

#[tokio::test]
async fn a_state_that_its_records_do_not_give_is_named() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    // The state of another session that stands at as many records, with its checksum.
    let sql =
        "UPDATE heads SET (state, checksum) = (SELECT state, checksum FROM heads WHERE tenant = 2 AND session = 1)
               WHERE tenant = 1 AND session = 2";
    testing::execute_sql(folder.path(), sql).unwrap();
    let report = verify(folder.path());
    let states: Vec<_> = report.findings.iter().filter(|finding| finding.damage == Damage::Replay).collect();
    assert!(matches!(&states[..], [finding] if finding.place == Location::State), "{report:#?}");
}

#[tokio::test]
async fn a_state_that_lost_a_part_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let mut talk = Talk::new("default", "notes");
    commit_all(&journal, [talk.create()]).await;
    let [submit, start, plan, results, mut finish] = talk.turn_with_tools("hello");
    commit_all(&journal, [submit, start, plan, results]).await;
    let mut stored: serde_json::Value = serde_json::from_slice(&finish.state.snapshot()).unwrap();
    stored.as_object_mut().unwrap().remove("last_outcome").expect("a turn has ended");
    finish.state = mainstay_session::State::restore(&serde_json::to_vec(&stored).unwrap(), Vec::new()).unwrap();
    testing::plant(&journal, finish).await.unwrap();
    drop(journal);
    let report = verify(folder.path());
    assert_eq!(found(&report), ["notes: the state: replay"], "{report:#?}");
    assert!(report.findings[0].message.contains("`last_outcome`"), "{report:#?}");
}

#[test]
fn the_feed_and_the_records_name_each_other() {
    check("DELETE FROM feed WHERE seq = 2", &["notes: record 12: reference"]);
    check(
        "UPDATE feed SET kind = kind + 1 WHERE seq = 2",
        &["notes: record 12: reference", "-: feed event 2: reference"],
    );
    let unnamed = "UPDATE records SET seq = NULL WHERE seq = 2";
    check(unnamed, &["notes: record 12: missing", "-: feed event 2: reference"]);
    let swapped = "UPDATE records SET seq = 100 WHERE seq = 1; UPDATE records SET seq = 1 WHERE seq = 2;
                   UPDATE records SET seq = 2 WHERE seq = 100";
    check(
        swapped,
        &[
            "notes: record 3: reference",
            "notes: record 12: reference",
            "-: feed event 1: reference",
            "-: feed event 2: reference",
        ],
    );
    let stray = "INSERT INTO feed (tenant, session, ordinal, kind) VALUES (1, 1, 1000, 1)";
    check(stray, &["-: feed event 9: reference"]);
    check("UPDATE sqlite_sequence SET seq = 3 WHERE name = 'feed'", &["-: the store's sqlite_sequence: count"]);
}

#[tokio::test]
async fn turns_steps_and_calls_end_once() {
    // The record is sound, and says that another turn ended.
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let mut talk = Talk::new("default", "notes");
    commit_all(&journal, [talk.create(), talk.submit("one"), talk.start("one"), talk.plan()]).await;
    let results = talk.results("one");
    let mut twice = results.clone();
    let again = results.records.iter().find(|record| record.body.kind() == "call_ended").unwrap().clone();
    twice.records.insert(1, again);
    twice.state = replayed(&journal, &talk, &twice).await;
    testing::plant(&journal, twice).await.unwrap();
    drop(journal);
    let report = verify(folder.path());
    let first = found(&report).into_iter().next().unwrap_or_default();
    assert!(first.ends_with(": pair"), "{report:#?}");
}

/// The state that a session's records give, with those of one more transition.
async fn replayed(
    journal: &mainstay_journal::SqliteJournal,
    talk: &Talk,
    transition: &mainstay_journal::Transition,
) -> mainstay_session::State {
    let opened = journal.open_session(&talk.tenant, &talk.session).await.unwrap().unwrap();
    let mut state = opened.state.clone();
    transition.records.iter().for_each(|record| mainstay_session::evolve(&mut state, &record.body));
    state
}

#[tokio::test]
async fn damaged_items_are_named_one_by_one() {
    let notes = "tenant = 1 AND session = 1";
    for change in [
        "private = x'00ff02'",
        "at = at + 1",
        "turn = x'01890a5dac96774bbcceb302099a8057'",
        "step = 7",
        "context_group = 'another'",
        "checksum = x'0000000000000000'",
        "body = replace(body, 'looked', 'booked')",
    ] {
        let sql = format!("UPDATE items SET {change} WHERE {notes} AND item = 2 AND piece = 0");
        check(&sql, &["notes: item 2: digest"]);
    }
    check(&format!("DELETE FROM items WHERE {notes} AND item = 2"), &["notes: item 2: missing"]);
    check(&format!("DELETE FROM items WHERE {notes} AND item > 5"), &["notes: items 6 to 14: missing"]);
    let stray =
        "INSERT INTO items SELECT tenant, session, 100, piece, at, turn, step, call, checksum, context_group, extras,
                 private, body, blob, private_blob FROM items WHERE tenant = 1 AND session = 1 AND item = 2";
    check(stray, &["notes: item 100: digest", "notes: item 100: orphan"]);
    let piece = format!("UPDATE items SET piece = 5 WHERE {notes} AND item = 2");
    check(&piece, &["notes: item 2: missing"]);
}

#[tokio::test]
async fn waiting_messages_are_those_that_were_accepted_and_not_taken() {
    let waits = "tenant = 1 AND session = 1";
    let at = "notes: queued message 3: digest";
    check(&format!("UPDATE queue SET at = at + 1 WHERE {waits}"), &[at]);
    check(&format!("UPDATE queue SET delivery = 'steer' WHERE {waits}"), &["notes: the state: replay", at]);
    let bytes = format!("UPDATE queue SET bytes = bytes + 1 WHERE {waits}");
    check(&bytes, &["notes: the state: replay", "notes: queued message 3: count"]);
    let gone = format!("DELETE FROM queue WHERE {waits}");
    let report = {
        let folder = tempfile::tempdir().unwrap();
        filled(folder.path()).await;
        testing::execute_sql(folder.path(), &gone).unwrap();
        found(&verify(folder.path()))
    };
    assert!(report.contains(&"notes: queued message 3: missing".to_owned()), "{report:?}");
}

#[tokio::test]
async fn ops_summaries_and_values_are_checked() {
    let notes = "tenant = 1 AND session = 1";
    let ordinal = format!("UPDATE submissions SET ordinal = 3 WHERE {notes} AND accepted = 1");
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    testing::execute_sql(folder.path(), &ordinal).unwrap();
    let findings = found(&verify(folder.path()));
    assert!(!findings.is_empty() && findings.iter().all(|finding| finding.contains(": op ")), "{findings:?}");

    let ended = format!("UPDATE executions SET ended = ended + 1 WHERE {notes} AND number = 2");
    check(&ended, &["notes: turn 2: reference"]);
    let turn = format!("UPDATE executions SET turn = 'another' WHERE {notes} AND number = 1");
    check(&turn, &["notes: turn 1: reference", "notes: turn 1: reference"]);
    check(&format!("DELETE FROM executions WHERE {notes} AND number = 1"), &["notes: turn 1: missing"]);
    let stray = "INSERT INTO executions VALUES (1, 1, 9, 'another', 3, 5)";
    check(stray, &["notes: turn 9: orphan"]);
    check("UPDATE executions SET ended = 7 WHERE tenant = 1 AND session = 2", &["running: turn 1: reference"]);

    let value = format!("UPDATE plugin_state SET value = x'00' WHERE {notes}");
    check(&value, &["notes: value `last` of plugin files: digest"]);
    // Format 1 kept no checksum of values.
    let ordinal = format!("UPDATE plugin_state SET ordinal = 1000, checksum = NULL WHERE {notes}");
    check(&ordinal, &["notes: value `last` of plugin files: reference"]);
}

#[tokio::test]
async fn payloads_have_their_bytes_and_their_users() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    let of = |sql: &str| {
        let copy = tempfile::tempdir().unwrap();
        std::fs::copy(folder.path().join("journal.sqlite"), copy.path().join("journal.sqlite")).unwrap();
        testing::execute_sql(copy.path(), sql).unwrap();
        verify(copy.path())
    };
    let has = |report: &Report, damage: Damage| {
        let blob = |finding: &&Finding| matches!(finding.place, Location::Blob { .. } | Location::Table { .. });
        report.findings.iter().filter(blob).any(|finding| finding.damage == damage)
    };
    let bytes = of("UPDATE blob_pieces SET bytes = x'00' WHERE piece = (SELECT min(blob) FROM blobs)");
    assert!(has(&bytes, Damage::Digest), "{bytes:#?}");
    let gone = of("DELETE FROM blob_pieces WHERE piece = (SELECT min(blob) FROM blobs)");
    assert!(has(&gone, Damage::Missing), "{gone:#?}");
    let uses = of("UPDATE blobs SET uses = uses + 1 WHERE blob = (SELECT min(blob) FROM blobs)");
    assert!(has(&uses, Damage::Count) && uses.damaged == 1, "{uses:#?}");
    let users = of("UPDATE blob_uses SET uses = uses + 1 WHERE media_type IS NULL AND tenant = 2");
    assert!(has(&users, Damage::Count), "{users:#?}");
    let orphan = of("INSERT INTO blob_pieces SELECT max(piece) + 7, checksum, bytes FROM blob_pieces");
    assert!(has(&orphan, Damage::Orphan) && orphan.damaged == 1, "{orphan:#?}");
    let unused = of("DELETE FROM blob_uses WHERE media_type IS NULL AND tenant = 2");
    assert!(has(&unused, Damage::Count), "{unused:#?}");
}

#[tokio::test]
async fn facts_of_the_store_and_rows_of_nobody_are_found() {
    check("UPDATE meta SET value = x'00' WHERE key = 'store_epoch'", &["-: the store's store_epoch: shape"]);
    let minimum = "UPDATE meta SET value = 99 WHERE key = 'minimum_compatible_version'";
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    testing::execute_sql(folder.path(), minimum).unwrap();
    assert_eq!(found(&verify(folder.path())), ["-: the store's minimum_compatible_version: shape"]);
    check("DELETE FROM lease", &["-: the store's lease: missing"]);
    check("UPDATE tenants SET sessions = 1 WHERE tenant = 1", &["-: table tenants: count"]);
    let stray = "PRAGMA foreign_keys = off;
                 INSERT INTO records (tenant, session, ordinal, at, kind, digest, body) VALUES (1, 77, 1, 0, 1, x'00', '{}');
                 INSERT INTO queue SELECT 7, 7, accepted, submission, delivery, at, bytes, checksum, content, blob FROM queue";
    check(stray, &["-: table records: orphan", "-: table queue: orphan"]);
    let two = "UPDATE generations SET retired_at = NULL;
               INSERT INTO generations
               SELECT plugin, generation + 1, sha256, package, version, activated_at, NULL, NULL, NULL FROM generations";
    check(two, &["-: table generations: count"]);
}

#[tokio::test]
async fn what_is_being_forgotten_is_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    let forgotten =
        "INSERT INTO forgotten SELECT tenant, id, session, 5, checksum FROM sessions WHERE tenant = 1 AND session = 1;
                     DELETE FROM sessions WHERE tenant = 1 AND session = 1";
    // Its rows go in pieces, records last and with their events; a crash may leave any part of them.
    for piece in [
        "SELECT 1",
        "DELETE FROM queue WHERE tenant = 1 AND session = 1",
        "DELETE FROM executions WHERE tenant = 1 AND session = 1 AND number = 1",
        "DELETE FROM items WHERE tenant = 1 AND session = 1 AND item < 4",
        "DELETE FROM feed WHERE seq IN (SELECT seq FROM records WHERE tenant = 1 AND session = 1 AND ordinal < 9);
         DELETE FROM records WHERE tenant = 1 AND session = 1 AND ordinal < 9",
    ] {
        testing::execute_sql(folder.path(), if piece == "SELECT 1" { forgotten } else { piece }).unwrap();
        let report = verify(folder.path());
        assert_eq!(found(&report), [""; 0], "{piece}: {report:#?}");
        assert_eq!(report.counts.sessions, 3, "its name is gone");
    }
    drop(open(folder.path()));
    let journal = open(folder.path());
    while testing::query_number(folder.path(), "SELECT count(session) FROM forgotten").unwrap() > 0 {
        journal.set_global("tick".to_owned(), None).await.unwrap();
    }
    let report = verify(folder.path());
    assert_eq!(found(&report), [""; 0], "{report:#?}");
}

#[tokio::test]
async fn one_session_is_checked_alone() {
    let folder = tempfile::tempdir().unwrap();
    let [notes, running, _] = filled(folder.path()).await;
    let sql = "UPDATE records SET at = at + 1 WHERE tenant = 1 AND session = 1 AND ordinal = 2";
    testing::execute_sql(folder.path(), sql).unwrap();
    let journal = ReadOnlyJournal::open(folder.path()).unwrap();
    let of = |talk: &Talk| journal.verify_session(&talk.tenant, &talk.session, Depth::Full, |_| {}).unwrap();
    let report = of(&notes).unwrap();
    assert_eq!(found(&report), ["notes: record 2: digest"]);
    assert_eq!(report.counts.records, notes.state.head().0, "its other records are still checked");
    assert!(of(&running).unwrap().is_sound());
    assert!(of(&Talk::new("somebody", "notes")).is_none(), "a session is found through its tenant");
}

/// E15 names the feed's side; this is the side of `verify` on the whole store.
#[tokio::test]
async fn e15_verify_names_the_damaged_body_and_checks_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let [notes, ..] = filled(folder.path()).await;
    let sql = "UPDATE records SET body = substr(body, 2) WHERE tenant = 1 AND session = 1 AND ordinal = 3;
               UPDATE records SET body = substr(body, 2) WHERE tenant = 1 AND session = 1 AND ordinal = 13";
    testing::execute_sql(folder.path(), sql).unwrap();
    let report = verify(folder.path());
    let place = |ordinal| Location::Record { ordinal: Ordinal(ordinal) };
    let places: Vec<_> = report.findings.iter().map(|finding| finding.place.clone()).collect();
    assert_eq!(places, [place(3), place(13)], "{report:#?}");
    assert!(report.findings.iter().all(|finding| finding.session.as_ref() == Some(&notes.session)));
    assert_eq!(report.notes.len(), 1, "what can't be known any more is said: {:?}", report.notes);
    assert_eq!(report.counts.sessions, 4);
}

#[tokio::test]
async fn a_page_that_can_not_be_read_does_not_end_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let mut talks: Vec<_> = (0..8).map(|number| Talk::new("default", &format!("s-{number}"))).collect();
    for talk in &mut talks {
        commit_all(&journal, [talk.create()]).await;
        for _ in 0..8 {
            commit_all(&journal, talk.turn_with_tools(&large("text"))).await;
        }
    }
    drop(journal);
    // The leaf that holds records of the fifth session, overwritten.
    let page = testing::query_number(
        folder.path(),
        "SELECT pageno FROM dbstat WHERE name = 'records' AND pagetype = 'leaf' ORDER BY pageno LIMIT 1 OFFSET
         (SELECT count(*) / 2 FROM dbstat WHERE name = 'records' AND pagetype = 'leaf')",
    )
    .unwrap();
    overwrite_page(&folder.path().join("journal.sqlite"), page);
    let report = verify(folder.path());
    assert!(!report.is_sound());
    assert!(report.findings.iter().any(|finding| finding.damage == Damage::Page), "{report:#?}");
    assert_eq!(report.counts.sessions, 8, "{report:#?}");
    let hurt: std::collections::BTreeSet<_> =
        report.findings.iter().filter_map(|finding| finding.session.clone()).collect();
    assert!((1..=2).contains(&hurt.len()), "only those on the page: {hurt:?}");
    assert!(!quick(folder.path()).is_sound());
}

fn overwrite_page(file: &Path, page: i64) {
    use std::os::unix::fs::FileExt as _;
    let file = std::fs::OpenOptions::new().write(true).open(file).unwrap();
    file.write_all_at(&[0x55; 4096], u64::try_from(page - 1).unwrap() * 4096).unwrap();
}

#[tokio::test]
async fn a_running_host_is_read_beside() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let mut talk = Talk::new("default", "notes");
    commit_all(&journal, [talk.create()]).await;
    for number in 1..=3 {
        commit_all(&journal, talk.turn_with_tools("hello")).await;
        let report = verify(folder.path());
        assert_eq!((report.is_sound(), report.counts.turns), (true, number), "{report:#?}");
    }
}

#[tokio::test]
async fn an_older_store_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/journal-1/journal.sqlite");
    std::fs::copy(golden, folder.path().join("journal.sqlite")).unwrap();
    let error = ReadOnlyJournal::open(folder.path()).unwrap_err();
    assert!(error.to_string().contains("run the host once"), "{error}");
    let version = "SELECT user_version FROM pragma_user_version";
    assert_eq!(testing::query_number(folder.path(), version).unwrap(), 1, "it was not migrated");
    drop(open(folder.path()));
    let report = verify(folder.path());
    assert!(report.is_sound(), "{report:#?}");
    assert!(report.findings.iter().all(|finding| finding.place != Location::Item { item: ItemId(1) }));
}

#[tokio::test]
async fn a_report_has_a_documented_shape() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    let sql = "UPDATE records SET at = at + 1 WHERE tenant = 1 AND session = 1 AND ordinal = 2";
    testing::execute_sql(folder.path(), sql).unwrap();
    let json = serde_json::to_value(verify(folder.path())).unwrap();
    let keys: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
    let expected =
        ["counts", "damaged", "depth", "elapsed", "findings", "format", "latest", "notes", "sound", "store_epoch"];
    assert_eq!(keys, expected);
    assert_eq!((&json["sound"], &json["damaged"], &json["depth"]), (&false.into(), &1.into(), &"full".into()));
    let finding = serde_json::json!({
        "tenant": "default", "session": "notes", "place": {"kind": "record", "ordinal": 2}, "damage": "digest",
        "message": "kind, time or body are not those that were stored",
    });
    assert_eq!(json["findings"], serde_json::json!([finding]));
    assert_eq!(json["store_epoch"].as_str().map(str::len), Some(32));
}
