//! Damaged payloads: reported, passed, and never given.

use std::path::Path;

use mainstay_journal::{Damage, Damaged, Journal, Place, Range, ReadError, SqliteJournal, testing};
use mainstay_protocol::{
    AcceptedOrdinal, ItemId,
    blob::{BlobReference, NewBlob},
};

use super::{Script, beside, commit_all, keeping, open, stored, text};

/// A session of a large message, a large answer and a kept blob, its journal closed, damaged, and open again.
async fn damaged(folder: &Path, sql: &str) -> (SqliteJournal, Script, BlobReference) {
    let journal = open(folder);
    let blob = NewBlob::new("a/b", text(600_000).into_bytes());
    let mut script = keeping(&journal, "notes", "default", &blob).await;
    commit_all(&journal, script.turn_without_tools(&text(9_000), &text(8_000))).await;
    commit_all(&journal, [script.submit(&text(7_000))]).await;
    drop(journal);
    testing::execute_sql(folder, sql).unwrap();
    (open(folder), script, blob.reference())
}

/// What a page says of the two items.
async fn damage_of_items(sql: &str) -> (Vec<u64>, Vec<Damaged>) {
    let folder = tempfile::tempdir().unwrap();
    let (journal, script, _) = damaged(folder.path(), sql).await;
    let page = journal.items(&script.tenant, &script.session, Range::forward(10)).await.unwrap();
    (page.rows.iter().map(|item| item.id.0).collect(), page.damaged)
}

const OF_ITEM_1: &str = "(SELECT blob FROM items WHERE item = 1 AND piece = 0)";

#[tokio::test]
async fn a_damaged_payload_is_reported_and_the_page_goes_on() {
    let item = |damage| (vec![2], vec![Damaged { at: Place::Item(ItemId(1)), damage }]);
    assert_eq!(damage_of_items("SELECT 1").await, (vec![1, 2], vec![]));
    let flip = format!(
        "UPDATE blob_pieces SET bytes = CAST(replace(bytes, '17 18', '17 19') AS BLOB) WHERE piece = {OF_ITEM_1}"
    );
    assert_eq!(damage_of_items(&flip).await, item(Damage::Digest));
    let short = format!("UPDATE blob_pieces SET bytes = substr(bytes, 2) WHERE piece = {OF_ITEM_1}");
    assert_eq!(damage_of_items(&short).await, item(Damage::Digest));
    let gone = format!("DELETE FROM blob_pieces WHERE piece = {OF_ITEM_1}");
    assert_eq!(damage_of_items(&gone).await, item(Damage::Digest));
    let gone = format!("DELETE FROM blobs WHERE blob = {OF_ITEM_1}");
    assert_eq!(damage_of_items(&gone).await, item(Damage::Missing));
    let shape = format!("UPDATE blobs SET digest = x'00' WHERE blob = {OF_ITEM_1}");
    assert_eq!(damage_of_items(&shape).await, item(Damage::Shape));
    let swapped =
        "UPDATE items SET blob = (SELECT blob FROM items WHERE item = 2 AND piece = 0) WHERE item = 1 AND piece = 0";
    assert_eq!(damage_of_items(swapped).await, item(Damage::Digest), "another item's payload is not its own");
    let cleared = "UPDATE items SET blob = NULL WHERE item = 1";
    assert_eq!(damage_of_items(cleared).await, item(Damage::Digest));
}

#[tokio::test]
async fn a_damaged_blob_is_never_given() {
    let folder = tempfile::tempdir().unwrap();
    let sql = "UPDATE blob_pieces SET bytes = CAST(substr(bytes, 2) || x'00' AS BLOB) WHERE piece = 2";
    let (journal, script, reference) = damaged(folder.path(), sql).await;
    let (tenant, session) = (&script.tenant, &script.session);
    let error = journal.blob_read(tenant, session, &reference, 300_000, 1).await.unwrap_err();
    assert_eq!(error, ReadError::Damaged { what: "blob" });
    let sound = journal.blob_read(tenant, session, &reference, 10, 5).await.unwrap().unwrap();
    assert_eq!(sound, text(20).as_bytes()[10..15], "what is not damaged can still be read");
    testing::execute_sql(folder.path(), "DELETE FROM blob_pieces WHERE piece = 1").unwrap();
    assert!(journal.blob_read(tenant, session, &reference, 10, 5).await.is_err());
}

