//! What nothing else in the store tells of has checksums and counts: accepted ops, names, media types, values of the host, and the
//! tables themselves.

use std::path::Path;

use mainstay_journal::{CommitError, Journal, NewSubmission, ReadError, Transition, testing};
use mainstay_protocol::{
    Digest, SubmissionId, Timestamp,
    blob::NewBlob,
    record::{
        RecordBody,
        v1::{ModelChanged, SessionRetried},
    },
};

use super::{
    super::{
        golden,
        script::{Script, commit_all, open, refusal, route},
    },
    check, check_store, found, verify,
};

fn id(name: &str) -> SubmissionId {
    SubmissionId::new(name).unwrap()
}

fn retried() -> RecordBody {
    RecordBody::SessionRetried(SessionRetried { cause: "requested".to_owned() })
}

fn begun() -> RecordBody {
    let examples = RecordBody::examples();
    let body = examples.into_iter().find(|body| body.kind() == "operation_begun").unwrap();
    let RecordBody::OperationBegun(mut begun) = body else { panic!("another kind") };
    begun.command = id("begin");
    RecordBody::OperationBegun(begun)
}

fn changed(name: &str) -> RecordBody {
    RecordBody::ModelChanged(ModelChanged { submission: Some(id(name)), route: route() })
}

/// An op that is no message.
fn op(script: &mut Script, name: &str, body: RecordBody) -> Transition {
    let digest = Digest::of(name.as_bytes());
    let submission = Some(NewSubmission { submission: id(name), digest, accepted: None, record: 0 });
    Transition { submission, ..script.records(vec![body]) }
}

/// The end of the turn that runs, as a person called it off.
fn interrupted(script: &mut Script) -> Transition {
    let finished = script.clone().finish("never mind");
    let RecordBody::TurnCompleted(mut ended) = finished.records[1].body.clone() else { panic!("another end") };
    (ended.interrupted_by, ended.last_message) = (Some(id("stop")), None);
    let mut opened = finished.records[0].body.clone();
    if let RecordBody::StepCompleted(completed) = &mut opened {
        (completed.items, completed.last_message) = (None, None);
    }
    let mut transition = op(script, "stop", opened);
    let end = script.records(vec![RecordBody::TurnAborted(ended)]);
    transition.records.extend(end.records);
    transition.submission.as_mut().unwrap().record = 1;
    transition.state = end.state;
    transition
}

/// A session with ops of several kinds, all but one of which records name: two messages, an interrupt, a change of the model, an
/// operation, and a retry.
async fn with_ops(folder: &Path) -> Script {
    let (journal, mut script) = (open(folder), Script::new("notes"));
    commit_all(&journal, [script.create(), script.submit("one"), script.start("one"), interrupted(&mut script)]).await;
    let transitions = [
        op(&mut script, "model", changed("model")),
        op(&mut script, "begin", begun()),
        op(&mut script, "retry", retried()),
        script.submit("two"),
    ];
    commit_all(&journal, transitions).await;
    script
}

#[tokio::test]
async fn an_op_that_is_not_what_was_accepted_is_named() {
    let folder = tempfile::tempdir().unwrap();
    with_ops(folder.path()).await;
    let check = |sql: &str, expected: &[&str]| check_store(folder.path(), sql, expected);
    check("SELECT 1", &[]);
    for change in ["digest = zeroblob(32)", "accepted = 7", "checksum = zeroblob(8)"] {
        check(&format!("UPDATE submissions SET {change} WHERE submission = 'retry'"), &["notes: op retry: digest"]);
    }
    check(
        "UPDATE submissions SET ordinal = 7 WHERE submission = 'retry'",
        &["notes: op retry: digest", "notes: op retry: reference"],
    );
    check("UPDATE submissions SET submission = 'other' WHERE submission = 'retry'", &["notes: op other: digest"]);
    // Format 1 kept no checksum of ops.
    check("UPDATE submissions SET checksum = NULL", &[]);
    check(
        "UPDATE submissions SET accepted = -1, checksum = NULL WHERE submission = 'retry'",
        &["notes: op retry: shape"],
    );
}

