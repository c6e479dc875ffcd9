//! Input hooks: they rewrite, annotate and reject; a failing one parks the session and loses nothing.

use mainstay_protocol::{
    content::{ItemBody, Role, plain_text},
    op::{Op, Refusal},
};

use crate::support::{Session, World, kinds, turn_ended};

const ECHO: &str = "[[rule]]\nwhen = { message = '(?s)^(.*)$' }\noutput = [{ text = \"heard: {1}\" }]\n[[rule]]\noutput = [{ text = \"ok\" }]";

/// The kinds of records, without those that say which code serves.
fn but_receipts(records: &[mainstay_protocol::record::StoredRecord]) -> Vec<&str> {
    kinds(records).into_iter().filter(|kind| *kind != "receipt_recorded").collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rewritten_message_is_what_the_model_hears() {
    let world = World::new(ECHO).hooks("input = { do = \"rewrite\", text = \"politely\" }");
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    session.turn("rudely").await;
    assert_eq!(session.last_message().await, "heard: politely");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_annotation_follows_the_message() {
    let world = World::new(ECHO).hooks("input = { do = \"annotate\", text = \"it is raining\" }");
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    session.turn("hello").await;
    let messages: Vec<_> = session
        .items()
        .await
        .into_iter()
        .filter_map(|item| match item.body {
            ItemBody::Message(message) => Some((message.role, plain_text(&message.content))),
            _ => None,
        })
        .collect();
    assert_eq!(messages[..2], [(Role::User, "hello".into()), (Role::System, "it is raining".into())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_message_is_consumed_with_one_terminal_record() {
    let world = World::new(ECHO).hooks("input = { do = \"reject\", text = \"not here\", only = \"bad\" }");
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    let records = session.turn("bad word").await;
    assert_eq!(but_receipts(&records), ["turn_started", "turn_rejected"]);
    let (_, ended) = turn_ended(&records);
    assert_eq!(ended.reason.expect("a reason").message, "not here");
    assert!(session.items().await.is_empty(), "a rejected message does not enter the history");
    assert_eq!(turn_ended(&session.turn("good word").await).0, "turn_completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_hook_parks_the_session_and_the_message_runs_later() {
    let world = World::new(ECHO).hooks("input = { do = \"fail_while_missing\", path = \"/effects/ready\" }");
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    let records = session.turn("hello").await;
    assert_eq!(but_receipts(&records), ["session_fault"]);
    let view = session.view().await;
    assert_eq!((view.row.phase.as_str(), view.queue.len()), ("parked", 1));
    assert!(view.turn.is_none());
    // On request it fails again: nothing is lost, nothing happened.
    session.op(Op::Retry {}).await.expect("accepted");
    session.host.quiesced(&session.id).await;
    assert_eq!(session.view().await.row.phase, "parked");
    std::fs::write(world.path().join("effects/ready"), "").expect("a file");
    session.op(Op::Retry {}).await.expect("accepted");
    session.host.quiesced(&session.id).await;
    assert_eq!(session.last_message().await, "heard: hello");
    assert_eq!(session.op(Op::Retry {}).await, Err(Refusal::NotParked));
}

#[tokio::test(flavor = "multi_thread")]
async fn r01_a_parked_message_runs_after_a_restart_exactly_once() {
    let world = World::new(ECHO).hooks("input = { do = \"fail_while_missing\", path = \"/effects/ready\" }");
    let accepted = {
        let host = world.host().await;
        let session = Session::open(&host, "s").await;
        let accepted = session.submit("hello").await;
        host.quiesced(&session.id).await;
        let view = session.view().await;
        assert_eq!(view.queue[0].submission, accepted.submission);
        assert!(view.turn.is_none());
        assert!(kinds(&session.records().await).contains(&"session_fault"));
        host.shutdown().await;
        accepted
    };
    std::fs::write(world.path().join("effects/ready"), "").expect("a file");
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    host.quiesced(&session.id).await;
    let records = session.records().await;
    let (kind, ended) = turn_ended(&records);
    assert_eq!((kind.as_str(), ended.submission), ("turn_completed", accepted.submission));
    assert_eq!(kinds(&records).iter().filter(|kind| **kind == "step_completed").count(), 1);
    assert!(session.view().await.queue.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swap_lets_a_parked_session_try_again() {
    // Without lingering the session has no task any more when the swap comes: it is a row that has to be found.
    for linger in [mainstay_driver::DEFAULT_LINGER, std::time::Duration::ZERO] {
        let world = World::new(ECHO).hooks("input = { do = \"fail_while_missing\", path = \"/effects/ready\" }");
        let options = mainstay_driver::HostOptions { linger, ..world.options() };
        let host = mainstay_driver::Host::open(options).await.expect("a host");
        let session = Session::open(&host, "s").await;
        session.turn("hello").await;
        assert_eq!(session.view().await.row.phase, "parked");
        std::fs::write(world.path().join("effects/ready"), "").expect("a file");
        let mut news = host.follow(&session.id);
        swap_hooks(&host).await;
        Session::wait_for_record(&mut news, "turn_completed").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_parks_on_code_that_was_just_replaced_is_tried_on_the_new_code() {
    let world = World::new(ECHO).hooks_with("limits = { call = \"1 s\" }", "input = { do = \"spin\" }");
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    session.submit("hello").await;
    // The hook writes its line before it spins.
    while world.log("hooks.jsonl").is_empty() {
        tokio::task::yield_now().await;
    }
    swap_hooks(&host).await;
    host.quiesced(&session.id).await;
    let records = session.records().await;
    let faults = kinds(&records).into_iter().filter(|kind| *kind == "session_fault").count();
    assert_eq!(
        (session.view().await.row.phase.as_str(), faults),
        ("parked", 2),
        "both builds were asked, and both failed"
    );
}

async fn swap_hooks(host: &mainstay_driver::Host) {
    let hooks = mainstay_protocol::PluginName::new("hooks").expect("legal");
    let guest = crate::support::world::guest("hooks");
    host.swap(&hooks, &guest).await.unwrap_or_else(|error| panic!("{error}"));
}
