//! E02, E03, E07, E18: pages, filters, keys, deletion.

use std::sync::Arc;

use mainstay_journal::{
    CommitError, Direction, FeedFilter, FeedQuery, Journal, Range, ReadError, testing::execute_sql,
};
use mainstay_protocol::{
    Ordinal, Timestamp,
    feed::{FeedBody, FeedKind},
    op::Labels,
    record::v1::{Activity, ActivityChanged},
};
use mainstay_session::Command;

use super::session::{Session, whole_turn};
use crate::journal::script::{Script, commit_all, open};

/// Makes the insert of the record that ends a turn fail, as a store would that can't take it.
const REFUSE_END: &str = "CREATE TRIGGER refuse_end BEFORE INSERT ON records
    WHEN new.kind = (SELECT kind FROM kinds WHERE name = 'turn_completed')
    BEGIN SELECT RAISE(ABORT, 'refused by a test'); END";

#[tokio::test(flavor = "multi_thread")]
async fn e02_a_page_is_there_as_a_whole_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::create(folder.path()).await;
    let page = session.decide(whole_turn("message")).unwrap();
    execute_sql(folder.path(), "INSERT OR IGNORE INTO kinds (name) VALUES ('turn_completed')").unwrap();
    execute_sql(folder.path(), REFUSE_END).unwrap();
    session.apply(page.clone(), Some("page-1")).await.unwrap_err();
    assert!(session.events().await.is_empty(), "no event of a page that failed");
    execute_sql(folder.path(), "DROP TRIGGER refuse_end").unwrap();
    let transition = session.transition(page.clone(), Some("page-1"));
    session.apply(page, Some("page-1")).await.unwrap();
    let mut cursor = session.journal.feed_start();
    for expected in [FeedKind::TurnStarted, FeedKind::TurnEnded] {
        let query = FeedQuery { filter: FeedFilter::default(), after: Some(cursor), limit: 1 };
        let one = session.page(query).await;
        assert_eq!(one.events.iter().map(|event| event.body.kind()).collect::<Vec<_>>(), [expected]);
        cursor = one.next;
    }
    let again = session.journal.commit(transition).await.unwrap_err();
    assert!(matches!(again, CommitError::Duplicate { .. } | CommitError::Conflict { .. }), "{again}");
    assert_eq!(session.kinds().await, ["turn_started", "turn_ended"], "an applied page adds nothing");
    let none = session.page(FeedQuery { filter: FeedFilter::default(), after: None, limit: 10 }).await;
    assert!(none.events.is_empty() && none.next == none.latest, "a cursor of none returns none of the past");
}