#[tokio::test]
async fn an_op_that_is_missing_is_missed_whether_a_record_names_it_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let script = with_ops(folder.path()).await;
    let check = |sql: &str, expected: &[&str]| check_store(folder.path(), sql, expected);
    for name in ["stop", "model", "begin"] {
        let missing = format!("notes: op {name}: missing");
        check(&format!("DELETE FROM submissions WHERE submission = '{name}'"), &[&missing]);
    }
    let (one, two) = (id_of(&script, 1), script.submission());
    let both = [format!("notes: op {one}: missing"), format!("notes: op {two}: missing")];
    check("DELETE FROM submissions WHERE accepted IS NOT NULL", &[&both[0], &both[1]]);
    let count = "notes: the session's ops: count";
    check("DELETE FROM submissions WHERE submission = 'retry'", &[count]);
    check("UPDATE heads SET ops = ops + 1", &[count]);
    check("UPDATE heads SET ops = ops - 1", &[count]);
    let named = ["stop", "model", "begin"].map(|name| format!("notes: op {name}: missing"));
    let all = [&both[0], &named[0], &named[1], &named[2], &both[1]].map(String::as_str);
    check("DELETE FROM submissions", &[&all[..], &[count]].concat());
    let twice = "INSERT INTO submissions SELECT tenant, session, 'again', ordinal, accepted, digest, checksum
                 FROM submissions WHERE submission = 'retry'";
    check(twice, &["notes: op again: digest", count]);
}

#[tokio::test(flavor = "multi_thread")]
async fn ops_of_format_1_are_counted_when_it_is_brought_to_this_one() {
    let folder = golden::copy_of("journal-1");
    drop(open(folder.path()));
    check_store(folder.path(), "SELECT 1", &[]);
    let unnamed = "DELETE FROM submissions WHERE submission IN (SELECT submission FROM submissions WHERE accepted IS NULL LIMIT 1)";
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(folder.path().join("journal.sqlite"), copy.path().join("journal.sqlite")).unwrap();
    testing::execute_sql(copy.path(), unnamed).unwrap();
    let report = verify(copy.path());
    assert!(report.damaged == 1 && report.findings[0].session.is_some(), "{report:#?}");
}

/// The submission of the nth message.
fn id_of(script: &Script, message: u64) -> SubmissionId {
    let mut other = Script::new(script.session.as_str());
    (0..message).for_each(|_| drop(other.submit("")));
    other.submission()
}

#[tokio::test]
async fn what_did_not_come_as_an_op_has_no_row_and_that_is_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    commit_all(&journal, [script.create()]).await;
    for transition in script.turn_without_tools("imported", "done") {
        commit_all(&journal, [Transition { submission: None, ..transition }]).await;
    }
    let without_rows = [changed("of-the-host"), begun()].map(|body| script.records(vec![body]));
    commit_all(&journal, without_rows).await;
    // An op of another kind does not make messages of an import ops.
    commit_all(&journal, [op(&mut script, "retry", retried())]).await;
    drop(journal);
    let report = verify(folder.path());
    assert_eq!(found(&report), [""; 0], "{report:#?}");
}

#[tokio::test]
async fn a_repetition_of_an_op_whose_answer_is_damaged_is_refused_and_changes_nothing() {
    for damage in ["digest = zeroblob(32)", "ordinal = 2", "accepted = 7", "accepted = -1", "digest = x'00'"] {
        let folder = tempfile::tempdir().unwrap();
        let mut script = with_ops(folder.path()).await;
        let sql = format!("UPDATE submissions SET {damage} WHERE submission = 'retry'");
        testing::execute_sql(folder.path(), &sql).unwrap();
        let journal = open(folder.path());
        let (tenant, session) = (script.tenant.clone(), script.session.clone());
        let error = journal.submission(&tenant, &session, &id("retry")).await.unwrap_err();
        assert!(matches!(error, ReadError::Damaged { .. }), "{damage}: {error}");
        let again = op(&mut script.clone(), "retry", retried());
        assert_eq!(refusal(&journal, again).await, CommitError::Corrupt, "{damage}");
        assert!(journal.submission(&tenant, &session, &id("model")).await.unwrap().is_some(), "others are known");
        commit_all(&journal, [op(&mut script, "another", retried())]).await;
    }
}

