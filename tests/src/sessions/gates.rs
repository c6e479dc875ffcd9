//! The tool gate: deny beats ask beats allow, a failing gate denies unless its policy says otherwise, and what nobody serves is
//! an error that the model reads.

use mainstay_protocol::{
    content::plain_text,
    op::ApprovalAnswer,
    record::{RecordBody, v1::CallOutcome},
};

use crate::support::{Session, World, kinds, turn_ended};

const CALL: &str = r#"
[[rule]]
when = { message = "go" }
output = [{ call = { name = "effect_once", arguments = { note = "a" } } }]
[[rule]]
when = { message = "nobody" }
output = [{ call = { name = "nobody", arguments = {} } }]
[[rule]]
output = [{ text = "read: {result}" }]
"#;

/// Runs one turn with a gate; gives the outcome of its call, what the model read, and how often the tool ran.
async fn gated(settings: &str, config: &str) -> (CallOutcome, String, usize, Session, World) {
    let world = World::new(CALL).effects().hooks_with(settings, config);
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    session.turn("go").await;
    let call = session.calls().await.remove(0);
    let text = plain_text(&session.results().await[0].content);
    let ran = world.log("log.jsonl").len();
    (call.outcome, text, ran, session, world)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_allows_lets_the_call_run() {
    let (outcome, _, ran, session, world) = gated("", "gate = { do = \"allow\" }").await;
    assert_eq!((outcome, ran), (CallOutcome::Returned, 1));
    assert_eq!(world.log("hooks.jsonl").iter().filter(|line| line["hook"] == "gate").count(), 1);
    let records = session.records().await;
    let notes = records.iter().find_map(|record| match &*record.body {
        RecordBody::CallsDecided(decided) => Some(decided.hooks.clone()),
        _ => None,
    });
    let notes = notes.expect("a decision");
    assert!(notes.passed.starts_with("hooks@") && notes.decided.is_empty(), "{notes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_denies_keeps_the_call_from_running() {
    let (outcome, text, ran, session, _world) = gated("", "gate = { do = \"deny\", text = \"too late\" }").await;
    let CallOutcome::Denied(reason) = outcome else { panic!("{outcome:?}") };
    assert_eq!((reason.code.as_str(), reason.message.as_str(), ran), ("hooks-deny", "too late", 0));
    assert_eq!(text, "too late");
    assert_eq!(turn_ended(&session.records().await).0, "turn_completed", "the model was told and answered");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_asks_makes_it_a_question() {
    let world = World::new(CALL).effects().hooks("gate = { do = \"ask\", text = \"sure?\" }");
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    session.turn("go").await;
    let view = session.view().await;
    let reasons: Vec<_> = view.approvals[0].reasons.iter().map(|reason| reason.message.as_str()).collect();
    assert_eq!(reasons, ["sure?"]);
    session.answer(&view.approvals[0].approval, ApprovalAnswer::Approve).await.expect("accepted");
    session.host.quiesced(&session.id).await;
    assert_eq!(session.calls().await[0].outcome, CallOutcome::Returned);
    assert_eq!(world.log("hooks.jsonl").len(), 2 + 2, "the gate was asked again, input and stop once");
}

/// A host that asks again after a person's answer makes another decision: a gate must not take it for a repetition.
#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_is_asked_again_can_tell() {
    let world = World::new(&CALL.replace("effect_once", "effect_asked")).effects().hooks("gate = { do = \"allow\" }");
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    session.turn("go").await;
    let approval = session.approvals().await.remove(0);
    session.answer(&approval, ApprovalAnswer::Approve).await.expect("accepted");
    host.quiesced(&session.id).await;
    let log = world.log("hooks.jsonl");
    let gates: Vec<_> = log.iter().filter(|line| line["hook"] == "gate").map(|line| &line["invocation_id"]).collect();
    assert_eq!(gates.len(), 2, "{log:?}");
    assert!(gates[0].is_string() && gates[0] != gates[1], "two decisions look like one invocation: {gates:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_gate_denies_and_its_failure_is_recorded() {
    for failure in ["fail", "trap", "need_input"] {
        let (outcome, _, ran, session, _world) =
            gated("on_failure = \"closed\"", &format!("gate = {{ do = {failure:?} }}")).await;
        let CallOutcome::Denied(reason) = outcome else { panic!("{outcome:?}") };
        assert_eq!((reason.code.as_str(), ran), ("gate-failed", 0), "{failure}");
        let records = session.records().await;
        let fault = records.iter().find_map(|record| match &*record.body {
            RecordBody::SessionFault(fault) => Some(fault.clone()),
            _ => None,
        });
        let fault = fault.expect("a fault");
        assert_eq!((fault.code.as_str(), fault.parks), ("tool-gate-hook-failed", false));
        assert_eq!(fault.build.expect("a build").plugin.as_str(), "hooks");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_gate_with_the_open_policy_is_skipped_and_recorded() {
    let (outcome, _, ran, session, _world) = gated("on_failure = \"open\"", "gate = { do = \"trap\" }").await;
    assert_eq!((outcome, ran), (CallOutcome::Returned, 1));
    assert!(kinds(&session.records().await).contains(&"session_fault"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_never_answers_runs_into_its_deadline_and_denies() {
    let (outcome, _, ran, _session, _world) = gated("limits = { call = \"300 ms\" }", "gate = { do = \"spin\" }").await;
    let CallOutcome::Denied(reason) = outcome else { panic!("{outcome:?}") };
    assert_eq!((reason.code.as_str(), ran), ("gate-failed", 0));
    assert!(reason.message.contains("timeout"), "{reason:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_a_tool_that_nobody_serves_is_an_error_that_names_those_that_exist() {
    let world = World::new(CALL).effects();
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    session.turn("nobody").await;
    let text = plain_text(&session.results().await[0].content);
    assert!(text.starts_with("there is no tool `nobody`; the tools are: effect_asked, effect_idempotent"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_without_the_operators_word_asks_whatever_the_plugin_claims() {
    let world = World::new(
        r#"
    [[rule]]
    when = { message = "go" }
    output = [{ call = { name = "echo", arguments = { value = 1 } } }]
    [[rule]]
    output = [{ text = "ok" }]
    "#,
    )
    .hostile("", &[]);
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    session.turn("go").await;
    assert_eq!(session.view().await.approvals.len(), 1);
}
