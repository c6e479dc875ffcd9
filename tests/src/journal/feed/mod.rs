//! The feed: pages, filters and cursors.

mod cursors;
mod damage;
mod filters;
mod pages;
mod paging;

use mainstay_journal::{FeedFilter, FeedPage, FeedQuery, Journal, SqliteJournal, Transition};
use mainstay_protocol::{
    Seq,
    cursor::Cursor,
    feed::{FeedEvent, FeedKind},
    op::Labels,
    record::{
        RecordBody,
        v1::{Opening, SessionConfigured},
    },
};

use super::script::{Script, commit_all, route};

/// A page of everything.
pub(super) async fn page(journal: &SqliteJournal, after: Cursor, limit: u32) -> FeedPage {
    filtered(journal, FeedFilter::default(), after, limit).await
}

pub(super) async fn filtered(journal: &SqliteJournal, filter: FeedFilter, after: Cursor, limit: u32) -> FeedPage {
    journal.feed(FeedQuery { filter, after: Some(after), limit }).await.unwrap()
}

/// All events that a filter admits, from the first on.
pub(super) async fn all(journal: &SqliteJournal, filter: &FeedFilter) -> Vec<FeedEvent> {
    let (mut events, mut after) = (Vec::new(), journal.feed_start());
    loop {
        let page = filtered(journal, filter.clone(), after, 1_000).await;
        events.extend(page.events);
        after = page.next;
        if !page.more {
            return events;
        }
    }
}

/// Where the feed stands.
pub(super) async fn latest(journal: &SqliteJournal) -> Cursor {
    let query = FeedQuery { filter: FeedFilter::default(), after: None, limit: 1 };
    journal.feed(query).await.unwrap().latest
}

pub(super) fn seqs(events: &[FeedEvent]) -> Vec<u64> {
    events.iter().map(|event| event.seq.0).collect()
}

pub(super) fn kinds(events: &[FeedEvent]) -> Vec<FeedKind> {
    events.iter().map(|event| event.body.kind()).collect()
}

/// The creation of a session in a workspace.
pub(super) fn create_in(script: &mut Script, workspace: &str) -> Transition {
    script.records(vec![RecordBody::SessionConfigured(SessionConfigured {
        opening: Opening::Created,
        route: route(),
        labels: Labels([("workspace".to_owned(), workspace.to_owned())].into()),
        metadata: None,
        requires: None,
    })])
}

/// A session of one turn: two events.
pub(super) async fn one_turn(journal: &SqliteJournal, session: &str) -> Script {
    let mut script = Script::new(session);
    commit_all(journal, [create_in(&mut script, session)]).await;
    commit_all(journal, script.turn_without_tools("hello", "hi")).await;
    script
}

/// The place after an event, as a page gives it.
fn after(page: &FeedPage, seq: u64) -> Cursor {
    page.cursor_of(page.events.iter().find(|event| event.seq == Seq(seq)).expect("it is on the page"))
}
