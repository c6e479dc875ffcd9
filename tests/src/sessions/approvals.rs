//! Approvals: a durable question, answered exactly once, counting only for what the person saw.

use mainstay_protocol::{
    ApprovalId,
    content::plain_text,
    op::{ApprovalAnswer, Op, Refusal},
};

use crate::support::{Session, World, kinds, turn_ended};

const ASKED: &str = r#"
[[rule]]
when = { message = "go" }
output = [
    { call = { name = "effect_pure", arguments = { note = "free" } } },
    { call = { name = "effect_asked", arguments = { note = "asked" } } },
]
[[rule]]
when = { tool = "effect_asked" }
output = [{ text = "so be it: {result}" }]
"#;

async fn asked() -> (World, Session) {
    let world = World::new(ASKED).effects();
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    session.turn("go").await;
    (world, session)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_of_a_batch_starts_before_all_its_approvals_are_answered() {
    let (world, session) = asked().await;
    let view = session.view().await;
    assert_eq!((view.row.phase.as_str(), view.approvals.len()), ("waiting", 1));
    assert_eq!(view.approvals[0].tool, "effect_asked");
    assert_eq!(view.approvals[0].arguments, r#"{"note":"asked"}"#);
    assert_eq!(view.approvals[0].reasons[0].code, "policy");
    assert!(world.log("log.jsonl").is_empty(), "nothing ran");
    session.answer(&view.approvals[0].approval, ApprovalAnswer::Approve).await.expect("accepted");
    session.host.quiesced(&session.id).await;
    let (kind, ended) = turn_ended(&session.records().await);
    assert_eq!((kind.as_str(), ended.tool_calls, ended.failed_tool_calls), ("turn_completed", 2, 0));
    assert_eq!(world.log("log.jsonl").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_call_never_runs_and_the_model_reads_why() {
    let (world, session) = asked().await;
    let approval = session.approvals().await.remove(0);
    let comment = Some("not on a Friday".to_owned());
    let op = Op::Approve { approval, answer: ApprovalAnswer::Deny, comment };
    session.op(op).await.expect("accepted");
    session.host.quiesced(&session.id).await;
    let results = session.results().await;
    let denied = results.iter().find(|result| result.name == "effect_asked").expect("a result");
    assert!(denied.is_error);
    assert_eq!(plain_text(&denied.content), "a person denied the call: not on a Friday");
    assert_eq!(session.last_message().await, "so be it: a person denied the call: not on a Friday");
    assert_eq!(world.log("log.jsonl").len(), 1, "only the call that needed no approval ran");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_is_resolved_exactly_once() {
    let (_world, session) = asked().await;
    let approval = session.approvals().await.remove(0);
    let unknown = ApprovalId::new("other").expect("legal");
    let refused = session.answer(&unknown, ApprovalAnswer::Approve).await;
    assert_eq!(refused, Err(Refusal::UnknownApproval { approval: unknown }));
    let (one, two) = tokio::join!(
        session.answer(&approval, ApprovalAnswer::Approve),
        session.answer(&approval, ApprovalAnswer::Deny)
    );
    assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
    session.host.quiesced(&session.id).await;
    let records = session.records().await;
    assert_eq!(kinds(&records).iter().filter(|kind| **kind == "approval_resolved").count(), 1);
    // Also when its turn is over.
    let late = session.answer(&approval, ApprovalAnswer::Deny).await;
    assert_eq!(late, Err(Refusal::AlreadyResolved { approval }));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_survives_a_restart_with_its_id() {
    let (world, session) = asked().await;
    let before = session.approvals().await;
    let Session { host, id } = session;
    host.shutdown().await;
    drop(host);
    let host = world.host().await;
    let session = Session { host, id };
    session.host.quiesced(&session.id).await;
    assert_eq!(session.approvals().await, before);
    session.answer(&before[0], ApprovalAnswer::Approve).await.expect("accepted");
    session.host.quiesced(&session.id).await;
    let records = session.records().await;
    assert_eq!(kinds(&records).iter().filter(|kind| **kind == "approval_requested").count(), 1);
    assert_eq!(turn_ended(&records).0, "turn_completed");
    assert_eq!(world.log("log.jsonl").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_dismisses_what_is_asked() {
    let (world, session) = asked().await;
    session.interrupt().await.expect("accepted");
    session.host.quiesced(&session.id).await;
    let records = session.records().await;
    let (kind, ended) = turn_ended(&records);
    assert_eq!((kind.as_str(), ended.tool_calls), ("turn_aborted", 2));
    assert!(ended.interrupted_by.is_some());
    assert!(session.approvals().await.is_empty() && world.log("log.jsonl").is_empty());
}
