//! Guests, engines and calls for the tests of the runtime.

use std::{
    num::NonZeroU64,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use mainstay_protocol::{
    CallIndex, PluginName, SessionId, StepIndex, TenantId, TurnId,
    content::{Part, ToolCall},
    failure::CallFailure,
};
use mainstay_runtime::{
    Called, EngineOptions, Generation, Invocation, Limits, LoadError, LoadRequest, Runtime, ToolOutput,
};
use serde_json::Value;

/// The target folder of the workspace that this crate is in.
fn target() -> PathBuf {
    let targets = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("target"));
    targets.into_iter().find(|target| target.is_dir()).expect("cargo has made a target folder")
}

/// A guest that `make plugins` has built.
pub(super) fn guest(name: &str) -> Arc<[u8]> {
    let folder = std::env::var_os("MAINSTAY_TEST_PLUGINS").map_or_else(|| target().join("test-plugins"), PathBuf::from);
    let folders = [folder, target().join("plugins")];
    let file = format!("{name}/{name}.wasm");
    let found = folders.iter().find_map(|folder| std::fs::read(folder.join(&file)).ok());
    found.unwrap_or_else(|| panic!("the guest `{name}` is not built: run `make plugins` first")).into()
}

/// A component from its text.
pub(super) fn wat(text: &str) -> Arc<[u8]> {
    wat::parse_str(text).expect("the text is a component").into()
}

/// The engine that most tests share. Its compile cache outlives them, so that guests are compiled once.
pub(super) fn engine() -> &'static Runtime {
    static ENGINE: OnceLock<Runtime> = OnceLock::new();
    ENGINE.get_or_init(|| engine_with(|_| {}))
}

/// An engine of a test's own.
pub(super) fn engine_with(change: impl FnOnce(&mut EngineOptions)) -> Runtime {
    let mut options = EngineOptions { cache_dir: Some(target().join("test-cache")), ..EngineOptions::default() };
    change(&mut options);
    Runtime::new(options).expect("an engine starts")
}

/// A guest with nothing granted and default limits.
pub(super) fn request(name: &str) -> LoadRequest {
    LoadRequest::new(PluginName::new(name).expect("a legal name"), "0.1.0", guest(name))
}

/// A component of a test's own.
pub(super) fn request_for(component: Arc<[u8]>) -> LoadRequest {
    LoadRequest::new(PluginName::new("custom").expect("a legal name"), "0.1.0", component)
}

/// Loads on the shared engine.
pub(super) async fn load(request: LoadRequest) -> Arc<Generation> {
    engine().load(request).await.unwrap_or_else(|error| panic!("{error}"))
}

/// Loads a guest that must be refused.
pub(super) async fn refused(request: LoadRequest) -> LoadError {
    engine().load(request).await.expect_err("it must be refused")
}

/// Limits with one of them changed.
pub(super) fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

pub(super) fn bytes(count: u64) -> NonZeroU64 {
    NonZeroU64::new(count).expect("not zero")
}

/// A tool call of a session.
pub(super) fn invocation() -> Invocation {
    let tenant = TenantId::default_tenant();
    Invocation {
        session: SessionId::new("s1").ok(),
        turn: TurnId::new("t1").ok(),
        step: Some(StepIndex(2)),
        call: Some(CallIndex(1)),
        idempotency_key: Some("key".into()),
        metadata: r#"{"title":"notes"}"#.into(),
        labels: [("owner".to_owned(), "ada".to_owned())].into(),
        route: Some("default".into()),
        ..Invocation::outside_sessions(tenant, "s1/t1/2/1")
    }
}

pub(super) fn tool_call(tool: &str, arguments: &Value) -> ToolCall {
    ToolCall { call_id: "call_1".into(), name: tool.into(), arguments: arguments.to_string() }
}

/// Calls a tool.
pub(super) async fn call(generation: &Arc<Generation>, tool: &str, arguments: Value) -> Called<ToolOutput> {
    generation.call_tool(invocation(), tool_call(tool, &arguments)).await
}

/// The text of a result that must be there.
pub(super) fn text(called: Called<ToolOutput>) -> String {
    let output = called.result.unwrap_or_else(|failure| panic!("{failure}; stderr: {}", called.stderr_tail));
    match output.content.as_slice() {
        [Part::Text(text) | Part::Json(text)] => text.clone(),
        other => panic!("not one text: {other:?}"),
    }
}

/// The JSON of a result that must be there.
pub(super) fn json(called: Called<ToolOutput>) -> Value {
    serde_json::from_str(&text(called)).expect("JSON")
}

/// The failure of a call that must fail, which leaves no state.
pub(super) fn failure<T: std::fmt::Debug>(called: Called<T>) -> CallFailure {
    assert!(called.staged.is_empty());
    called.result.expect_err("the call must fail")
}

/// A generation that still works.
pub(super) async fn assert_works(generation: &Arc<Generation>) {
    let echoed = json(call(generation, "echo", serde_json::json!({"value": [1, "two"]})).await);
    assert_eq!(echoed, serde_json::json!([1, "two"]));
}
