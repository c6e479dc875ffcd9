//! Forgetting a session whose rows are damaged: what is of others stays, whatever a number says.

use mainstay_journal::{FeedFilter, FeedQuery, Journal, testing};
use mainstay_protocol::{TenantId, blob::NewBlob};

use super::{super::script::commit_all, Script, fill, forget, open, swept};

#[tokio::test]
async fn a_payload_whose_size_is_damaged_takes_no_other_along() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let (script, mut other) = (fill(&journal, "notes", 0).await, Script::new("other"));
    other.tenant = TenantId::new("stranger").unwrap();
    let mut create = other.create();
    create.blobs.push(NewBlob::new("text/plain", vec![7; 600_000]));
    commit_all(&journal, [create]).await;
    commit_all(&journal, other.turn_without_tools(&"question ".repeat(1_000), &"answer ".repeat(1_000))).await;
    testing::execute_sql(folder.path(), "UPDATE blobs SET size = size | (1 << 40) WHERE blob = 1").unwrap();
    forget(&journal, &script).await.unwrap();
    swept(&journal).await;
    let blobs = "SELECT (SELECT count(*) FROM blobs) * 10 + (SELECT count(*) FROM blob_pieces)";
    assert_eq!(testing::query_number(folder.path(), blobs).unwrap(), 35);
    let verified = journal.verify(&other.tenant, &other.session).await.unwrap().unwrap();
    assert!(verified.is_sound(), "{verified:?}");
}

#[tokio::test]
async fn a_record_that_names_the_event_of_another_session_does_not_take_it_along() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let script = fill(&journal, "notes", 0).await;
    let (other, mut namesake) = (fill(&journal, "other", 0).await, Script::new("notes"));
    namesake.tenant = TenantId::new("stranger").unwrap();
    commit_all(&journal, [namesake.create()]).await;
    commit_all(&journal, namesake.turn_without_tools("hello", "hi")).await;
    let query = || FeedQuery { filter: FeedFilter::default(), after: Some(journal.feed_start()), limit: 100 };
    let before = journal.feed(query()).await.unwrap().events;
    assert_eq!(before.len(), 6);
    // Its two events become those of another session of the tenant, and of another tenant's session with the same name.
    let ours = "tenant = 1 AND session = 1";
    let event = |of: &str| format!("(SELECT max(seq) FROM feed WHERE {of})");
    let sql = format!(
        "UPDATE records SET seq = {} WHERE {ours} AND seq = 1; UPDATE records SET seq = {} WHERE {ours} AND seq = 2",
        event("tenant = 1 AND session = 2"),
        event("tenant = 2 AND session = 1"),
    );
    testing::execute_sql(folder.path(), &sql).unwrap();
    forget(&journal, &script).await.unwrap();
    swept(&journal).await;
    assert_eq!(journal.feed(query()).await.unwrap().events, before[2..]);
    for kept in [&other, &namesake] {
        assert!(journal.verify(&kept.tenant, &kept.session).await.unwrap().unwrap().is_sound());
    }
}
