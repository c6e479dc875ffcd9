//! The registry: snapshots are immutable, a swap moves a pointer, and old code goes when its last call ends.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use mainstay_protocol::{
    PluginName,
    tool::{Approval, Effect},
};
use mainstay_runtime::{Generation, Grant, Hook, Registry, SnapshotError, ToolOverride};
use serde_json::json;
use tokio::time::timeout;

use super::support::{assert_works, call, json as json_of, load, request};

async fn is_drained(generation: impl Future<Output = ()>) -> bool {
    timeout(Duration::from_millis(50), generation).await.is_ok()
}

async fn hooks(name: &str, order: i32) -> Arc<Generation> {
    let mut request = request("hooks");
    request.name = PluginName::new(name).unwrap();
    request.order = order;
    request.grant = Grant::nothing().with_hook(Hook::Input).with_hook(Hook::ToolGate).with_hook(Hook::Stop);
    load(request).await
}

#[tokio::test]
async fn a_pinned_snapshot_keeps_the_old_code_and_the_next_one_has_the_new() {
    let registry = Registry::default();
    let old = load(request("hostile")).await;
    let drained = old.drained();
    registry.replace(old).unwrap();
    let pinned = registry.snapshot();

    let mut update = request("hostile");
    update.version = "0.2.0".into();
    let retired = registry.replace(load(update).await).unwrap();
    assert_eq!(retired.len(), 1);
    drop(retired);
    assert_eq!(pinned.find_tool("echo").unwrap().generation.receipt().version, "0.1.0");
    assert_eq!(registry.snapshot().find_tool("echo").unwrap().generation.receipt().version, "0.2.0");

    assert_works(&pinned.find_tool("echo").unwrap().generation).await;
    tokio::pin!(drained);
    assert!(!is_drained(&mut drained).await, "the pinned snapshot holds it");
    drop(pinned);
    assert!(is_drained(&mut drained).await);
}

#[tokio::test]
async fn a_call_in_flight_holds_its_code_and_ends_on_it() {
    let registry = Registry::default();
    registry.replace(load(request("hostile")).await).unwrap();
    let generation = registry.snapshot().find_tool("sleep").unwrap().generation.clone();
    let drained = generation.drained();
    let running = tokio::spawn(async move { call(&generation, "sleep", json!({"ms": 1_000})).await });
    tokio::task::yield_now().await;
    drop(registry.activate(registry.prepare([], &[PluginName::new("hostile").unwrap()]).unwrap()).unwrap());
    assert!(registry.snapshot().find_tool("sleep").is_none());
    tokio::pin!(drained);
    assert!(!is_drained(&mut drained).await, "the call holds it");
    assert!(running.await.unwrap().result.is_ok());
    assert!(is_drained(&mut drained).await);
}

#[tokio::test]
async fn two_plugins_with_one_tool_name_are_refused_and_nothing_changes() {
    let registry = Registry::default();
    registry.replace(load(request("hostile")).await).unwrap();
    let mut copy = request("hostile");
    copy.name = PluginName::new("copy").unwrap();
    let error = registry.replace(load(copy).await).unwrap_err();
    assert!(matches!(&error, SnapshotError::ToolTwice { .. }), "{error}");
    assert!(error.to_string().contains("`copy`") && error.to_string().contains("`hostile`"), "{error}");
    assert_eq!(registry.snapshot().generations().len(), 1);
}

#[tokio::test]
async fn a_change_that_was_overtaken_is_refused() {
    let registry = Registry::default();
    let prepared = registry.prepare([load(request("hostile")).await], &[]).unwrap();
    registry.replace(load(request("echo-json")).await).unwrap();
    assert_eq!(registry.activate(prepared).unwrap_err(), SnapshotError::Outdated);
    assert_eq!(registry.snapshot().generations().len(), 1);
}

#[tokio::test]
async fn a_plugins_word_is_not_trusted_and_the_operators_counts() {
    let word = ToolOverride { approval: Some(Approval::Unneeded), effect: Some(Effect::AtMostOnce), execution: None };
    let overrides = BTreeMap::from([("echo_json".to_owned(), word), ("missing".to_owned(), ToolOverride::default())]);
    let trusting = Registry::new(overrides);
    trusting.replace(load(request("echo-json")).await).unwrap();
    let snapshot = trusting.snapshot();
    let tool = &snapshot.find_tool("echo_json").unwrap().definition;
    assert_eq!((tool.approval, tool.effect), (Approval::Unneeded, Effect::AtMostOnce));
    assert_eq!(snapshot.unused_overrides(), ["missing"]);

    let wary = Registry::default();
    wary.replace(load(request("echo-json")).await).unwrap();
    let snapshot = wary.snapshot();
    let tool = &snapshot.find_tool("echo_json").unwrap().definition;
    assert_eq!((tool.approval, tool.effect), (Approval::Ask, Effect::Pure), "it claims that it needs no approval");
    let echoed = call(&snapshot.find_tool("echo_json").unwrap().generation, "echo_json", json!([1])).await;
    assert_eq!(json_of(echoed), json!([1]));
}

#[tokio::test]
async fn hooks_run_by_order_and_name() {
    let registry = Registry::default();
    let all = [hooks("b", 10).await, hooks("a", 10).await, hooks("c", -1).await];
    registry.activate(registry.prepare(all, &[]).unwrap()).unwrap();
    let snapshot = registry.snapshot();
    let names: Vec<_> = snapshot.hooks(Hook::ToolGate).iter().map(|generation| generation.name().as_str()).collect();
    assert_eq!(names, ["c", "a", "b"]);
    assert!(snapshot.hooks(Hook::Observer).is_empty());
}