#[tokio::test]
async fn names_are_those_that_were_given() {
    check("UPDATE tenants SET id = 'anybody' WHERE id = 'somebody'", &["-: table tenants: digest"]);
    check("UPDATE sessions SET id = 'nodes' WHERE id = 'notes'", &["-: table sessions: digest"]);
    check("UPDATE tenants SET sessions = sessions + 1 WHERE tenant = 1", &["-: table tenants: count"]);
    check("UPDATE tenants SET checksum = NULL; UPDATE sessions SET checksum = NULL", &[]);

    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    commit_all(&journal, [script.create(), Script::new("others").create()]).await;
    journal.forget(&script.tenant, &script.session, Timestamp(5)).await.unwrap();
    while testing::query_number(folder.path(), "SELECT count(session) FROM forgotten").unwrap() > 0 {
        journal.set_global("tick".to_owned(), None).await.unwrap();
    }
    drop(journal);
    check_store(folder.path(), "SELECT 1", &[]);
    check_store(folder.path(), "UPDATE forgotten SET id = 'nodes'", &["-: table forgotten: digest"]);
    check_store(folder.path(), "DELETE FROM forgotten", &["-: table tenants: count"]);
}

#[tokio::test]
async fn what_a_session_keeps_is_counted_once_and_has_its_media_type() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    let large = "large ".repeat(2_000);
    let kept = NewBlob::new("text/plain", b"kept".to_vec());
    commit_all(&journal, [script.create()]).await;
    for media_type in ["image/png", "text/plain"] {
        let both = vec![NewBlob::new(media_type, large.clone().into_bytes()), kept.clone()];
        commit_all(&journal, [Transition { blobs: both, ..script.records(vec![retried()]) }]).await;
    }
    commit_all(&journal, script.turn_without_tools(&large, &large)).await;
    drop(journal);
    check_store(folder.path(), "SELECT 1", &[]);
    let uses = "SELECT count(*) FROM blob_uses WHERE uses = 1 AND media_type = 'text/plain'";
    assert_eq!(testing::query_number(folder.path(), uses).unwrap(), 1, "once, though it was kept twice");
    let payload = |damage: &str| {
        let digest = kept.reference().digest();
        format!("notes: payload {}: {damage}", digest.short())
    };
    let of_kept = "WHERE media_type = 'text/plain'";
    for (change, damage) in
        [("media_type = 'text/html'", "digest"), ("checksum = zeroblob(8)", "digest"), ("uses = uses + 1", "count")]
    {
        check_store(folder.path(), &format!("UPDATE blob_uses SET {change} {of_kept}"), &[&payload(damage)]);
    }
    let dropped = format!("UPDATE blob_uses SET media_type = NULL {of_kept}");
    check_store(folder.path(), &dropped, &[&payload("digest"), &payload("count")]);
}

#[tokio::test]
async fn a_value_of_the_host_is_the_one_that_was_set() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    for value in ["1", "2"] {
        journal.set_global("greeting".to_owned(), Some(value.into())).await.unwrap();
    }
    drop(journal);
    check_store(folder.path(), "UPDATE globals SET checksum = NULL", &[]);
    let digest = &["-: table globals: digest"];
    check_store(folder.path(), "UPDATE globals SET key = 'meeting'", digest);
    check_store(folder.path(), "UPDATE globals SET value = x'00'", digest);
    testing::execute_sql(folder.path(), "UPDATE globals SET value = x'00'").unwrap();
    let journal = open(folder.path());
    let error = journal.global("greeting").await.unwrap_err();
    assert!(matches!(error, ReadError::Damaged { .. }), "{error}");
    journal.set_global("greeting".to_owned(), Some(b"3".to_vec())).await.unwrap();
    assert_eq!(journal.global("greeting").await.unwrap(), Some(b"3".to_vec()), "a new value mends it");
}

#[test]
fn tables_and_indexes_are_those_of_a_new_store() {
    let schema = |damage: &str| format!("-: table sqlite_schema: {damage}");
    check("DROP INDEX heads_with_work", &[&schema("missing")]);
    check("CREATE TRIGGER theirs AFTER INSERT ON records BEGIN SELECT 1; END", &[&schema("orphan")]);
    let rewrite = |from: &str, to: &str| {
        format!(
            "PRAGMA writable_schema = on;
             UPDATE sqlite_schema SET sql = replace(sql, '{from}', '{to}') WHERE name = 'generations'"
        )
    };
    let unnoticed = rewrite("retired_at     INTEGER", "retired_at     ANY    ");
    check(&unnoticed, &[&schema("shape")]);
    // Who asks for the column gets an error, and all else is still checked.
    let renamed = rewrite("activated_at", "activated_as");
    check(&renamed, &[&schema("shape"), "-: table generations: page"]);
    // What anybody may do with a store.
    check("ANALYZE; VACUUM; REINDEX; PRAGMA optimize; CREATE INDEX theirs ON records (at)", &[]);
}
