//! Each way in which a call can end is told apart.

use mainstay_protocol::failure::{CallFailure, ErrorKind};
use serde_json::{Value, json};

use super::support::{assert_works, call, failure, json as json_of, load, request, text};

/// Calls a tool of `hostile` that must fail, and then one that must work.
async fn fails(tool: &str, arguments: Value) -> (CallFailure, String) {
    let generation = load(request("hostile")).await;
    let called = call(&generation, tool, arguments).await;
    let stderr = called.stderr_tail.clone();
    let failed = failure(called);
    assert_works(&generation).await;
    (failed, stderr)
}

#[tokio::test]
async fn an_unreachable_instruction_is_a_trap() {
    let (failed, _) = fails("trap", json!({})).await;
    assert_eq!(failed, CallFailure::Trap { message: "wasm trap: wasm `unreachable` instruction executed".into() });
}

#[tokio::test]
async fn a_panic_is_a_trap_and_its_message_is_in_the_tail_of_stderr() {
    let (failed, stderr) = fails("panic", json!({})).await;
    assert_eq!(failed.code(), "trap");
    assert!(stderr.contains("hostile: this panic is meant"), "{stderr}");
}

/// WASI 0.2 carries no more of a code than whether it is zero.
#[tokio::test]
async fn an_exit_is_a_trap_that_names_the_code() {
    let (failed, _) = fails("exit", json!({})).await;
    assert_eq!(failed, CallFailure::Trap { message: "the guest called exit(1)".into() });
}

/// Which stack ends first, the engine's or the guest's own in its memory, is the compiler's business.
#[tokio::test]
async fn an_exhausted_stack_is_a_trap() {
    let (failed, _) = fails("deep_recursion", json!({})).await;
    let CallFailure::Trap { message } = &failed else { panic!("{failed}") };
    assert!(message.contains("call stack exhausted") || message.contains("out of bounds memory access"), "{message}");
}

#[tokio::test]
async fn a_returned_error_keeps_its_kind_and_code() {
    let error = json!({"kind": "unavailable", "code": "overloaded", "message": "later"});
    let (failed, _) = fails("guest_error", error).await;
    let CallFailure::Guest(error) = failed else { panic!("{failed:?}") };
    assert_eq!(
        (error.kind, error.code.as_str(), error.message.as_str()),
        (ErrorKind::Unavailable, "overloaded", "later")
    );
}

#[tokio::test]
async fn bad_news_is_a_result() {
    let generation = load(request("hostile")).await;
    let output = call(&generation, "bad_news", json!({})).await.result.unwrap();
    assert!(output.is_error);
}

#[tokio::test]
async fn json_that_is_none_is_bad_output() {
    let (failed, _) = fails("bad_json", json!({})).await;
    assert!(matches!(&failed, CallFailure::BadOutput { reason } if reason.contains("is not JSON")), "{failed}");
}

#[tokio::test]
async fn a_suspension_is_bad_output_in_this_version() {
    for tool in ["need_input", "wait"] {
        let (failed, _) = fails(tool, json!({})).await;
        assert!(matches!(&failed, CallFailure::BadOutput { reason } if reason.contains("can not suspend")), "{failed}");
    }
}

#[tokio::test]
async fn what_a_plugin_does_not_serve_is_refused() {
    let (failed, _) = fails("no_such_tool", json!({})).await;
    assert!(matches!(&failed, CallFailure::Refused { reason } if reason.contains("`no_such_tool`")), "{failed}");
    let echo = load(request("echo-json")).await;
    let called = echo.check_stop(super::support::invocation(), None, false).await;
    assert_eq!(failure(called).code(), "refused");
}

#[tokio::test]
async fn a_guest_reads_the_facts_of_its_call() {
    let mut request = request("hostile");
    request.config = r#"{"a":1}"#.into();
    let generation = load(request).await;
    let mut context = json_of(call(&generation, "context", json!({})).await);
    let remaining = context["remaining_ms"].take().as_u64().unwrap();
    assert!((1..=60_000).contains(&remaining), "{remaining}");
    let sha256 = generation.receipt().sha256.to_string();
    let expected = json!({
        "session": "s1", "turn": "t1", "step": 2, "call_index": 1, "invocation_id": "s1/t1/2/1", "attempt": 1,
        "idempotency_key": "key", "remaining_ms": null, "config": {"a": 1}, "metadata": {"title": "notes"},
        "labels": [["owner", "ada"]], "route": "default",
        "plugin": {"name": "hostile", "version": "0.1.0", "sha256": sha256},
    });
    assert_eq!(context, expected);
}

#[tokio::test]
async fn large_arguments_pass() {
    let generation = load(request("hostile")).await;
    let long = "é".repeat(1 << 20);
    assert_eq!(text(call(&generation, "huge_string_args", json!({"text": long})).await), long);
}
