//! Completions: pulled, checked, bounded, and cancelled by dropping them.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use mainstay_protocol::{
    ItemId, Timestamp,
    content::{Item, ItemBody, Message, Part, PrivatePart},
    failure::{CallFailure, ErrorKind, Limit},
    model::{Delta, ModelRequest, ToolChoice},
};
use mainstay_runtime::{Completion, Generation, Invocation, LoadRequest, ReadFailure, Transcript};
use serde_json::json;

use super::support::{bytes, engine_with, invocation, limits, load, request};

/// A history in memory.
struct History(Vec<Arc<Item>>);

impl Transcript for History {
    fn count(&self) -> BoxFuture<'_, Result<u32, ReadFailure>> {
        let count = u32::try_from(self.0.len()).map_err(|error| ReadFailure(error.to_string()));
        async { count }.boxed()
    }

    fn read(&self, start: u32, max: u32, _: usize) -> BoxFuture<'_, Result<Vec<Arc<Item>>, ReadFailure>> {
        let items = self.0.iter().skip(start as usize).take(max as usize).cloned().collect();
        async { Ok(items) }.boxed()
    }
}

fn item(id: u64, text: &str, private: Option<&str>) -> Arc<Item> {
    Arc::new(Item {
        id: ItemId(id),
        turn: None,
        step: None,
        call: None,
        at: Timestamp(id),
        body: ItemBody::Message(Message::user(vec![Part::Text(text.into())])),
        private_part: private.map(|group| PrivatePart { context_group: group.into(), bytes: b"seen".to_vec() }),
        extras: None,
    })
}

fn rehearsal(script: &str) -> LoadRequest {
    let mut request = request("rehearsal");
    request.config = json!({ "script": script }).to_string();
    request
}

fn asking(items: Vec<Arc<Item>>) -> Invocation {
    Invocation { transcript: Some(Arc::new(History(items))), call: None, ..invocation() }
}

fn model_request() -> ModelRequest {
    ModelRequest {
        model: "rehearsal".into(),
        settings: "{}".into(),
        system: vec![],
        tools: vec![],
        tool_choice: ToolChoice::Auto,
        output_schema: None,
        max_output_tokens: None,
        extras: None,
    }
}

async fn start(generation: &Arc<Generation>, message: &str) -> Completion {
    let called = generation.start_model(asking(vec![item(1, message, None)]), model_request()).await;
    called.result.unwrap_or_else(|failure| panic!("{failure}; stderr: {}", called.stderr_tail))
}

/// Pulls to the end.
async fn all(completion: &mut Completion) -> Result<Vec<Delta>, CallFailure> {
    let mut deltas = Vec::new();
    while !completion.has_ended() {
        deltas.extend(completion.next().await?);
    }
    Ok(deltas)
}

fn text(deltas: &[Delta]) -> String {
    let text = |delta: &Delta| if let Delta::Text(text) = delta { text.clone() } else { String::new() };
    deltas.iter().map(text).collect()
}

const ECHO: &str = r#"
[[rule]]
when = { message = "^(.*)$" }
output = [{ text = "You said: {1}" }]
"#;

#[tokio::test]
async fn a_completion_is_pulled_to_its_end() {
    let generation = load(rehearsal(ECHO)).await;
    assert_eq!(generation.models()[0].id, "rehearsal");
    let mut completion = start(&generation, "abc").await;
    let deltas = all(&mut completion).await.unwrap();
    assert_eq!(text(&deltas), "You said: abc");
    assert!(matches!(deltas.last(), Some(Delta::Finish(_))), "{deltas:?}");
    assert_eq!(completion.next().await.unwrap_err().code(), "refused", "nothing comes after the end");
    let report = completion.close();
    assert_eq!(report.result, Ok(()));
}

#[tokio::test]
async fn only_its_own_context_group_gets_private_parts_back() {
    let script = r#"
[[rule]]
when = { private_seen = "seen" }
output = [{ text = "seen" }]

[[rule]]
when = { message = "(?s)^(.*)$" }
output = [{ text = "hidden" }]
"#;
    let generation = load(rehearsal(script)).await;
    for (group, expected) in [(Some("a"), "seen"), (Some("b"), "hidden"), (None, "hidden")] {
        let invocation = Invocation {
            context_group: group.map(str::to_owned),
            ..asking(vec![item(1, "x", Some("a")), item(2, "y", None)])
        };
        let mut completion = generation.start_model(invocation, model_request()).await.result.unwrap();
        assert_eq!(text(&all(&mut completion).await.unwrap()), expected, "{group:?}");
    }
}

#[tokio::test]
async fn an_error_of_the_provider_ends_the_attempt() {
    let script = r#"
[[rule]]
when = { message = "^(.*)$" }
output = [{ text = "some" }, { error = { kind = "unavailable", code = "overloaded", message = "later" } }]
"#;
    let generation = load(rehearsal(script)).await;
    let mut completion = start(&generation, "x").await;
    let failed = all(&mut completion).await.unwrap_err();
    assert!(matches!(&failed, CallFailure::Guest(error) if error.kind == ErrorKind::Unavailable), "{failed}");
    assert!(completion.has_ended());
    assert!(completion.close().result.is_err());
}

#[tokio::test]
async fn an_unknown_model_is_an_error_of_the_guest() {
    let generation = load(rehearsal(ECHO)).await;
    let request = ModelRequest { model: "other".into(), ..model_request() };
    let called = generation.start_model(asking(vec![]), request).await;
    let failed = called.result.unwrap_err();
    assert!(matches!(&failed, CallFailure::Guest(error) if error.code == "unknown-model"), "{failed}");
}

#[tokio::test]
async fn output_of_a_whole_completion_is_bounded() {
    let script = r#"
chunk = 10
[[rule]]
when = { message = "^(.*)$" }
output = [{ text = "0123456789012345678901234567890123456789012345678901234567890123456789" }]
"#;
    let mut request = rehearsal(script);
    request.limits = limits(|limits| limits.output = bytes(30));
    let generation = load(request).await;
    let mut completion = start(&generation, "x").await;
    let failed = all(&mut completion).await.unwrap_err();
    assert_eq!(failed, CallFailure::LimitExceeded { limit: Limit::Output, allowed: 30 });
}

const SLOW: &str = r#"
chunk = 1
delay_ms = 60000
[[rule]]
when = { message = "^(.*)$" }
output = [{ text = "never" }]
"#;

#[tokio::test]
async fn one_deadline_covers_a_whole_completion() {
    let mut request = rehearsal(SLOW);
    request.limits = limits(|limits| limits.call_ms = bytes(200));
    let generation = load(request).await;
    let mut completion = start(&generation, "x").await;
    let failed = all(&mut completion).await.unwrap_err();
    assert_eq!(failed, CallFailure::Timeout { allowed_ms: 200 });
}

#[tokio::test]
async fn dropping_a_completion_in_the_middle_frees_its_place() {
    let engine = engine_with(|options| {
        options.calls = NonZeroU32::MIN;
        options.place_wait = Duration::from_millis(50);
    });
    let generation = engine.load(rehearsal(SLOW)).await.unwrap();
    let mut completion = start(&generation, "x").await;
    let pulled = tokio::time::timeout(Duration::from_millis(20), all(&mut completion)).await;
    assert!(pulled.is_err(), "it is still waiting");
    let busy = generation.start_model(asking(vec![item(1, "x", None)]), model_request()).await;
    assert_eq!(busy.result.unwrap_err().code(), "busy");
    drop(completion);
    start(&generation, "x").await;
}
