//! The feed through its faces: the control socket, its client, and the command.

mod command;
mod stream;

use mainstay_driver::{
    Host,
    feed::{FeedFrom, FeedRequest, FeedScope},
};
use mainstay_protocol::{feed::FeedKind, record::RecordBody};
use mainstay_server::{
    Client, Limits, Server,
    client::ClientError,
    wire::v1::{Event, FeedNews, FeedPage},
};

use futures::StreamExt as _;

use crate::support::{Session, World, world::plugin};

const ECHO: &str = "[[rule]]\noutput = [{ text = \"hi\" }]";

/// A host with its server.
struct Served {
    world: World,
    host: Host,
    server: Server,
}

impl Served {
    async fn start(limits: Limits) -> Self {
        Self::on(World::new(ECHO), limits).await
    }

    async fn on(world: World, limits: Limits) -> Self {
        let host = world.host().await;
        let server = Server::start(host.clone(), &world.data_dir(), limits).expect("a server");
        Self { world, host, server }
    }

    fn client(&self) -> &Client {
        self.server.client()
    }

    /// Turns of a session, one after the other: two events each, after the receipt of the first.
    async fn turns(&self, session: &str, count: usize) {
        let session = Session::open(&self.host, session).await;
        for _ in 0..count {
            session.turn("hello").await;
        }
    }

    async fn page(&self, request: FeedRequest) -> FeedPage {
        self.client().feed(&request, FeedFrom::Start, 1_000).await.unwrap_or_else(|error| panic!("{error}"))
    }

    async fn stop(self) -> World {
        self.server.stop().await;
        self.host.shutdown().await;
        self.world
    }
}

fn kinds(page: &FeedPage) -> Vec<&str> {
    page.events.iter().map(|entry| entry.event.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_have_filters_cursors_and_a_frontier() {
    let served = Served::start(Limits::default()).await;
    served.turns("s", 2).await;
    served.turns("t", 1).await;
    let all = served.page(FeedRequest::default()).await;
    assert_eq!(kinds(&all).iter().filter(|kind| **kind == "turn_ended").count(), 3, "{all:?}");
    assert!(!all.more && all.next == all.latest && all.damaged.is_empty());
    assert!(all.events.is_sorted_by(|one, other| one.seq < other.seq));

    let ends = FeedRequest { session: "s".parse().ok(), kinds: [FeedKind::TurnEnded].into(), ..FeedRequest::default() };
    let ends = served.page(ends).await;
    assert_eq!((kinds(&ends), ends.next), (vec!["turn_ended"; 2], all.latest));
    assert_eq!(ends.events[0].body["outcome"], "completed");
    let turn = ends.events[0].body["turn"].as_str().and_then(|turn| turn.parse().ok());
    let turn = served.page(FeedRequest { turn, ..FeedRequest::default() }).await;
    assert_eq!(kinds(&turn), ["turn_started", "turn_ended"]);

    let now = served.client().feed(&FeedRequest::default(), FeedFrom::Now, 10).await.expect("a page");
    assert_eq!((now.events.len(), now.next), (0, all.latest), "none of the past");
    let two = served.client().feed(&FeedRequest::default(), FeedFrom::After(all.events[0].cursor), 2).await;
    assert_eq!(two.expect("a page").events, all.events[1..3]);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_sees_plugins_without_the_hosts_words_and_the_operator_with_them() {
    let served = Served::start(Limits::default()).await;
    let rehearsal = "rehearsal".parse().expect("legal");
    served.host.swap(&rehearsal, &plugin("files")).await.expect_err("it is no model");
    let refused = |page: FeedPage| {
        let refused = page.events.into_iter().find(|entry| entry.body.get("change").is_some_and(|is| is == "refused"));
        refused.unwrap_or_else(|| panic!("no refusal")).body
    };
    let lifecycle = FeedRequest { kinds: [FeedKind::PluginLifecycle].into(), ..FeedRequest::default() };
    let all = refused(served.page(FeedRequest { scope: FeedScope::All, ..lifecycle.clone() }).await);
    let tenants = refused(served.page(lifecycle).await);
    assert_eq!((&all["reason"]["code"], &tenants["reason"]["code"]), (&"refused".into(), &"refused".into()));
    assert!(
        all["reason"].get("message").is_some() && tenants["reason"].get("message").is_none(),
        "{all:?} {tenants:?}"
    );
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_of_another_life_is_a_typed_error() {
    let served = Served::start(Limits::default()).await;
    served.turns("s", 1).await;
    let latest = served.page(FeedRequest::default()).await.latest;
    let beyond = mainstay_protocol::cursor::Cursor { seq: latest.seq.next(), ..latest };
    let request = FeedRequest::default();
    let page = served.client().feed(&request, FeedFrom::After(beyond), 10).await;
    let stream = served.client().follow_feed(&request, FeedFrom::After(beyond)).await.map(drop);
    for error in [page.map(drop).unwrap_err(), stream.unwrap_err()] {
        let ClientError::EpochChanged { current, message } = error else { panic!("{error}") };
        assert_eq!(current, latest.epoch.to_string());
        assert!(message.contains("begin from the start"), "{message}");
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_follows_from_the_start_and_into_the_present() {
    let served = Served::start(Limits::default()).await;
    served.turns("s", 1).await;
    let mut events = served.client().follow_feed(&FeedRequest::default(), FeedFrom::Start).await.expect("a stream");
    served.turns("s", 1).await;
    let page = served.page(FeedRequest::default()).await;
    for expected in &page.events {
        assert_eq!(events.next().await.expect("an event").expect("whole"), FeedNews::Event(expected.clone()));
    }
    served.stop().await;
    let end = events.next().await.expect("an end").expect("whole");
    assert_eq!(end, FeedNews::End { reason: "stopping".to_owned() });
}

/// The records of a stream up to the end of a turn, the items that came before each of them counted in between.
async fn until_turn_end(events: &mut mainstay_server::client::Events) -> Vec<u64> {
    let mut ordinals = Vec::new();
    loop {
        match events.next().await.expect("an event").expect("whole") {
            Event::Record(record) => {
                ordinals.push(record.ordinal.0);
                if record.decode().is_some_and(|body| matches!(body, RecordBody::TurnCompleted(_))) {
                    return ordinals;
                }
            }
            Event::End { reason } => panic!("{reason}"),
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_followed_from_its_last_batches_on() {
    let served = Served::start(Limits::default()).await;
    served.turns("s", 2).await;
    let session = Session { host: served.host.clone(), id: "s".parse().expect("legal") };
    let records = session.records().await;
    let head = records.last().expect("records").ordinal.0;
    // The last batch of a turn without tools is the step's output with the turn's end; the one before it starts the turn.
    for (batches, first) in [(1, "step_completed"), (2, "turn_started")] {
        let begin = records.iter().rposition(|record| record.body.kind() == first).expect("there");
        let begin = records[begin].ordinal.0;
        let mut events = served.client().follow_replaying(&session.id, batches).await.expect("a stream");
        assert_eq!(until_turn_end(&mut events).await, (begin..=head).collect::<Vec<_>>(), "{batches}");
    }
    let mut none = served.client().follow_replaying(&session.id, 0).await.expect("a stream");
    let mut one = served.client().follow_replaying(&session.id, 1).await.expect("a stream");
    let replayed = until_turn_end(&mut one).await;
    session.turn("again").await;
    let live = until_turn_end(&mut none).await;
    assert_eq!((replayed.last(), live[0]), (Some(&head), head + 1), "none of the past");
    assert_eq!(until_turn_end(&mut one).await, live, "and then what is live, without a gap");
    served.stop().await;
}
