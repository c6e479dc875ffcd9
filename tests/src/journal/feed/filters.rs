//! Filters: what each admits, on pages and live alike.

use mainstay_journal::{
    FeedDelivery, FeedFilter, GenerationChange, GenerationOrigin, GenerationRow, Journal, SqliteJournal,
};
use mainstay_protocol::{
    Digest, PluginName, TenantId, Timestamp,
    feed::{FeedEvent, FeedKind},
    record::{
        NewRecord, RecordBody,
        v1::{Build, PluginLifecycle, SessionFault},
    },
};

use super::{
    super::script::{Script, commit_all, open},
    all, create_in, seqs,
};

fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

async fn activate_files(journal: &SqliteJournal) {
    let plugin = PluginName::new("files").unwrap();
    let body = PluginLifecycle {
        plugin: plugin.clone(),
        sha256: Digest::of(b"files"),
        version: "0.1.0".to_owned(),
        replaces: None,
        reason: None,
    };
    let row = GenerationRow {
        plugin,
        sha256: body.sha256,
        package: Digest::of(b"package"),
        version: body.version.clone(),
        activated_at: Timestamp(1),
        origin: GenerationOrigin::Manifest,
    };
    let records = vec![NewRecord { at: Timestamp(1), body: RecordBody::PluginActivated(body) }];
    journal.append_host_records(records, vec![GenerationChange::Activate(row)]).await.unwrap();
}

fn fault(script: &mut Script, plugin: &str) -> mainstay_journal::Transition {
    script.records(vec![RecordBody::SessionFault(SessionFault {
        code: "trap".to_owned(),
        message: "it trapped".to_owned(),
        turn: None,
        build: Some(Build { plugin: PluginName::new(plugin).unwrap(), sha256: Digest::of(b"x") }),
        stderr: String::new(),
        parks: false,
    })])
}

/// 1 the host's, 2-3 a turn of `one` (workspace `w`), 4-5 a turn of `one` of another tenant, 6-7 a turn and 8-9 faults of `two`,
/// 10-11 a second turn of `one`.
async fn write_everything(journal: &SqliteJournal) {
    activate_files(journal).await;
    let (mut one, mut two, mut other) = (Script::new("one"), Script::new("two"), Script::new("one"));
    other.tenant = tenant("other");
    commit_all(journal, [create_in(&mut one, "w"), create_in(&mut two, "v"), other.create()]).await;
    commit_all(journal, one.turn_without_tools("a", "b")).await;
    commit_all(journal, other.turn_without_tools("a", "b")).await;
    commit_all(journal, two.turn_without_tools("a", "b")).await;
    commit_all(journal, [fault(&mut two, "files"), fault(&mut two, "other")]).await;
    commit_all(journal, one.turn_without_tools("a", "b")).await;
}

/// What a follower from the very beginning hears, as far as there is something.
async fn heard(journal: &SqliteJournal, filter: &FeedFilter, expected: usize) -> Vec<FeedEvent> {
    let mut follower = journal.subscribe(filter.clone(), Some(journal.feed_start()));
    let mut events = Vec::new();
    while events.len() < expected {
        let FeedDelivery::Event { event, cursor } = follower.next().await.unwrap() else { panic!("damage") };
        assert_eq!(cursor.seq, event.seq);
        events.push(FeedEvent::clone(&event));
    }
    events
}

#[tokio::test]
async fn each_filter_admits_the_same_on_pages_and_live() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let base = FeedFilter::default;
    let cases = [
        (base(), vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        (FeedFilter { tenant: Some(tenant("default")), ..base() }, vec![2, 3, 6, 7, 8, 9, 10, 11]),
        (FeedFilter { tenant: Some(tenant("other")), host: true, ..base() }, vec![1, 4, 5]),
        (FeedFilter { tenant: Some(tenant("nobody")), ..base() }, vec![]),
        (FeedFilter { session: "one".parse().ok(), ..base() }, vec![2, 3, 4, 5, 10, 11]),
        (FeedFilter { tenant: Some(tenant("default")), session: "one".parse().ok(), ..base() }, vec![2, 3, 10, 11]),
        (FeedFilter { workspace: Some("w".to_owned()), ..base() }, vec![2, 3, 10, 11]),
        (FeedFilter { kinds: [FeedKind::SessionFault].into(), ..base() }, vec![8, 9]),
        (
            FeedFilter { kinds: [FeedKind::TurnStarted, FeedKind::PluginLifecycle].into(), ..base() },
            vec![1, 2, 4, 6, 10],
        ),
        (FeedFilter { plugin: "files".parse().ok(), ..base() }, vec![1, 8]),
        (FeedFilter { plugin: "files".parse().ok(), session: "two".parse().ok(), ..base() }, vec![8]),
        (FeedFilter { turn: "no-such-turn".parse().ok(), ..base() }, vec![]),
    ];
    let mut followers: Vec<_> = cases.iter().map(|(filter, _)| journal.subscribe(filter.clone(), None)).collect();
    write_everything(&journal).await;
    for ((filter, expected), follower) in cases.iter().zip(&mut followers) {
        let events = all(&journal, filter).await;
        assert_eq!(seqs(&events), *expected, "{filter:?}");
        assert_eq!(heard(&journal, filter, expected.len()).await, events, "{filter:?}");
        for event in events {
            let FeedDelivery::Event { event: told, .. } = follower.next().await.unwrap() else { panic!("damage") };
            assert_eq!(*told, event, "live: {filter:?}");
        }
    }
}

#[tokio::test]
async fn a_turn_is_found_by_its_id() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    write_everything(&journal).await;
    let events = all(&journal, &FeedFilter { session: "one".parse().ok(), ..FeedFilter::default() }).await;
    let mainstay_protocol::feed::FeedBody::TurnStarted(started) = &events[4].body else { panic!("{events:?}") };
    let filter = FeedFilter { turn: Some(started.turn.clone()), ..FeedFilter::default() };
    assert_eq!(seqs(&all(&journal, &filter).await), [10, 11]);
}
