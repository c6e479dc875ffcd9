//! Following the feed: all that is committed, in order, once, and nothing that is not durable; however slowly it is read.

use std::{
    num::NonZeroUsize,
    path::Path,
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use futures::{FutureExt as _, future::join_all};
use mainstay_journal::{
    FeedDelivery, FeedFilter, FeedSubscription, Journal, Options, ReadError, SqliteJournal, testing,
};
use mainstay_protocol::{Seq, Timestamp, feed::FeedKind};
use tokio::sync::watch;

use super::{
    feed::{all, create_in, latest, one_turn, seqs},
    script::{Script, commit_all, open},
};

/// So long takes nothing that works, on any machine.
const HANGS: Duration = Duration::from_secs(120);

fn with_buffer(folder: &Path, slots: usize) -> SqliteJournal {
    let mut options = Options::default();
    options.feed_buffer = NonZeroUsize::new(slots).unwrap();
    SqliteJournal::open(folder, options).unwrap()
}

/// The next event's place in the feed. What never comes fails the test instead of hanging it.
async fn next(follower: &mut FeedSubscription) -> u64 {
    let comes = tokio::time::timeout(HANGS, follower.next()).await.expect("an event comes");
    let FeedDelivery::Event { event, cursor } = comes.unwrap() else { panic!("damage") };
    assert_eq!(cursor.seq, event.seq);
    event.seq.0
}

async fn take(follower: &mut FeedSubscription, count: usize) -> Vec<u64> {
    let mut seqs = Vec::with_capacity(count);
    for _ in 0..count {
        seqs.push(next(follower).await);
    }
    seqs
}

/// Whether nothing comes by itself.
fn is_silent(follower: &mut FeedSubscription) -> bool {
    follower.next().now_or_never().is_none()
}

/// Waits until a follower to whom nothing comes stands at the frontier.
async fn reaches_the_frontier(journal: &SqliteJournal, follower: &mut FeedSubscription) {
    let latest = latest(journal).await;
    let reached = async {
        while follower.cursor() != latest {
            assert!(is_silent(follower));
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(HANGS, reached).await.expect("it gets there");
}

#[tokio::test]
async fn from_now_means_from_the_moment_of_asking() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    one_turn(&journal, "before").await;
    let mut follower = journal.subscribe(FeedFilter::default(), None);
    assert_eq!(follower.cursor(), latest(&journal).await);
    one_turn(&journal, "after").await;
    assert_eq!(take(&mut follower, 2).await, [3, 4]);
    assert!(is_silent(&mut follower));
    reaches_the_frontier(&journal, &mut follower).await;
}

#[tokio::test]
async fn the_past_and_the_present_join() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    one_turn(&journal, "one").await;
    let mut follower = journal.subscribe(FeedFilter::default(), Some(journal.feed_start()));
    // Committed after it began to listen and before it read its first page: it is in both.
    one_turn(&journal, "two").await;
    assert_eq!(take(&mut follower, 4).await, [1, 2, 3, 4]);
    one_turn(&journal, "three").await;
    assert_eq!(take(&mut follower, 2).await, [5, 6]);
    assert!(is_silent(&mut follower));
}

#[tokio::test]
async fn who_falls_behind_reads_on_from_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let journal = with_buffer(folder.path(), 1);
    let mut follower = journal.subscribe(FeedFilter::default(), None);
    let mut script = one_turn(&journal, "notes").await;
    for _ in 0..20 {
        commit_all(&journal, script.turn_without_tools("x", "y")).await;
    }
    assert_eq!(take(&mut follower, 42).await, (1..=42).collect::<Vec<_>>());
    commit_all(&journal, script.turn_without_tools("x", "y")).await;
    assert_eq!(take(&mut follower, 2).await, [43, 44], "and hears again");
}

#[tokio::test]
async fn its_place_moves_past_what_it_does_not_want() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let faults = FeedFilter { kinds: [FeedKind::SessionFault].into(), ..FeedFilter::default() };
    let mut follower = journal.subscribe(faults, None);
    one_turn(&journal, "notes").await;
    reaches_the_frontier(&journal, &mut follower).await;
}

#[tokio::test]
async fn a_closed_journal_ends_it_after_what_was_told() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let mut listening = journal.subscribe(FeedFilter::default(), None);
    let mut reading = journal.subscribe(FeedFilter::default(), Some(journal.feed_start()));
    one_turn(&journal, "notes").await;
    drop(journal);
    assert_eq!(take(&mut listening, 2).await, [1, 2]);
    assert_eq!(listening.next().await.unwrap_err(), ReadError::Closed);
    assert_eq!(reading.next().await.unwrap_err(), ReadError::Closed);
}

