//! Large payloads: written once a tenant, counted, removed with their last use, and given only to sessions that keep them.

mod damage;
mod histories;

use std::path::Path;

use mainstay_journal::{CommitError, Journal, Range, SqliteJournal, Transition, testing};
use mainstay_protocol::{
    AcceptedOrdinal, TenantId,
    blob::{BlobInfo, BlobReference, MAX_BLOB, NewBlob},
    content::{Item, ItemBody, Message, Part},
    record::{RecordBody, v1::ModelChanged},
};

use super::script::{Script, commit_all, open, refusal, route};

const MIB: usize = 1 << 20;

/// Payloads that the store has, and their rows.
fn stored(folder: &Path) -> (i64, i64) {
    let count = |table| testing::query_number(folder, &format!("SELECT count(*) FROM {table}")).unwrap();
    (count("blobs"), count("blob_pieces"))
}

fn number(folder: &Path, sql: &str) -> i64 {
    testing::query_number(folder, sql).unwrap()
}

/// A transition with a record that says nothing about messages.
fn beside(script: &mut Script) -> Transition {
    script.records(vec![RecordBody::ModelChanged(ModelChanged { submission: None, route: route() })])
}

/// Text that no two places share.
fn text(length: usize) -> String {
    (0..).flat_map(|number: u32| format!("{number} ").into_bytes()).take(length).map(char::from).collect()
}

async fn items(journal: &SqliteJournal, script: &Script) -> Vec<Item> {
    let page = journal.items(&script.tenant, &script.session, Range::forward(1_000)).await.unwrap();
    assert_eq!(page.damaged, []);
    page.rows
}

#[tokio::test]
async fn a_large_message_is_written_once_and_not_again_when_its_turn_starts() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    let message = text(MIB);
    commit_all(&journal, [script.create(), script.submit(&message)]).await;
    assert_eq!(stored(folder.path()), (1, 5), "1 MiB and what JSON adds");
    assert_eq!(number(folder.path(), "SELECT length(content) FROM queue"), 0);
    let waiting = journal.queued(&script.tenant, &script.session, AcceptedOrdinal(1)).await.unwrap().unwrap();
    assert_eq!(waiting.content, [Part::Text(message.clone())]);

    let rows = "SELECT min(rowid) * 1000 + count(*) FROM blob_pieces";
    let before = number(folder.path(), rows);
    commit_all(&journal, [script.start(&message)]).await;
    assert_eq!(number(folder.path(), rows), before);
    assert_eq!(number(folder.path(), "SELECT sum(uses) FROM blob_uses"), 1, "the message has left the queue");
    assert_eq!(number(folder.path(), "SELECT uses FROM blobs"), 1);
    commit_all(&journal, [script.finish("a short answer")]).await;
    drop(journal);

    let journal = open(folder.path());
    let items = items(&journal, &script).await;
    assert_eq!(items[0].body, ItemBody::Message(Message::user(vec![Part::Text(message)])));
    assert_eq!(items.len(), 2);
    assert!(number(folder.path(), "SELECT max(length(body)) FROM items") < 1_000);
    let verified = journal.verify(&script.tenant, &script.session).await.unwrap().unwrap();
    assert!(verified.is_sound(), "{verified:?}");
}

#[tokio::test]
async fn small_payloads_stay_in_their_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    let (small, large) = (text(4_000), text(4_200));
    commit_all(&journal, [script.create()]).await;
    commit_all(&journal, script.turn_without_tools(&small, &small)).await;
    assert_eq!(stored(folder.path()), (0, 0));
    commit_all(&journal, script.turn_without_tools(&small, &large)).await;
    assert_eq!(stored(folder.path()), (1, 1));
}

#[tokio::test]
async fn a_large_private_part_comes_back_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    commit_all(&journal, [script.create(), script.submit("hello"), script.start("hello")]).await;
    let mut finish = script.finish("hi");
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    finish.items[0].private_part.as_mut().unwrap().bytes = bytes.clone();
    let expected = finish.items.clone();
    commit_all(&journal, [finish]).await;
    assert_eq!(stored(folder.path()), (1, 2));
    assert_eq!(items(&journal, &script).await[1..], expected);
}

#[tokio::test]
async fn a_message_that_is_withdrawn_takes_its_payload_along() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    let message = text(600_000);
    commit_all(&journal, [script.create(), script.submit(&message), script.submit(&message)]).await;
    assert_eq!(stored(folder.path()).0, 1);
    let withdraw = |script: &mut Script, accepted| {
        let mut transition = beside(script);
        transition.unqueued.push(AcceptedOrdinal(accepted));
        transition
    };
    let transition = withdraw(&mut script, 1);
    commit_all(&journal, [transition]).await;
    assert_eq!(stored(folder.path()).0, 1, "the second message has the same content");
    let transition = withdraw(&mut script, 2);
    commit_all(&journal, [transition]).await;
    assert_eq!(stored(folder.path()), (0, 0));
    assert_eq!(number(folder.path(), "SELECT count(*) FROM blob_uses"), 0);
}

#[tokio::test]
async fn sessions_of_a_tenant_share_and_tenants_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let message = text(10_000);
    let mut scripts = [Script::new("a"), Script::new("b"), Script::new("a")];
    scripts[2].tenant = TenantId::new("stranger").unwrap();
    for script in &mut scripts {
        commit_all(&journal, [script.create()]).await;
        commit_all(&journal, script.turn_without_tools(&message, "short")).await;
    }
    assert_eq!(stored(folder.path()), (2, 2));
    assert_eq!(number(folder.path(), "SELECT max(uses) * 10 + min(uses) FROM blobs"), 21);
    for script in &scripts {
        assert_eq!(items(&journal, script).await.len(), 2);
    }
}

