//! Pages: where they begin and end, what they say of the frontier, and how much they look at.

use futures::future::join_all;
use mainstay_journal::{CommitError, FeedFilter, FeedQuery, Journal, ReadError, testing};
use mainstay_protocol::{Seq, Timestamp, feed::FeedKind};

use super::{
    super::script::{Script, commit_all, open, refusal},
    all, filtered, kinds, latest, one_turn, page, seqs,
};

#[tokio::test]
async fn events_come_with_their_transaction_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    commit_all(&journal, [script.create(), script.submit("hello")]).await;
    let before = latest(&journal).await;

    // Start and end in one transition, which breaks a rule at its end.
    let mut both = script.start("hello");
    let end = script.finish("hi");
    both.records.extend(end.records);
    both.items.extend(end.items);
    both.state = end.state;
    let mut bad = both.clone();
    bad.unqueued.push(mainstay_protocol::AcceptedOrdinal(99));
    assert!(matches!(refusal(&journal, bad).await, CommitError::Integrity { .. }));
    assert_eq!((latest(&journal).await, all(&journal, &FeedFilter::default()).await), (before, Vec::new()));

    commit_all(&journal, [both.clone()]).await;
    let first = page(&journal, journal.feed_start(), 1).await;
    let second = page(&journal, first.next, 1).await;
    assert_eq!((kinds(&first.events), first.more), (vec![FeedKind::TurnStarted], true));
    assert_eq!((kinds(&second.events), second.more), (vec![FeedKind::TurnEnded], false));
    let after = latest(&journal).await;
    assert!(matches!(refusal(&journal, both).await, CommitError::Conflict { .. }), "applied already");
    assert_eq!(latest(&journal).await, after);

    let none = journal.feed(FeedQuery { filter: FeedFilter::default(), after: None, limit: 10 }).await.unwrap();
    assert_eq!((none.events.len(), none.next, none.latest, none.more), (0, after, after, false), "none of the past");
}

#[tokio::test]
async fn filters_move_to_the_frontier_and_deletion_does_not_move_it() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let script = one_turn(&journal, "notes").await;
    let faults = FeedFilter { kinds: [FeedKind::SessionFault].into(), ..FeedFilter::default() };
    let empty = filtered(&journal, faults, journal.feed_start(), 10).await;
    assert_eq!((empty.events.len(), empty.next.seq, empty.latest.seq, empty.more), (0, Seq(2), Seq(2), false));
    assert_eq!(empty.next, empty.latest);
    let workspace = FeedFilter { workspace: Some("notes".to_owned()), ..FeedFilter::default() };
    assert_eq!(seqs(&all(&journal, &workspace).await), [1, 2]);

    journal.forget(&script.tenant, &script.session, Timestamp(1)).await.unwrap();
    assert_eq!(all(&journal, &FeedFilter::default()).await, []);
    assert_eq!(latest(&journal).await.seq, Seq(2));
    drop(journal);
    let journal = open(folder.path());
    assert_eq!(latest(&journal).await.seq, Seq(2), "also when all rows are gone");
    one_turn(&journal, "other").await;
    assert_eq!(seqs(&all(&journal, &FeedFilter::default()).await), [3, 4], "no place is used twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_are_clamped_and_zero_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let mut scripts: Vec<_> = (0..101).map(|number| Script::new(&format!("s{number}"))).collect();
    for _ in 0..5 {
        let turns = scripts.iter_mut().map(|script| {
            let create = (script.state.head().0 == 0).then(|| script.create());
            create.into_iter().chain(script.turn_without_tools("x", "y")).collect::<Vec<_>>()
        });
        join_all(turns.map(|turn| commit_all(&journal, turn))).await;
    }
    let first = page(&journal, journal.feed_start(), u32::MAX).await;
    assert_eq!((first.events.len(), first.more, first.latest.seq), (1_000, true, Seq(1_010)));
    let rest = page(&journal, first.next, 1_000).await;
    assert_eq!((seqs(&rest.events), rest.more), ((1_001..=1_010).collect(), false));
    assert_eq!(rest.next, rest.latest);
    let exact = page(&journal, first.next, 10).await;
    assert_eq!((exact.events.len(), exact.more, exact.next), (10, false, exact.latest));
    for after in [None, Some(first.next)] {
        let zero = journal.feed(FeedQuery { filter: FeedFilter::default(), after, limit: 0 }).await;
        assert_eq!(zero.unwrap_err(), ReadError::ZeroLimit);
    }
}

/// Rows of the feed between two turns, of a kind of their own and of no session: what a forgotten one leaves until it is swept.
async fn with_rows_between(rows: u32, folder: &std::path::Path) -> mainstay_journal::SqliteJournal {
    let journal = open(folder);
    one_turn(&journal, "first").await;
    drop(journal);
    let sql = format!(
        "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {rows})
         INSERT INTO feed (tenant, session, ordinal, kind) SELECT 1, 99, n, 1 FROM n"
    );
    testing::execute_sql(folder, &sql).unwrap();
    let journal = open(folder);
    one_turn(&journal, "last").await;
    journal
}

#[tokio::test]
async fn a_page_looks_at_a_bounded_part_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let journal = with_rows_between(45_000, folder.path()).await;
    let filter = FeedFilter { session: Some("last".parse().unwrap()), ..FeedFilter::default() };
    let mut after = journal.feed_start();
    for reached in [20_000, 40_000] {
        let page = filtered(&journal, filter.clone(), after, 10).await;
        assert_eq!((page.events.len(), page.next.seq, page.more), (0, Seq(reached), true));
        after = page.next;
    }
    let page = filtered(&journal, filter, after, 10).await;
    assert_eq!((seqs(&page.events), page.next, page.more), (vec![45_003, 45_004], page.latest, false));

    let all = page_from_start(&journal, 3).await;
    assert_eq!(
        (seqs(&all.events), all.next.seq, all.more),
        (vec![1, 2], Seq(20_000), true),
        "hidden rows are work too"
    );
}

async fn page_from_start(journal: &mainstay_journal::SqliteJournal, limit: u32) -> mainstay_journal::FeedPage {
    page(journal, journal.feed_start(), limit).await
}

#[tokio::test]
async fn a_gap_that_a_forgotten_session_leaves_is_one_step() {
    let folder = tempfile::tempdir().unwrap();
    let journal = with_rows_between(45_000, folder.path()).await;
    drop(journal);
    testing::execute_sql(folder.path(), "DELETE FROM feed WHERE session = 99").unwrap();
    let journal = open(folder.path());
    let first = page_from_start(&journal, 10).await;
    assert_eq!((seqs(&first.events), first.next.seq, first.more), (vec![1, 2], Seq(45_002), true));
    let second = page(&journal, first.next, 10).await;
    assert_eq!((seqs(&second.events), second.next, second.more), (vec![45_003, 45_004], second.latest, false));
}
