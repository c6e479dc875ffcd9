//! What belongs to the host: lifecycle records with the active builds, and global values.

use mainstay_journal::{GenerationChange, GenerationOrigin, GenerationRow, Journal, Range, host_session, host_tenant};
use mainstay_protocol::{
    Digest, PluginName, Timestamp,
    record::{NewRecord, RecordBody, v1::PluginLifecycle},
};

use super::script::open;

fn row(build: &str, at: u64, origin: GenerationOrigin) -> GenerationRow {
    GenerationRow {
        plugin: PluginName::new("files").unwrap(),
        sha256: Digest::of(build.as_bytes()),
        package: Digest::of(format!("package {build}").as_bytes()),
        version: "0.1.0".to_owned(),
        activated_at: Timestamp(at),
        origin,
    }
}

fn lifecycle(row: &GenerationRow, kind: fn(PluginLifecycle) -> RecordBody) -> NewRecord {
    let body = PluginLifecycle {
        plugin: row.plugin.clone(),
        sha256: row.sha256,
        version: row.version.clone(),
        replaces: None,
        reason: None,
    };
    NewRecord { at: row.activated_at, body: kind(body) }
}

#[tokio::test]
async fn a_swap_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let first = row("one", 1, GenerationOrigin::Manifest);
    let second = row("two", 2, GenerationOrigin::Override { entry: Digest::of(b"entry") });
    let activate = |row: &GenerationRow| vec![GenerationChange::Activate(row.clone())];
    journal.append_host_records(vec![lifecycle(&first, RecordBody::PluginActivated)], activate(&first)).await.unwrap();
    let swapped = journal
        .append_host_records(vec![lifecycle(&second, RecordBody::PluginSwapped)], activate(&second))
        .await
        .unwrap();
    assert_eq!((swapped[0].ordinal.0, swapped[0].seq.map(|seq| seq.0)), (2, Some(2)));
    drop(journal);

    let journal = open(folder.path());
    assert_eq!(journal.generations().await.unwrap(), std::slice::from_ref(&second));
    assert_eq!(journal.generation_history(&first.plugin).await.unwrap(), [second.clone(), first]);
    let records = journal.records(&host_tenant(), &host_session(), Range::forward(10)).await.unwrap();
    assert_eq!(records.rows.len(), 2);
    assert!(journal.verify(&host_tenant(), &host_session()).await.unwrap().unwrap().is_sound());
    assert!(journal.open_session(&host_tenant(), &host_session()).await.unwrap().is_none(), "it is no conversation");

    let gone = vec![GenerationChange::Retire { plugin: second.plugin.clone(), at: Timestamp(3) }];
    journal.append_host_records(vec![lifecycle(&second, RecordBody::PluginDrained)], gone).await.unwrap();
    assert!(journal.generations().await.unwrap().is_empty());
}

#[tokio::test]
async fn global_values_are_set_replaced_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    for value in [Some(b"1".to_vec()), Some(b"2".to_vec()), None] {
        journal.set_global("greeting".to_owned(), value.clone()).await.unwrap();
        assert_eq!(journal.global("greeting").await.unwrap(), value);
    }
}
