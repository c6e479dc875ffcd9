//! What no commit of a sound writer brings about: events that are durable and were not told, or not all of them. Whoever follows
//! finds them in the journal.

use mainstay_protocol::{
    Digest, Timestamp,
    record::{NewRecord, RecordBody, StoredRecord, v1::PluginLifecycle},
};

use super::{FeedFilter, FeedSubscription, Gathering, live::Live};
use crate::{
    Journal, Options, SqliteJournal,
    connection::StoreFile,
    read::{self, Pool},
};

/// A journal, and a follower that hears only what the test tells it.
struct Apart {
    journal: SqliteJournal,
    live: Live,
    follower: FeedSubscription,
    _folder: tempfile::TempDir,
}

impl Apart {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let journal = SqliteJournal::open(folder.path(), Options::default()).unwrap();
        let pool = Pool::new(StoreFile::of(folder.path(), None), 1);
        let live = Live::new(pool.run(read::latest).await.unwrap(), Options::default().feed_buffer);
        let follower = FeedSubscription::new(pool, &live, FeedFilter::default(), None);
        Self { journal, live, follower, _folder: folder }
    }

    async fn commit(&self, count: usize) -> Vec<StoredRecord> {
        let record = |number: usize| {
            let body = PluginLifecycle {
                plugin: "files".parse().unwrap(),
                sha256: Digest::of(&number.to_le_bytes()),
                version: "0.1.0".to_owned(),
                replaces: None,
                reason: None,
            };
            NewRecord { at: Timestamp(1), body: RecordBody::PluginDrained(body) }
        };
        let records = (0..count).map(record).collect();
        self.journal.append_host_records(records, Vec::new()).await.unwrap().into_inner()
    }

    fn tell(&self, records: &[&StoredRecord]) {
        let news = self.live.gather(|news| news.take(records.iter().map(|record| (*record, 100)), None));
        self.live.publish(news);
    }

    async fn hears(&mut self, count: usize) -> Vec<u64> {
        let mut seqs = Vec::new();
        for _ in 0..count {
            seqs.push(self.follower.next().await.unwrap().cursor().seq.0);
        }
        seqs
    }
}

#[tokio::test]
async fn after_a_doubt_it_looks_into_the_journal() {
    let mut apart = Apart::new().await;
    apart.commit(2).await;
    apart.live.publish(apart.live.gather(Gathering::note_doubt));
    assert_eq!(apart.hears(2).await, [1, 2]);
}

#[tokio::test]
async fn what_was_not_told_is_read_before_what_was() {
    let mut apart = Apart::new().await;
    let records = apart.commit(5).await;
    // The first two are told as one commit, the third not at all, and there is a gap inside the next one.
    apart.tell(&[&records[0], &records[1]]);
    assert_eq!(apart.hears(2).await, [1, 2]);
    apart.tell(&[&records[3], &records[4]]);
    assert_eq!(apart.hears(3).await, [3, 4, 5]);
    let records = apart.commit(3).await;
    apart.tell(&[&records[0], &records[2]]);
    assert_eq!(apart.hears(3).await, [6, 7, 8]);
}

#[tokio::test]
async fn a_large_commit_takes_several_slots() {
    let mut apart = Apart::new().await;
    let records = apart.commit(200).await;
    let mut listener = apart.live.follow();
    apart.tell(&records.iter().collect::<Vec<_>>());
    let mut slots = Vec::new();
    while let Ok(slot) = listener.try_recv() {
        slots.push(slot.len());
    }
    assert_eq!(slots, [64, 64, 64, 8]);
    assert_eq!(apart.hears(200).await, (1..=200).collect::<Vec<_>>());
    apart
        .live
        .publish(apart.live.gather(|news| news.take(records.iter().take(3).map(|record| (record, 40 << 10)), None)));
    let sizes: Vec<_> = std::iter::from_fn(|| listener.try_recv().ok()).map(|slot| slot.len()).collect();
    assert_eq!(sizes, [2, 1], "by bytes too");
}
