//! The queue: messages run in the order in which they were accepted, the same op counts once, and bounds refuse with a type.

use mainstay_driver::OpenSession;
use mainstay_protocol::{
    RouteName, SessionId, SubmissionId,
    content::Part,
    op::{Delivery, Op, Refusal},
    record::RecordBody,
};

use crate::support::{Session, World};

const ECHO: &str = "[[rule]]\nwhen = { message = '(?s)^(.*)$' }\noutput = [{ text = \"heard: {1}\" }]";

#[tokio::test(flavor = "multi_thread")]
async fn messages_run_in_the_order_in_which_they_were_accepted() {
    let world = World::new(ECHO);
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    let mut accepted = Vec::new();
    for number in 0..5 {
        accepted.push(session.submit(&format!("message {number}")).await);
    }
    host.quiesced(&session.id).await;
    let numbers: Vec<_> = accepted.iter().map(|accepted| accepted.accepted.expect("a message").0).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    let started: Vec<_> = session
        .records()
        .await
        .iter()
        .filter_map(|record| match &*record.body {
            RecordBody::TurnStarted(started) => Some(started.accepted.0),
            _ => None,
        })
        .collect();
    assert_eq!(started, [1, 2, 3, 4, 5]);
    assert_eq!(session.last_message().await, "heard: message 4");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_op_is_accepted_once_also_after_a_restart() {
    let world = World::new(ECHO);
    let id = SubmissionId::new("mine").expect("legal");
    let first = {
        let host = world.host().await;
        let session = Session::open(&host, "s").await;
        let first = host.op(&session.id, Some(id.clone()), Session::message("once")).await.expect("accepted");
        host.quiesced(&session.id).await;
        host.shutdown().await;
        first
    };
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    let again = host.op(&session.id, Some(id.clone()), Session::message("once")).await.expect("accepted");
    assert!(again.already && !first.already);
    assert_eq!((again.ordinal, again.accepted), (first.ordinal, first.accepted));
    let other = host.op(&session.id, Some(id.clone()), Session::message("another")).await;
    assert_eq!(other, Err(Refusal::SubmissionReused { submission: id }));
    host.quiesced(&session.id).await;
    assert_eq!(session.view().await.row.turns, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_ops_are_refused_by_type_and_change_nothing() {
    let world = World::new(ECHO);
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    let before = session.records().await.len();
    let submit = |content, delivery| Op::Submit { content, delivery };
    let large = vec![Part::Text("x".repeat((1 << 20) + 1))];
    let cases = [
        (submit(Vec::new(), Delivery::Queue), "invalid_message"),
        (submit(vec![Part::Json("{".into())], Delivery::Queue), "invalid_message"),
        (submit(large, Delivery::Queue), "message_too_large"),
        (submit(vec![Part::Text("x".into())], Delivery::Steer), "unsupported"),
        (Op::SetModel { route: RouteName::new("nowhere").expect("legal") }, "unknown_route"),
    ];
    for (op, expected) in cases {
        let refusal = session.op(op).await.expect_err("a refusal");
        let json = serde_json::to_value(&refusal).expect("JSON");
        assert_eq!(json["refusal"], expected, "{refusal}");
    }
    let unknown = SessionId::new("unknown").expect("legal");
    let refused = host.op(&unknown, None, Session::message("x")).await;
    assert_eq!(refused, Err(Refusal::UnknownSession { session: "unknown".into() }));
    assert_eq!(session.records().await.len(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_open_by_id_or_get_one_and_are_listed_newest_first() {
    let world = World::new(ECHO);
    let host = world.host().await;
    let missing = OpenSession { session: Some(SessionId::new("missing").expect("legal")), ..OpenSession::default() };
    let error = host.open_session(missing).await.expect_err("it does not exist").to_string();
    assert_eq!(error, "there is no session `missing`; `mainstay session list` shows those that exist");
    let named = Session::open(&host, "named").await;
    let made = host.open_session(OpenSession::default()).await.expect("a session");
    assert!(made.created && made.session.as_str().len() == 36);
    named.turn("hello").await;
    let (rows, next) = host.sessions(1, None).await.expect("rows");
    assert_eq!(rows[0].session.as_str(), "named");
    let (rows, none) = host.sessions(1, next).await.expect("rows");
    assert_eq!((rows[0].session.clone(), none), (made.session, None));
}

const OTHER: &str = r#"
[route.other]
adapter = "rehearsal"
model = "rehearsal"
settings = { script_file = "/scripts/script.toml" }
"#;

fn on_route(route: &str) -> OpenSession {
    OpenSession {
        session: Some(SessionId::new("s").expect("legal")),
        create: true,
        route: Some(RouteName::new(route).expect("legal")),
        ..OpenSession::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_route_named_when_an_open_session_is_opened_again_counts() {
    let world = World::new(ECHO).entry(OTHER);
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    host.open_session(on_route("other")).await.expect("opened");
    assert_eq!(session.view().await.row.route.expect("a route").as_str(), "other");
    let error = host.open_session(on_route("nowhere")).await.expect_err("refused").to_string();
    assert_eq!(error, "no route is named `nowhere`; the manifest has: default, other");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_saved_route_is_gone_is_not_moved_to_the_default() {
    let world = World::new(ECHO).entry(OTHER);
    let host = world.host().await;
    host.open_session(on_route("other")).await.expect("opened");
    host.shutdown().await;
    drop(host);
    let mut options = world.options();
    let text = std::fs::read_to_string(world.manifest_file()).expect("the manifest").replace(OTHER, "");
    options.manifest = mainstay_manifest::HostManifest::parse(&text, "mainstay.toml").expect("a manifest");
    let host = mainstay_driver::Host::open(options).await.expect("a host");
    let plain = OpenSession { route: None, ..on_route("other") };
    let error = host.open_session(plain).await.expect_err("refused").to_string();
    assert!(error.contains("saved route `other` is no longer in the manifest"), "{error}");
    host.open_session(on_route("default")).await.expect("an override is taken");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_ops_does_not_keep_a_turn_from_going_on() {
    let world = World::new(ECHO);
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    let known = SubmissionId::new("known").expect("legal");
    host.op(&session.id, Some(known.clone()), Session::message("first")).await.expect("accepted");
    host.quiesced(&session.id).await;
    // The flood ends only when the turn has: a turn that is starved would hang.
    let over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let flood: Vec<_> = (0..32)
        .map(|_| {
            let (session, known, over) = (session.clone(), known.clone(), over.clone());
            tokio::spawn(async move {
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    drop(session.host.op(&session.id, Some(known.clone()), Session::message("first")).await);
                }
            })
        })
        .collect();
    let mut news = host.follow(&session.id);
    while session.op(Session::message("second")).await.is_err() {}
    Session::wait_for_record(&mut news, "turn_completed").await;
    over.store(true, std::sync::atomic::Ordering::Relaxed);
    for task in flood {
        task.await.expect("it ends");
    }
}