#[tokio::test(flavor = "multi_thread")]
async fn e03_an_empty_page_moves_to_the_frontier_and_deletion_does_not_move_it_back() {
    let folder = tempfile::tempdir().unwrap();
    let labels = Labels([("workspace".to_owned(), "notes".to_owned())].into());
    let mut session = Session::create_in(Arc::new(open(folder.path())), "session", labels).await;
    session.commit(whole_turn("message")).await.unwrap();
    let start = session.journal.feed_start();
    let filter = FeedFilter { kinds: [FeedKind::InputRequired].into(), ..FeedFilter::default() };
    let empty = session.page(FeedQuery { filter, after: Some(start), limit: 10 }).await;
    assert_eq!((empty.events.len(), empty.next.seq.0, empty.latest.seq.0), (0, 2, 2));
    let in_workspace = |workspace: &str| FeedFilter { workspace: Some(workspace.to_owned()), ..FeedFilter::default() };
    assert_eq!(session.events_of(in_workspace("notes")).await.len(), 2);
    assert_eq!(session.events_of(in_workspace("other")).await.len(), 0);
    session.journal.forget(&session.tenant, &session.id, Timestamp(1)).await.unwrap();
    assert_eq!((session.latest().await, session.events().await.len()), (2, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn e07_activity_is_told_when_it_changes_and_revives_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::create(folder.path()).await;
    let activity =
        |activity, details: Option<&str>| Command::RecordActivity { activity, details: details.map(ToOwned::to_owned) };
    let mut told = 0;
    for (what, details) in [
        (Activity::Idle, None),
        (Activity::Idle, None),
        (Activity::Background, Some("the terminal was closed")),
        (Activity::WaitingForInput, None),
        (Activity::Disconnected, None),
    ] {
        told += session.report(activity(what, details)).await;
    }
    assert_eq!(told, 4);
    let seen: Vec<_> = session
        .events()
        .await
        .into_iter()
        .map(|event| match event.body {
            FeedBody::Activity(ActivityChanged { activity, details }) => (activity, details.is_some()),
            other => panic!("not an activity: {other:?}"),
        })
        .collect();
    let expected = [
        (Activity::Idle, false),
        (Activity::Background, true),
        (Activity::WaitingForInput, false),
        (Activity::Disconnected, false),
    ];
    assert_eq!(seen, expected);
    session.journal.forget(&session.tenant, &session.id, Timestamp(1)).await.unwrap();
    let refused = session.commit([activity(Activity::Idle, None)]).await.unwrap_err();
    assert!(matches!(refused, CommitError::Gone), "{refused}");
    let read = session.journal.open_session(&session.tenant, &session.id).await;
    assert!(matches!(read, Err(ReadError::Gone)), "{read:?}");
    assert_eq!((session.latest().await, session.events().await.len()), (4, 0), "nothing revives it");
}

#[tokio::test(flavor = "multi_thread")]
async fn e18_pages_run_backwards_and_a_session_opens_with_its_last_batches() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let mut script = Script::new("session");
    let mut batches = vec![script.create()];
    for number in 0..5 {
        batches.extend(script.turn_without_tools(&format!("question {number}"), "answer"));
    }
    let sizes: Vec<_> = batches.iter().map(|batch| batch.records.len()).collect();
    commit_all(&journal, batches).await;
    let (tenant, session) = (&script.tenant, &script.session);
    let newest = |before: Option<u64>, limit| Range { after: None, before, direction: Direction::Backward, limit };

    let records = |range: Range<u64>| {
        let Range { before, limit, .. } = range;
        let range = Range { before: before.map(Ordinal), after: None, direction: Direction::Backward, limit };
        journal.records(tenant, session, range)
    };
    let page = records(newest(None, 3)).await.unwrap();
    assert_eq!(page.rows.iter().map(|row| row.ordinal.0).collect::<Vec<_>>(), [26, 25, 24]);
    assert!(page.more);
    let page = records(newest(Some(3), 3)).await.unwrap();
    assert_eq!(page.rows.iter().map(|row| row.ordinal.0).collect::<Vec<_>>(), [2, 1], "before is exclusive");
    assert!(!page.more);
    assert_eq!(records(newest(None, 0)).await.unwrap_err(), ReadError::ZeroLimit);

    let items = Range { after: None, before: None, direction: Direction::Backward, limit: 4 };
    let page = journal.items(tenant, session, items).await.unwrap();
    assert_eq!(page.rows.iter().map(|item| item.id.0).collect::<Vec<_>>(), [10, 9, 8, 7]);
    assert!(page.more);
    assert!(journal.items(tenant, session, Range { limit: 0, ..items }).await.is_err());

    let page = journal.executions(tenant, session, newest(None, 2)).await.unwrap();
    assert_eq!(page.rows.iter().map(|turn| turn.number).collect::<Vec<_>>(), [5, 4]);
    assert!(page.more && page.rows.iter().all(|turn| turn.outcome.is_some()));
    let page = journal.executions(tenant, session, newest(Some(2), 2)).await.unwrap();
    assert_eq!((page.rows.len(), page.more), (1, false));
    assert_eq!(journal.executions(tenant, session, newest(None, 0)).await.unwrap_err(), ReadError::ZeroLimit);

    for count in [0, 1, 4, sizes.len(), sizes.len() + 10] {
        let mut replay = journal.replay(tenant, session, u32::try_from(count).unwrap()).await.unwrap();
        let (mut got, mut last) = (Vec::new(), None);
        while let Some(batch) = replay.next().await.unwrap() {
            got.push(batch.records.len());
            last = batch.records.last().map(|record| record.ordinal.0);
        }
        assert_eq!(got, sizes[sizes.len().saturating_sub(count)..], "exactly the last {count}");
        assert_eq!(last, (count > 0).then_some(26));
    }
}