#[tokio::test]
async fn a_waiting_message_with_a_damaged_payload_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let sql = "DELETE FROM blobs WHERE blob = (SELECT blob FROM queue)";
    let (journal, script, _) = damaged(folder.path(), sql).await;
    let error = journal.queued(&script.tenant, &script.session, AcceptedOrdinal(2)).await.unwrap_err();
    assert_eq!(error, ReadError::Damaged { what: "queue of the session" });
    assert!(journal.open_session(&script.tenant, &script.session).await.is_ok(), "its state needs no payload");
}

#[tokio::test]
async fn a_size_that_is_damaged_brings_no_other_payload_into_an_item() {
    let more = format!("UPDATE blobs SET size = size | (1 << 40) WHERE blob = {OF_ITEM_1}");
    assert_eq!(damage_of_items(&more).await, (vec![1, 2], vec![]), "its bytes end where the next ones begin");
    let less = format!("UPDATE blobs SET size = 1 WHERE blob = {OF_ITEM_1}");
    let damaged = Damaged { at: Place::Item(ItemId(1)), damage: Damage::Digest };
    assert_eq!(damage_of_items(&less).await, (vec![2], vec![damaged]));
}

#[tokio::test]
async fn a_message_whose_payload_has_a_damaged_size_takes_nothing_else_along() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut first) = (open(folder.path()), Script::new("first"));
    commit_all(&journal, [first.create(), first.submit(&text(9_000))]).await;
    let blob = NewBlob::new("a/b", text(600_000).into_bytes());
    let other = keeping(&journal, "other", "stranger", &blob).await;
    testing::execute_sql(folder.path(), "UPDATE blobs SET size = size | (1 << 40) WHERE blob = 1").unwrap();
    let mut withdraw = beside(&mut first);
    withdraw.unqueued.push(AcceptedOrdinal(1));
    commit_all(&journal, [withdraw]).await;
    assert_eq!(stored(folder.path()), (1, 3));
    assert_eq!(read_all(&journal, &other, &blob).await, Ok(blob.bytes().to_vec()));
}

/// All bytes of a blob that a session keeps.
async fn read_all(journal: &SqliteJournal, script: &Script, blob: &NewBlob) -> Result<Vec<u8>, ReadError> {
    let most = blob.bytes().len() + 1;
    let read = journal.blob_read(&script.tenant, &script.session, &blob.reference(), 0, most).await?;
    Ok(read.unwrap())
}

#[tokio::test]
async fn bytes_that_are_stored_again_mend_those_that_are_there() {
    let cases = [
        "UPDATE blob_pieces SET bytes = CAST('x' || substr(bytes, 2) AS BLOB) WHERE piece = 2",
        "UPDATE blob_pieces SET bytes = substr(bytes, 2) WHERE piece = 3",
        "UPDATE blob_pieces SET checksum = zeroblob(8) WHERE piece = 1",
        "DELETE FROM blob_pieces WHERE piece = 1",
        "DELETE FROM blob_pieces WHERE piece >= 2",
        "DELETE FROM blob_pieces",
        "UPDATE blobs SET size = 1 WHERE blob = 1",
        "UPDATE blobs SET size = size | (1 << 40) WHERE blob = 1",
    ];
    for (sql, others) in cases.into_iter().flat_map(|sql| [(sql, true), (sql, false)]) {
        let folder = tempfile::tempdir().unwrap();
        let journal = open(folder.path());
        let blob = NewBlob::new("a/b", text(600_000).into_bytes());
        let first = keeping(&journal, "first", "default", &blob).await;
        let gone =
            if others { "" } else { "DELETE FROM blobs WHERE blob > 1; DELETE FROM blob_pieces WHERE piece > 3;" };
        let behind = NewBlob::new("a/b", text(300_000).into_bytes());
        let bystander = keeping(&journal, "bystander", "default", &behind).await;
        testing::execute_sql(folder.path(), &format!("{gone} {sql}")).unwrap();
        assert_ne!(read_all(&journal, &first, &blob).await, Ok(blob.bytes().to_vec()), "{sql}");
        // What comes between takes none of the numbers that are missing.
        let between = NewBlob::new("a/b", text(10).into_bytes());
        keeping(&journal, "between", "default", &between).await;
        let second = keeping(&journal, "second", "default", &blob).await;
        for script in [&first, &second] {
            assert_eq!(read_all(&journal, script, &blob).await, Ok(blob.bytes().to_vec()), "{sql}");
        }
        if others && !sql.ends_with("piece >= 2") && !sql.ends_with("blob_pieces") {
            assert_eq!(read_all(&journal, &bystander, &behind).await, Ok(behind.bytes().to_vec()), "{sql}");
        }
    }
}