/// A session that keeps these bytes.
async fn keeping(journal: &SqliteJournal, session: &str, tenant: &str, blob: &NewBlob) -> Script {
    let mut script = Script::new(session);
    script.tenant = TenantId::new(tenant).unwrap();
    let mut create = script.create();
    create.blobs.push(blob.clone());
    commit_all(journal, [create]).await;
    script
}

async fn info(journal: &SqliteJournal, script: &Script, blob: &BlobReference) -> Option<BlobInfo> {
    let info = journal.blob_info(&script.tenant, &script.session, blob).await.unwrap();
    let bytes = journal.blob_read(&script.tenant, &script.session, blob, 0, 10).await.unwrap();
    assert_eq!(info.is_some(), bytes.is_some());
    info
}

#[tokio::test]
async fn a_reference_is_good_only_with_a_session_that_keeps_the_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let blob = NewBlob::new("text/plain", text(20_000).into_bytes());
    let reference = blob.reference();
    let keeper = keeping(&journal, "keeper", "default", &blob).await;
    let mut bystander = Script::new("bystander");
    let mut stranger = Script::new("keeper");
    stranger.tenant = TenantId::new("stranger").unwrap();
    commit_all(&journal, [bystander.create(), stranger.create()]).await;

    let expected = BlobInfo { media_type: "text/plain".to_owned(), size: 20_000 };
    assert_eq!(info(&journal, &keeper, &reference).await, Some(expected.clone()));
    assert_eq!(info(&journal, &bystander, &reference).await, None, "the session does not keep it");
    assert_eq!(info(&journal, &stranger, &reference).await, None, "the tenant does not have it");
    assert_eq!(info(&journal, &Script::new("nobody"), &reference).await, None, "there is no such session");

    let other = keeping(&journal, "other", "default", &NewBlob::new("text/html", blob.bytes().to_vec())).await;
    assert_eq!(stored(folder.path()).0, 1, "one row for both");
    assert_eq!(info(&journal, &other, &reference).await.unwrap().media_type, "text/html", "each has its own word");
    assert_eq!(info(&journal, &keeper, &reference).await, Some(expected));
    assert_eq!(info(&journal, &bystander, &reference).await, None);
}

/// What an item says is read with the item. By its digest alone, which anyone can compute who guesses it, it is not given.
#[tokio::test]
async fn the_payload_of_an_item_is_not_given_by_reference() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    let message = text(10_000);
    commit_all(&journal, [script.create()]).await;
    commit_all(&journal, script.turn_without_tools(&message, "short")).await;
    let json = serde_json::to_vec(&[Part::Text(message)]).unwrap();
    let blob = NewBlob::new("application/json", json);
    assert_eq!(stored(folder.path()).0, 1);
    assert_eq!(info(&journal, &script, &blob.reference()).await, None);

    let mut more = script.submit("more");
    more.blobs.push(blob.clone());
    commit_all(&journal, [more]).await;
    assert_eq!(stored(folder.path()).0, 1, "the very bytes that the item has");
    assert!(info(&journal, &script, &blob.reference()).await.is_some(), "now the session keeps them too");
}

#[tokio::test]
async fn parts_are_read_from_anywhere_and_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..3 * MIB / 2 + 7).map(|number| (number * 31 % 251) as u8).collect();
    let blob = NewBlob::new("application/octet-stream", bytes.clone());
    let journal = open(folder.path());
    let script = keeping(&journal, "notes", "default", &blob).await;
    drop(journal);
    let journal = open(folder.path());
    let read = async |offset: usize, max: usize| {
        let reference = blob.reference();
        journal.blob_read(&script.tenant, &script.session, &reference, offset as u64, max).await.unwrap().unwrap()
    };
    let piece = 256 << 10;
    let edges = [0, 1, piece - 1, piece, piece + 1, 3 * piece - 2, bytes.len() - 1, bytes.len(), bytes.len() + 1];
    for offset in edges {
        for max in [0, 1, 3, piece, piece + 5] {
            let end = (offset + max).min(bytes.len());
            assert!(read(offset, max).await == bytes[offset.min(end)..end], "{offset} {max}");
        }
    }
    assert!(read(5, usize::MAX).await == bytes[5..MIB + 5], "1 MiB at a time");
    assert_eq!(read(usize::MAX, 1).await, Vec::<u8>::new());
}

#[tokio::test]
async fn a_blob_without_bytes_is_one_too() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let (nothing, something) = (NewBlob::new("a/b", Vec::new()), NewBlob::new("a/b", vec![1]));
    let script = keeping(&journal, "one", "default", &nothing).await;
    let other = keeping(&journal, "two", "default", &something).await;
    assert_eq!(info(&journal, &script, &nothing.reference()).await.unwrap().size, 0);
    assert_eq!(info(&journal, &other, &something.reference()).await.unwrap().size, 1);
}

#[tokio::test]
async fn what_is_too_large_is_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    let mut create = script.create();
    create.blobs.push(NewBlob::new("a/b", vec![0; MAX_BLOB + 1]));
    let error = refusal(&journal, create).await;
    assert_eq!(error, CommitError::Integrity { rule: "a blob has at most 64 MiB" });
    assert!(journal.open_session(&script.tenant, &script.session).await.unwrap().is_none());
    assert_eq!(stored(folder.path()), (0, 0));
}

#[tokio::test]
async fn a_transition_that_is_refused_leaves_no_payload() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    commit_all(&journal, [script.create()]).await;
    let mut submit = script.submit(&text(10_000));
    submit.blobs.push(NewBlob::new("a/b", text(50).into_bytes()));
    submit.unqueued.push(AcceptedOrdinal(9));
    assert!(matches!(refusal(&journal, submit).await, CommitError::Integrity { .. }));
    assert_eq!(stored(folder.path()), (0, 0));
}
