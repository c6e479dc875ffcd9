//! Cursors: places that stay good while the store lives, and that say so when it does not.

use std::{fs, path::Path};

use mainstay_journal::{FeedFilter, FeedQuery, Journal, ReadError, SqliteJournal, testing};
use mainstay_protocol::{
    Seq, Timestamp,
    cursor::{Cursor, StoreEpoch},
};

use super::{
    super::script::{commit_all, open},
    after, latest, one_turn, page, seqs,
};

async fn refused(journal: &SqliteJournal, after: Cursor) -> ReadError {
    let query = FeedQuery { filter: FeedFilter::default(), after: Some(after), limit: 10 };
    let error = journal.feed(query).await.unwrap_err();
    let mut follower = journal.subscribe(FeedFilter::default(), Some(after));
    assert_eq!(follower.begin().await.unwrap_err(), error, "a follower is told the same");
    assert_eq!(follower.next().await.unwrap_err(), error);
    error
}

/// What a backup tool would have copied while no host ran.
fn copy(from: &Path, to: &Path) {
    fs::copy(from.join("journal.sqlite"), to.join("journal.sqlite")).unwrap();
}

#[tokio::test]
async fn a_cursor_comes_back_to_its_place_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    one_turn(&journal, "notes").await;
    let first = page(&journal, journal.feed_start(), 1).await;
    assert_eq!(first.next, after(&first, 1));
    let text = first.next.to_string();
    drop(journal);
    let journal = open(folder.path());
    let second = page(&journal, text.parse().unwrap(), 10).await;
    assert_eq!((seqs(&second.events), second.next), (vec![2], latest(&journal).await));
    assert_eq!(second.latest, after(&second, 2), "the frontier has the check of its event");
}

#[tokio::test]
async fn a_place_whose_event_was_forgotten_is_still_good() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let gone = one_turn(&journal, "gone").await;
    let middle = page(&journal, journal.feed_start(), 1).await.next;
    one_turn(&journal, "stays").await;
    journal.forget(&gone.tenant, &gone.session, Timestamp(1)).await.unwrap();
    assert_eq!(seqs(&page(&journal, middle, 10).await.events), [3, 4]);
    drop(journal);
    let journal = open(folder.path());
    assert_eq!(seqs(&page(&journal, middle, 10).await.events), [3, 4], "also when all rows are gone");
}

#[tokio::test]
async fn a_backup_put_back_is_noticed() {
    let (folder, backup) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let journal = open(folder.path());
    let mut notes = one_turn(&journal, "notes").await;
    drop(journal);
    copy(folder.path(), backup.path());
    let (journal, yesterday) = (open(folder.path()), notes.clone());
    commit_all(&journal, notes.turn_without_tools("lost", "lost")).await;
    let newer = latest(&journal).await;
    assert_eq!(newer.seq, Seq(4));
    let older = page(&journal, journal.feed_start(), 2).await.next;
    let epoch = newer.epoch;
    drop(journal);

    // Put back by hand: the store is at 2 again, and then has other events at 3 and 4.
    copy(backup.path(), folder.path());
    let journal = open(folder.path());
    assert_eq!(refused(&journal, newer).await, ReadError::EpochChanged { current: epoch });
    let mut notes = yesterday.clone();
    notes.now.0 += 1_000;
    commit_all(&journal, notes.turn_without_tools("other", "other")).await;
    assert_eq!(latest(&journal).await.seq, Seq(4));
    assert_eq!(refused(&journal, newer).await, ReadError::EpochChanged { current: epoch });
    assert_eq!(seqs(&page(&journal, older, 10).await.events), [3, 4], "what both lives have is a good place");
    drop(journal);

    // Restored: a new life.
    let current = StoreEpoch([9; 16]);
    let sql = format!("UPDATE meta SET value = x'{current}' WHERE key = 'store_epoch'");
    testing::execute_sql(folder.path(), &sql).unwrap();
    let journal = open(folder.path());
    for old in [newer, older] {
        assert_eq!(refused(&journal, old).await, ReadError::EpochChanged { current });
    }
    assert_eq!(seqs(&page(&journal, journal.feed_start(), 10).await.events), [1, 2, 3, 4]);
}

#[tokio::test]
async fn a_place_beyond_the_feed_or_of_another_shard_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    one_turn(&journal, "notes").await;
    let latest = latest(&journal).await;
    let changed = ReadError::EpochChanged { current: latest.epoch };
    assert_eq!(refused(&journal, Cursor { seq: Seq(3), ..latest }).await, changed);
    assert_eq!(refused(&journal, Cursor { shard: 1, ..latest }).await, changed);
    assert_eq!(refused(&journal, Cursor { check: [1, 2, 3, 4], ..latest }).await, changed);
    let unchecked = Cursor { check: [0; 4], seq: Seq(1), ..latest };
    assert_eq!(seqs(&page(&journal, unchecked, 10).await.events), [2], "a place without a check is taken as it is");
}
