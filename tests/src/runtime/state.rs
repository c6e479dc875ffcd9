//! Durable state as a guest sees it: committed values under staged ones; nothing lives in an instance.

use std::{collections::BTreeMap, sync::Arc};

use futures::{FutureExt, future::BoxFuture};
use mainstay_protocol::failure::CallFailure;
use mainstay_runtime::{
    Access, Called, Generation, Grant, Invocation, ReadFailure, StagedState, StateReader, StateUsage, ToolOutput,
};
use serde_json::{Value, json};

use super::support::{bytes, failure, invocation, json as json_of, limits, load, request, tool_call};

/// Committed values in memory.
#[derive(Default)]
struct Committed(BTreeMap<String, Vec<u8>>);

impl StateReader for Committed {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, ReadFailure>> {
        async move { Ok(self.0.get(key).cloned()) }.boxed()
    }

    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
        max: usize,
    ) -> BoxFuture<'a, Result<Vec<String>, ReadFailure>> {
        let fits = move |key: &&String| key.starts_with(prefix) && after.is_none_or(|after| key.as_str() > after);
        async move { Ok(self.0.keys().filter(fits).take(max).cloned().collect()) }.boxed()
    }

    fn usage(&self) -> BoxFuture<'_, Result<StateUsage, ReadFailure>> {
        let bytes = self.0.iter().map(|(key, value)| (key.len() + value.len()) as u64).sum();
        async move { Ok(StateUsage { keys: self.0.len() as u64, bytes }) }.boxed()
    }
}

/// A store that can not be read.
struct Broken;

impl StateReader for Broken {
    fn get<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, ReadFailure>> {
        async { Err(ReadFailure("the journal can not be read".into())) }.boxed()
    }

    fn list<'a>(&'a self, _: &'a str, _: Option<&'a str>, _: usize) -> BoxFuture<'a, Result<Vec<String>, ReadFailure>> {
        async { Err(ReadFailure("the journal can not be read".into())) }.boxed()
    }

    fn usage(&self) -> BoxFuture<'_, Result<StateUsage, ReadFailure>> {
        async { Err(ReadFailure("the journal can not be read".into())) }.boxed()
    }
}

/// `effects` counts its calls in `session-state`.
async fn effects(state_bytes: u64) -> (Arc<Generation>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut request = request("effects");
    request.grant = Grant::nothing().with_dir(folder.path(), "/effects", Access::ReadWrite).unwrap();
    request.limits = limits(|limits| limits.state = bytes(state_bytes));
    (load(request).await, folder)
}

async fn count(
    generation: &Arc<Generation>,
    reader: Arc<dyn StateReader>,
    staged: StagedState,
    arguments: Value,
) -> Called<ToolOutput> {
    let invocation = Invocation { session_state: Some(reader), staged, ..invocation() };
    generation.call_tool(invocation, tool_call("effect_pure", &arguments)).await
}

#[tokio::test]
async fn writes_are_staged_and_seen_by_those_who_are_told() {
    let (generation, _folder) = effects(1_000).await;
    let note = json!({"note": "x"});
    let committed = || Arc::new(Committed::default());
    let first = count(&generation, committed(), StagedState::default(), note.clone()).await;
    let staged = first.staged.clone();
    assert_eq!(staged.session.keys().collect::<Vec<_>>(), ["calls"]);
    assert_eq!(json_of(first)["calls"], 1);

    let again = count(&generation, committed(), StagedState::default(), note.clone()).await;
    assert_eq!(json_of(again)["calls"], 1, "what was not committed is gone: each call has a fresh instance");

    let later = count(&generation, committed(), staged.clone(), note.clone()).await;
    assert_eq!(json_of(later)["calls"], 2, "a later call of the barrier sees it");

    let values = staged.session.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    let next = count(&generation, Arc::new(Committed(values)), StagedState::default(), note).await;
    assert_eq!(json_of(next)["calls"], 2, "and after the commit everyone does");
}

#[tokio::test]
async fn a_failed_call_leaves_nothing() {
    let (generation, _folder) = effects(1_000).await;
    let arguments = json!({"note": "x", "fail": true});
    let called = count(&generation, Arc::new(Committed::default()), StagedState::default(), arguments).await;
    assert!(matches!(failure(called), CallFailure::Guest(error) if error.code == "asked-to-fail"));
}

#[tokio::test]
async fn a_full_quota_is_an_error_that_the_guest_sees() {
    let (generation, _folder) = effects(5).await;
    let called = count(&generation, Arc::new(Committed::default()), StagedState::default(), json!({"note": "x"})).await;
    let failed = failure(called);
    assert!(matches!(&failed, CallFailure::Guest(error) if error.message.contains("5 are allowed")), "{failed:?}");
}

#[tokio::test]
async fn a_broken_store_is_a_failure_of_the_host() {
    let (generation, _folder) = effects(1_000).await;
    let called = count(&generation, Arc::new(Broken), StagedState::default(), json!({"note": "x"})).await;
    assert_eq!(failure(called), CallFailure::Host { message: "the journal can not be read".into() });
}

#[tokio::test]
async fn outside_a_session_there_is_no_session_state() {
    let (generation, _folder) = effects(1_000).await;
    let called = generation.call_tool(invocation(), tool_call("effect_pure", &json!({"note": "x"}))).await;
    assert!(matches!(failure(called), CallFailure::Guest(error) if error.message.contains("outside a session")));
}
