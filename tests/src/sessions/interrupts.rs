//! Interrupts, wherever the turn is: the plugin's store is dropped, one terminal record is written, and the history is valid for
//! the next request.

use mainstay_protocol::{
    TurnId,
    news::News,
    op::{Op, Refusal},
};

use crate::support::{Session, World, kinds, turn_ended};

const SLOW: &str = r#"
[[rule]]
when = { message = "stream" }
output = [{ text = "I think" }, { reasoning = "for a minute", delay_ms = 60000 }]
[[rule]]
when = { message = "^tool$" }
output = [{ call = { name = "effect_once", arguments = { note = "a", hold = true } } }, { call = { name = "effect_once", arguments = { note = "b" } } }]
[[rule]]
output = [{ text = "next" }]
"#;

async fn still_works(session: &Session) {
    let records = session.turn("next").await;
    assert_eq!(turn_ended(&records).0, "turn_completed");
    assert_eq!(session.last_message().await, "next");
}

#[tokio::test(flavor = "multi_thread")]
async fn r19_interrupt_while_the_model_streams() {
    let world = World::new(SLOW);
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    let mut news = host.follow(&session.id);
    session.submit("stream").await;
    Session::wait_for(&mut news, |news| matches!(news, News::Delta { .. })).await;
    session.interrupt().await.expect("accepted");
    host.quiesced(&session.id).await;
    let records = session.records().await;
    let tail = &kinds(&records)[records.len() - 2..];
    assert_eq!(tail, ["step_completed", "turn_aborted"]);
    still_works(&session).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r19_interrupt_while_a_tool_runs() {
    let world = World::new(SLOW).effects();
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    let mut news = host.follow(&session.id);
    session.submit("tool").await;
    Session::wait_for_record(&mut news, "run_started").await;
    session.interrupt().await.expect("accepted");
    host.quiesced(&session.id).await;
    let records = session.records().await;
    let (kind, ended) = turn_ended(&records);
    assert_eq!((kind.as_str(), ended.tool_calls, ended.failed_tool_calls), ("turn_aborted", 2, 2));
    assert_eq!(session.results().await.len(), 2, "each call has exactly one result");
    still_works(&session).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r19_interrupt_while_a_hook_runs() {
    let world = World::new(SLOW)
        .effects()
        .hooks_with("limits = { call = \"60 s\" }", "stop = { do = \"spin\", only = \"next\" }");
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    let mut news = host.follow(&session.id);
    session.submit("next").await;
    Session::wait_for_record(&mut news, "step_completed").await;
    session.interrupt().await.expect("accepted");
    host.quiesced(&session.id).await;
    assert_eq!(turn_ended(&session.records().await).0, "turn_aborted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_interrupt_is_refused_and_changes_nothing() {
    let world = World::new(SLOW);
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    session.turn("next").await;
    let before = session.records().await.len();
    let turn = TurnId::new("gone").expect("legal");
    let refused = session.op(Op::Interrupt { turn: turn.clone() }).await;
    assert_eq!(refused, Err(Refusal::StaleTurn { turn }));
    assert_eq!(session.records().await.len(), before);
}
