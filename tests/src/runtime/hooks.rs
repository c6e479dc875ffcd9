//! Hooks are two-key, and their decisions come back as data.

use std::sync::Arc;

use mainstay_protocol::{
    content::{Message, Part, Role},
    failure::CallFailure,
};
use mainstay_runtime::{
    Delivery, Generation, Grant, Grounds, Hook, InputChange, InputDecision, LoadError, LoadRequest, StopDecision,
    Verdict,
};
use serde_json::{Value, json};

use super::support::{bytes, failure, invocation, limits, load, refused, request, tool_call};

const ALL: [Hook; 3] = [Hook::Input, Hook::ToolGate, Hook::Stop];

fn hooks_request(hooks: &[Hook], config: &Value) -> LoadRequest {
    let mut request = request("hooks");
    request.grant = hooks.iter().fold(Grant::nothing(), |grant, &hook| grant.with_hook(hook));
    request.config = config.to_string();
    request.limits = limits(|limits| limits.call_ms = bytes(500));
    request
}

async fn hooks(config: Value) -> Arc<Generation> {
    load(hooks_request(&ALL, &config)).await
}

fn grounds(code: &str, reason: &str) -> Grounds {
    Grounds { code: code.into(), reason: reason.into(), extras: None }
}

#[tokio::test]
async fn a_hook_that_was_not_granted_refuses_the_load_by_name() {
    let error = refused(hooks_request(&[Hook::Input, Hook::Stop], &json!({}))).await;
    assert!(matches!(error, LoadError::HookNotGranted { hook: Hook::ToolGate }), "{error}");
    let message = error.to_string();
    assert!(message.contains("`tool-gate`") && message.contains("grant.hooks"), "{message}");
}

#[tokio::test]
async fn an_update_that_exports_one_more_hook_is_refused_by_its_name() {
    let mut request = request("ungranted");
    request.grant = Grant::nothing().with_hook(Hook::ToolGate);
    let error = refused(request.clone()).await;
    assert!(matches!(error, LoadError::HookNotGranted { hook: Hook::Prepare }), "{error}");

    request.grant = request.grant.with_hook(Hook::Prepare);
    let error = refused(request).await;
    assert!(matches!(error, LoadError::HookNotServed { hook: Hook::Prepare }), "{error}");
}

#[tokio::test]
async fn a_granted_hook_that_is_not_there_refuses_the_load() {
    let mut request = request("echo-json");
    request.grant = Grant::nothing().with_hook(Hook::ToolGate);
    let error = refused(request).await;
    assert!(matches!(error, LoadError::HookNotExported { hook: Hook::ToolGate }), "{error}");
}

#[tokio::test]
async fn input_decisions() {
    let cases = [
        (json!({}), InputDecision::Accept(vec![])),
        (json!({"do": "reject", "text": "no"}), InputDecision::Reject(grounds("hooks-reject", "no"))),
        (
            json!({"do": "rewrite", "text": "new"}),
            InputDecision::Accept(vec![InputChange::Rewrite(vec![Part::Text("new".into())])]),
        ),
        (
            json!({"do": "annotate", "text": "note"}),
            InputDecision::Accept(vec![InputChange::Annotate(Message {
                role: Role::System,
                content: vec![Part::Text("note".into())],
            })]),
        ),
    ];
    for (action, expected) in cases {
        let generation = hooks(json!({"input": action})).await;
        let called = generation.check_input(invocation(), vec![Part::Text("hi".into())], Delivery::Queue).await;
        assert_eq!(called.result, Ok(expected));
    }
}

#[tokio::test]
async fn gate_verdicts() {
    let cases = [
        (json!({}), Verdict::Allow),
        (json!({"do": "ask", "text": "sure?"}), Verdict::Ask(grounds("hooks-ask", "sure?"))),
        (json!({"do": "deny", "text": "never"}), Verdict::Deny(grounds("hooks-deny", "never"))),
    ];
    for (action, expected) in cases {
        let generation = hooks(json!({"gate": action})).await;
        let called = generation.gate_call(invocation(), tool_call("write_file", &json!({}))).await;
        assert_eq!(called.result, Ok(expected));
    }
}

#[tokio::test]
async fn stop_decisions() {
    let generation = hooks(json!({"stop": {"do": "go_on", "text": "and?", "only": "unfinished"}})).await;
    let called = generation.check_stop(invocation(), Some("all done".into()), false).await;
    assert_eq!(called.result, Ok(StopDecision::Finish));
    let called = generation.check_stop(invocation(), Some("unfinished".into()), true).await;
    let Ok(StopDecision::GoOn(message)) = called.result else { panic!("{called:?}") };
    assert_eq!(message.content, [Part::Text("and?".into())]);
}

#[tokio::test]
async fn hooks_fail_in_the_same_typed_ways_as_tools() {
    for (action, code) in [
        ("fail", "guest-error"),
        ("trap", "trap"),
        ("spin", "timeout"),
        ("need_input", "bad-output"),
        ("wait", "bad-output"),
    ] {
        let generation = hooks(json!({"gate": {"do": action, "only": "bad"}})).await;
        let gate = |tool| generation.gate_call(invocation(), tool_call(tool, &json!({})));
        assert_eq!(failure(gate("bad").await).code(), code, "{action}");
        assert_eq!(gate("good").await.result, Ok(Verdict::Allow), "after {action}");
    }
}

#[tokio::test]
async fn a_plugin_can_refuse_to_be_activated() {
    let check = |action: Value| hooks_request(&ALL, &json!({"self_check": action}));
    let error = refused(check(json!({"do": "fail", "text": "not today"}))).await;
    let LoadError::SelfCheck { during: "check-self", failure, .. } = &error else { panic!("{error}") };
    assert!(matches!(&**failure, CallFailure::Guest(error) if error.message == "not today"));
    assert!(error.to_string().contains("not today"), "{error}");

    for (action, code) in [("trap", "trap"), ("spin", "timeout")] {
        let error = refused(check(json!({"do": action}))).await;
        let LoadError::SelfCheck { failure, .. } = &error else { panic!("{error}") };
        assert_eq!(failure.code(), code);
    }

    let generation = load(check(json!({"do": "warn", "text": "old key"}))).await;
    assert_eq!(generation.warnings(), ["old key"]);
}