#[tokio::test]
async fn forgetting_is_no_event_and_leaves_no_gap() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let gone = one_turn(&journal, "gone").await;
    let mut reading = journal.subscribe(FeedFilter::default(), Some(journal.feed_start()));
    let mut listening = journal.subscribe(FeedFilter::default(), None);
    journal.forget(&gone.tenant, &gone.session, Timestamp(1)).await.unwrap();
    one_turn(&journal, "stays").await;
    assert_eq!(take(&mut listening, 2).await, [3, 4]);
    assert_eq!(take(&mut reading, 2).await, [3, 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_told_before_it_is_durable() {
    let folder = tempfile::tempdir().unwrap();
    let (reached, at) = mpsc::channel();
    let (go, gate) = mpsc::channel();
    let gate = Mutex::new(gate);
    let mut options = Options::default();
    options.probe = Some(Arc::new(move |point| {
        if point == "journal.before-commit" {
            // The test is over when nobody listens any more.
            let _ = reached.send(()).map(|()| gate.lock().unwrap().recv());
        }
    }));
    let journal = Arc::new(SqliteJournal::open(folder.path(), options).unwrap());
    let mut follower = journal.subscribe(FeedFilter::default(), None);
    let mut script = Script::new("notes");
    let transitions = [script.create(), script.submit("x"), script.start("x")];
    let writing = tokio::spawn({
        let journal = journal.clone();
        async move { commit_all(&journal, transitions).await.len() }
    });
    for last in [false, false, true] {
        tokio::task::block_in_place(|| at.recv().unwrap());
        assert!(is_silent(&mut follower), "written, and not committed");
        assert_eq!(latest(&journal).await.seq, Seq(0));
        if !last {
            go.send(()).unwrap();
        }
    }
    go.send(()).unwrap();
    assert_eq!(next(&mut follower).await, 1);
    let stored = testing::query_number(folder.path(), "SELECT max(seq) FROM feed").unwrap();
    assert_eq!((stored, writing.await.unwrap()), (1, 3));
}

#[tokio::test]
async fn what_is_rolled_back_is_never_told() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let (mut good, mut bad) = (Script::new("good"), Script::new("bad"));
    commit_all(&journal, [good.create(), bad.create(), good.submit("x"), bad.submit("x")]).await;
    let mut follower = journal.subscribe(FeedFilter::default(), None);
    let trigger =
        "CREATE TRIGGER spoil BEFORE UPDATE ON heads WHEN new.session = 2 BEGIN SELECT RAISE(ROLLBACK, 'spoiled'); END";
    testing::execute_sql(folder.path(), trigger).unwrap();
    let (refused, committed) = tokio::join!(journal.commit(bad.start("x")), journal.commit(good.start("x")));
    assert!(refused.is_err());
    let committed = committed.unwrap().records[0].clone();
    assert_eq!(next(&mut follower).await, committed.seq.unwrap().0);
    assert!(is_silent(&mut follower));
    let events = all(&journal, &FeedFilter::default()).await;
    assert_eq!(seqs(&events), [1], "the place of the one that failed was given to the next");
}

const SESSIONS: usize = 8;
const TURNS: usize = 12;
const FOLLOWERS: usize = 64;

/// The filter of a follower, and how many events of all that happens it admits.
fn wish(number: usize) -> (FeedFilter, usize) {
    let all = FeedFilter::default();
    match number % 4 {
        0 => (all, 2 * SESSIONS * TURNS),
        1 => (FeedFilter { session: format!("s{}", number % SESSIONS).parse().ok(), ..all }, 2 * TURNS),
        2 => (FeedFilter { kinds: [FeedKind::TurnEnded].into(), ..all }, SESSIONS * TURNS),
        _ => (FeedFilter { workspace: Some("odd".to_owned()), ..all }, SESSIONS * TURNS),
    }
}

/// Reads all that it is to get; a lazy one begins when everything has happened.
async fn follow(mut follower: FeedSubscription, count: usize, lazy: bool, mut done: watch::Receiver<bool>) -> Vec<u64> {
    if lazy {
        done.wait_for(|done| *done).await.unwrap();
    }
    let mut seqs = Vec::with_capacity(count);
    while seqs.len() < count {
        seqs.push(next(&mut follower).await);
        if seqs.len().is_multiple_of(5) {
            tokio::task::yield_now().await;
        }
    }
    seqs
}

async fn write(journal: Arc<SqliteJournal>, number: usize) {
    let mut script = Script::new(&format!("s{number}"));
    let workspace = if number % 2 == 1 { "odd" } else { "even" };
    commit_all(&journal, [create_in(&mut script, workspace)]).await;
    for _ in 0..TURNS {
        commit_all(&journal, script.turn_without_tools("x", "y")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_followers_of_many_sessions_each_get_all_of_theirs_once() {
    for slots in [1, 4, 256] {
        let folder = tempfile::tempdir().unwrap();
        let journal = Arc::new(with_buffer(folder.path(), slots));
        let (finished, done) = watch::channel(false);
        let start = journal.feed_start();
        let followers: Vec<_> = (0..FOLLOWERS)
            .map(|number| {
                let (filter, count) = wish(number);
                let from = (number % 3 == 0).then_some(start);
                let follower = journal.subscribe(filter.clone(), from);
                (filter, tokio::spawn(follow(follower, count, number % 5 == 0, done.clone())))
            })
            .collect();
        join_all((0..SESSIONS).map(|number| tokio::spawn(write(journal.clone(), number)))).await;
        finished.send(true).unwrap();
        for (filter, following) in followers {
            let got = following.await.unwrap();
            assert_eq!(got, seqs(&all(&journal, &filter).await), "{slots} slots: {filter:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_who_never_reads_holds_nobody_up() {
    let folder = tempfile::tempdir().unwrap();
    let journal = with_buffer(folder.path(), 2);
    let asleep = journal.subscribe(FeedFilter::default(), None);
    let mut awake = journal.subscribe(FeedFilter::default(), None);
    let mut script = one_turn(&journal, "notes").await;
    let before = journal.metrics().groups;
    for turn in 1..=50 {
        commit_all(&journal, script.turn_without_tools("x", "y")).await;
        assert_eq!(take(&mut awake, 2).await.len(), 2, "turn {turn}");
    }
    assert_eq!(journal.metrics().groups - before, 150, "no barrier more than without followers");
    drop(asleep);
}
