//! Builds of plugins in `verify`: their rows are checked, and the active ones are those that were activated last. What a host may do
//! is no damage.

use mainstay_journal::{GenerationChange, GenerationOrigin, GenerationRow, Journal, ReadError, SqliteJournal, testing};
use mainstay_protocol::{
    Digest, PluginName, Timestamp,
    record::{NewRecord, RecordBody, v1::PluginLifecycle},
};

use super::{super::script::open, check_store, found, verify};

/// A build, as its version tells it from others.
pub(super) fn row(plugin: &str, version: &str, at: u64) -> GenerationRow {
    GenerationRow {
        plugin: PluginName::new(plugin).unwrap(),
        sha256: Digest::of(version.as_bytes()),
        package: Digest::of(format!("package {version}").as_bytes()),
        version: version.to_owned(),
        activated_at: Timestamp(at),
        origin: GenerationOrigin::Override { entry: Digest::of(b"entry") },
    }
}

fn record(row: &GenerationRow, kind: fn(PluginLifecycle) -> RecordBody) -> NewRecord {
    let (plugin, sha256, version) = (row.plugin.clone(), row.sha256, row.version.clone());
    NewRecord {
        at: row.activated_at,
        body: kind(PluginLifecycle { plugin, sha256, version, replaces: None, reason: None }),
    }
}

/// What a swap commits.
pub(super) async fn swapped(journal: &SqliteJournal, row: GenerationRow) {
    let record = record(&row, RecordBody::PluginSwapped);
    journal.append_host_records(vec![record], vec![GenerationChange::Activate(row)]).await.unwrap();
}

/// What the end of the last call on a build commits.
async fn drained(journal: &SqliteJournal, row: &GenerationRow) {
    journal.append_host_records(vec![record(row, RecordBody::PluginDrained)], Vec::new()).await.unwrap();
}

/// What a start without the plugin commits.
async fn retired(journal: &SqliteJournal, row: &GenerationRow) {
    let gone = vec![GenerationChange::Retire { plugin: row.plugin.clone(), at: Timestamp(99) }];
    journal.append_host_records(vec![record(row, RecordBody::PluginDrained)], gone).await.unwrap();
}

/// A store in which `files` was swapped from a build to another, and back, `gates` was retired, `notes` has another package of the same
/// component, and `once` was never touched.
async fn store() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let (first, second) = (row("files", "0.1.0", 1), row("files", "0.2.0", 2));
    swapped(&journal, first.clone()).await;
    swapped(&journal, second.clone()).await;
    // Back before the last call on it has ended: then it drains while it is active.
    swapped(&journal, first.clone()).await;
    drained(&journal, &first).await;
    drained(&journal, &second).await;
    let (gates, notes) = (row("gates", "1.0.0", 3), row("notes", "1.0.0", 4));
    swapped(&journal, gates.clone()).await;
    swapped(&journal, notes.clone()).await;
    retired(&journal, &gates).await;
    // Another package of the same component.
    swapped(&journal, GenerationRow { package: Digest::of(b"another"), ..notes.clone() }).await;
    drained(&journal, &notes).await;
    swapped(&journal, row("once", "1.0.0", 5)).await;
    drop(journal);
    folder
}

#[tokio::test]
async fn whatever_a_host_does_with_builds_is_sound() {
    let folder = store().await;
    let report = verify(folder.path());
    assert_eq!(found(&report), [""; 0], "{report:#?}");
    // And none at all.
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    assert!(verify(folder.path()).is_sound());
}

#[tokio::test]
async fn builds_that_are_not_what_was_written_are_named() {
    let folder = store().await;
    let check = |sql: &str, expected: &[&str]| check_store(folder.path(), sql, expected);
    let (digest, reference) = ("-: table generations: digest", "-: table generations: reference");
    let missing = "-: table generations: missing";
    let files = "plugin = 'files' AND generation =";
    check(&format!("UPDATE generations SET sha256 = zeroblob(32) WHERE {files} 2"), &[digest]);
    check(&format!("UPDATE generations SET sha256 = zeroblob(32) WHERE {files} 3"), &[digest, reference]);
    check(&format!("UPDATE generations SET version = '7' WHERE {files} 3"), &[digest, reference]);
    check(&format!("UPDATE generations SET package = zeroblob(32) WHERE {files} 3"), &[digest]);
    check(&format!("UPDATE generations SET override_entry = NULL WHERE {files} 3"), &[digest]);
    check(&format!("UPDATE generations SET activated_at = 7 WHERE {files} 3"), &[digest]);
    check(&format!("UPDATE generations SET retired_at = 7 WHERE {files} 2"), &[digest]);
    check(&format!("UPDATE generations SET generation = 7 WHERE {files} 3"), &[digest, missing]);
    check("UPDATE generations SET retired_at = NULL WHERE plugin = 'gates'", &[digest]);
    check(&format!("DELETE FROM generations WHERE {files} 2"), &[missing]);
    check(&format!("DELETE FROM generations WHERE {files} 1"), &[missing]);
    check("DELETE FROM generations WHERE plugin = 'once'", &[missing]);
    check("UPDATE generations SET plugin = 'twice' WHERE plugin = 'once'", &[digest, missing]);
    // Format 1 kept no checksums.
    let old = "UPDATE generations SET checksum = NULL;";
    check(old, &[]);
    check(&format!("{old} UPDATE generations SET retired_at = 7 WHERE plugin = 'once'"), &[missing]);
    check(&format!("{old} UPDATE generations SET sha256 = zeroblob(32) WHERE plugin = 'once'"), &[reference]);
}

#[tokio::test]
async fn a_damaged_build_is_never_the_active_one_and_does_not_come_to_look_sound() {
    let folder = store().await;
    let damage = "UPDATE generations SET package = zeroblob(32) WHERE plugin = 'once'";
    testing::execute_sql(folder.path(), damage).unwrap();
    let journal = open(folder.path());
    let active = journal.generations().await.unwrap();
    let names: Vec<_> = active.iter().map(|row| row.plugin.as_str()).collect();
    assert_eq!(names, ["files", "notes"], "the others are");
    let once = row("once", "1.0.0", 5);
    let error = journal.generation_history(&once.plugin).await.unwrap_err();
    assert!(matches!(error, ReadError::Damaged { .. }), "{error}");
    assert_eq!(journal.generation_history(&row("files", "", 0).plugin).await.unwrap().len(), 3);

    let next = row("once", "1.0.1", 6);
    swapped(&journal, next.clone()).await;
    assert!(journal.generations().await.unwrap().contains(&next), "it is replaced like any other");
    drop(journal);
    check_store(folder.path(), "SELECT 1", &["-: table generations: digest"]);
}
