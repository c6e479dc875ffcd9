//! Each way in which a tool can fail has an outcome of its own in the journal, the model reads it as an error result, and the
//! next call works.

use mainstay_protocol::{
    content::plain_text,
    failure::{CallFailure, Limit},
    record::v1::{CallOutcome, StopReason},
};

use crate::support::{Session, World, turn_ended};

/// One turn that calls a misbehaving tool, and one that calls a healthy one.
async fn outcome_of(tool: &str, arguments: &str, settings: &str) -> (CallOutcome, String) {
    let script = format!(
        r#"
        [[rule]]
        when = {{ message = "go" }}
        output = [{{ call = {{ name = "{tool}", arguments = {arguments} }} }}]
        [[rule]]
        when = {{ message = "healthy" }}
        output = [{{ call = {{ name = "echo", arguments = {{ value = 1 }} }} }}]
        [[rule]]
        output = [{{ text = "ok" }}]
        "#
    );
    let world = World::new(&script).hostile(settings, &[tool, "echo"]);
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    let records = session.turn("go").await;
    assert_eq!(turn_ended(&records).0, "turn_completed", "{tool}");
    let result = session.results().await.remove(0);
    session.turn("healthy").await;
    let calls = session.calls().await;
    assert_eq!(calls[1].outcome, CallOutcome::Returned, "the next call works after {tool}");
    assert_eq!(calls[0].is_error, result.is_error);
    (calls[0].outcome.clone(), plain_text(&result.content))
}

fn failure(outcome: CallOutcome) -> CallFailure {
    match outcome {
        CallOutcome::Failed(failure) => failure,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trap_is_a_trap() {
    let (outcome, text) = outcome_of("trap", "{}", "").await;
    assert!(matches!(failure(outcome), CallFailure::Trap { .. }));
    assert!(text.starts_with("the call of `trap` failed: the plugin trapped"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_loop_and_an_endless_wait_run_into_the_deadline() {
    let settings = "limits = { call = \"300 ms\" }";
    for (tool, arguments) in [("spin", "{}"), ("sleep", "{ ms = 60000 }")] {
        let (outcome, _) = outcome_of(tool, arguments, settings).await;
        assert_eq!(failure(outcome), CallFailure::Timeout { allowed_ms: 300 }, "{tool}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_memory_bomb_runs_into_its_limit() {
    let (outcome, _) = outcome_of("memory_bomb", "{}", "limits = { memory = \"16 MiB\" }").await;
    let expected = CallFailure::LimitExceeded { limit: Limit::Memory, allowed: 16 << 20 };
    assert_eq!(failure(outcome), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn too_much_output_runs_into_its_limit() {
    let settings = "limits = { output = \"64 KiB\" }";
    let (outcome, _) = outcome_of("output_flood", "{ bytes = 200000 }", settings).await;
    let expected = CallFailure::LimitExceeded { limit: Limit::Output, allowed: 64 << 10 };
    assert_eq!(failure(outcome), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_guest_is_its_own() {
    let arguments = "{ kind = \"denied\", code = \"closed\", message = \"the shop is closed\" }";
    let (outcome, text) = outcome_of("guest_error", arguments, "").await;
    let CallFailure::Guest(error) = failure(outcome) else { panic!("a guest error") };
    assert_eq!((error.code.as_str(), text.as_str()), ("closed", "the shop is closed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_breaks_the_contract_is_bad_output_and_so_is_a_suspension() {
    for tool in ["bad_json", "need_input", "wait"] {
        let (outcome, _) = outcome_of(tool, "{}", "").await;
        assert!(matches!(failure(outcome), CallFailure::BadOutput { .. }), "{tool}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn long_text_is_cut_in_the_middle_for_the_model() {
    let (outcome, text) = outcome_of("output_flood", "{ bytes = 200000 }", "").await;
    assert_eq!(outcome, CallOutcome::Returned);
    assert!(text.len() < 41_000 && text.contains("160000 bytes left out"), "{}", text.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_fails_ends_the_turn_with_its_own_reason() {
    let script = r#"
    [[rule]]
    when = { message = "busy" }
    output = [{ text = "half an ans" }, { error = { kind = "unavailable", code = "overloaded", message = "come back later" } }]
    [[rule]]
    when = { message = "quota" }
    output = [{ error = { kind = "limit-exceeded", message = "overloaded" } }]
    [[rule]]
    output = [{ text = "ok" }]
    "#;
    let world = World::new(script);
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    let (kind, ended) = turn_ended(&session.turn("busy").await);
    let reason = ended.reason.expect("a reason");
    assert_eq!((kind.as_str(), reason.code.as_str()), ("turn_failed", "overloaded"));
    assert!(reason.message.contains("come back later"), "{reason:?}");
    assert_eq!(ended.stop, Some(StopReason::ProviderError));
    assert_eq!(session.items().await.len(), 1, "nothing of a failed attempt stays");
    assert_eq!(turn_ended(&session.turn("fine").await).0, "turn_completed");
    let (kind, ended) = turn_ended(&session.turn("quota").await);
    assert_eq!((kind.as_str(), ended.stop), ("turn_failed", Some(StopReason::QuotaExceeded)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_adapter_that_does_not_end_runs_into_its_deadline_and_leaves_a_fault() {
    let world = World::new("[[rule]]\ndelay_ms = 60000\noutput = [{ text = \"late\" }]")
        .entry("[plugin.rehearsal.limits]\ncall = \"500 ms\"");
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    let records = session.turn("go").await;
    let tail = &crate::support::kinds(&records)[records.len() - 3..];
    assert_eq!(tail, ["session_fault", "step_completed", "turn_failed"]);
    let ended = turn_ended(&records).1;
    assert_eq!(
        (ended.reason.expect("a reason").code.as_str(), ended.stop),
        ("timeout", Some(StopReason::TimeExhausted))
    );
}
