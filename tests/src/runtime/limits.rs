//! Every limit is hard, has an outcome of its own, and leaves the plugin working.

use std::{num::NonZeroU32, time::Duration};

use mainstay_protocol::failure::{CallFailure, Limit};
use mainstay_runtime::{Access, Allocated, Allocation, Grant, Limits, LoadError};
use serde_json::{Value, json};

use super::support::{
    assert_works, bytes, call, engine_with, failure, limits, load, refused, request, request_for, text, wat,
};

async fn fails_within(limits: Limits, tool: &str, arguments: Value) -> CallFailure {
    let mut request = request("hostile");
    request.limits = limits;
    let generation = load(request).await;
    let failed = failure(call(&generation, tool, arguments).await);
    assert_works(&generation).await;
    failed
}

fn exceeded(limit: Limit, allowed: u64) -> CallFailure {
    CallFailure::LimitExceeded { limit, allowed }
}

fn short() -> Limits {
    limits(|limits| limits.call_ms = bytes(200))
}

#[tokio::test]
async fn a_memory_bomb_names_its_limit() {
    let small = limits(|limits| limits.memory = bytes(8 << 20));
    assert_eq!(fails_within(small, "memory_bomb", json!({})).await, exceeded(Limit::Memory, 8 << 20));
    let default = fails_within(Limits::default(), "memory_bomb", json!({})).await;
    assert_eq!(default, exceeded(Limit::Memory, 64 << 20));
}

#[tokio::test]
async fn memory_that_a_component_begins_with_counts() {
    let component = wat(r#"(component
        (core module $m (memory 1000))
        (core instance (instantiate $m))
        (instance $i) (export "mainstay:plugin/tools@0.1.0" (instance $i)))"#);
    // The interface is checked first, and this one has no functions.
    assert_eq!(refused(request_for(component)).await.code(), "export-type");

    let component = wat(&with_tools("(memory 1000)"));
    let mut request = request_for(component);
    request.limits = limits(|limits| limits.memory = bytes(1 << 20));
    let error = refused(request).await;
    let LoadError::SelfCheck { failure, .. } = &error else { panic!("{error}") };
    assert_eq!(**failure, exceeded(Limit::Memory, 1 << 20));
}

#[tokio::test]
async fn memories_of_one_component_count_together() {
    let two = with_tools("(memory 100) (memory 100)");
    let mut request = request_for(wat(&two));
    request.limits = limits(|limits| limits.memory = bytes(150 << 16));
    let error = refused(request).await;
    let LoadError::SelfCheck { failure, .. } = &error else { panic!("{error}") };
    assert_eq!(**failure, exceeded(Limit::Memory, 150 << 16));
}

#[tokio::test]
async fn a_growing_table_names_its_limit() {
    let component = with_tools(
        "(table 1 funcref) (func $s (loop (drop (table.grow (ref.null func) (i32.const 100))) (br 0))) (start $s)",
    );
    let error = refused(request_for(wat(&component))).await;
    let LoadError::SelfCheck { failure, .. } = &error else { panic!("{error}") };
    assert_eq!(**failure, exceeded(Limit::TableElements, 20_000));
}

/// A component with a core module and functions of the names of `tools`, whose types do not fit.
fn with_tools(body: &str) -> String {
    format!(
        r#"(component
            (core module $m {body} (func (export "f")))
            (core instance $i (instantiate $m))
            (func $f (canon lift (core func $i "f")))
            (instance $t (export "list-tools" (func $f)) (export "call-tool" (func $f)))
            (export "mainstay:plugin/tools@0.1.0" (instance $t)))"#
    )
}

#[tokio::test]
async fn too_many_instances_are_refused_when_loading() {
    let mut request = request("hostile");
    request.limits = limits(|limits| limits.instances = NonZeroU32::MIN);
    let error = refused(request).await;
    assert!(matches!(error.code(), "too-large" | "self-check"), "{error}");
    assert!(error.to_string().contains("limits.instances"), "{error}");
}

#[tokio::test]
async fn a_spinning_guest_is_cut() {
    let failed = fails_within(short(), "spin", json!({})).await;
    assert_eq!(failed, CallFailure::Timeout { allowed_ms: 200 });
}

#[tokio::test]
async fn a_guest_that_awaits_the_host_is_cut() {
    let failed = fails_within(short(), "sleep", json!({"ms": 60_000})).await;
    assert_eq!(failed, CallFailure::Timeout { allowed_ms: 200 });
}

/// On one thread: spinning guests neither keep each other nor a well-behaved one from running.
#[tokio::test(flavor = "current_thread")]
async fn four_spinners_at_once_are_cut_and_others_run_beside_them() {
    let mut request = request("hostile");
    request.limits = limits(|limits| limits.call_ms = bytes(1_000));
    let generation = load(request).await;
    let spinners: Vec<_> = (0..4)
        .map(|_| {
            let generation = generation.clone();
            tokio::spawn(async move { call(&generation, "spin", json!({})).await })
        })
        .collect();
    tokio::task::yield_now().await;
    assert_works(&generation).await;
    assert!(
        spinners.iter().all(|spinner| !spinner.is_finished()),
        "the echo came back while all of them were spinning"
    );
    for spinner in spinners {
        assert_eq!(failure(spinner.await.unwrap()), CallFailure::Timeout { allowed_ms: 1_000 });
    }
    assert_works(&generation).await;
}

#[tokio::test]
async fn output_is_bounded() {
    let small = limits(|limits| limits.output = bytes(50_000));
    let failed = fails_within(small, "output_flood", json!({"bytes": 50_001})).await;
    assert_eq!(failed, exceeded(Limit::Output, 50_000));
    let failed = fails_within(Limits::default(), "output_flood", json!({"bytes": 9 << 20})).await;
    assert_eq!(failed, exceeded(Limit::Hostcall, 8 << 20), "what one call carries is bounded before it is copied");
}

#[tokio::test]
async fn a_log_flood_is_dropped_and_counted() {
    let mut request = request("hostile");
    request.limits = limits(|limits| limits.log = bytes(10_000));
    let generation = load(request).await;
    let called = call(&generation, "log_flood", json!({})).await;
    assert_eq!((called.logs.lines.len(), called.logs.dropped), (10, 99_990));
    assert_eq!(text(called), "logged 100000 lines");
}

#[tokio::test]
async fn of_a_stderr_flood_the_tail_is_kept() {
    let generation = load(request("hostile")).await;
    let called = call(&generation, "stderr_flood", json!({})).await;
    assert!(called.stderr_tail.len() <= 4 << 10, "{}", called.stderr_tail.len());
    assert_eq!(text(called), "wrote 100000 lines");
}

#[tokio::test]
async fn leaked_handles_name_their_limit() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = request("hostile");
    request.grant = Grant::nothing().with_dir(folder.path(), "/effects", Access::ReadOnly).unwrap();
    request.limits = limits(|limits| limits.handles = NonZeroU32::new(100).unwrap());
    let generation = load(request).await;
    let failed = failure(call(&generation, "handle_leak", json!({})).await);
    assert_eq!(failed, exceeded(Limit::Handles, 100));
    assert_works(&generation).await;
}

#[tokio::test]
async fn a_limit_above_the_engines_own_is_refused() {
    let mut request = request("hostile");
    request.limits = limits(|limits| limits.memory = bytes(65 << 20));
    let error = refused(request).await;
    let most = 64 << 20;
    assert!(
        matches!(error, LoadError::LimitTooHigh { limit: Limit::Memory, most: found, .. } if found == most),
        "{error}"
    );
}

#[tokio::test]
async fn a_full_pool_is_busy_and_frees_its_place() {
    let engine = engine_with(|options| {
        options.calls = NonZeroU32::MIN;
        options.place_wait = Duration::from_millis(50);
    });
    let generation = engine.load(request("hostile")).await.unwrap();
    let sleeper = {
        let generation = generation.clone();
        tokio::spawn(async move { call(&generation, "sleep", json!({"ms": 60_000})).await })
    };
    tokio::task::yield_now().await;
    let failed = failure(call(&generation, "echo", json!({"value": 1})).await);
    assert!(matches!(failed, CallFailure::Busy { waited_ms } if waited_ms >= 50), "{failed}");
    sleeper.abort();
    assert!(sleeper.await.unwrap_err().is_cancelled(), "a cancelled call gives its place back");
    assert_works(&generation).await;
}

#[tokio::test]
async fn without_a_pool_everything_works_too() {
    let engine = engine_with(|options| options.allocation = Allocation::OnDemand);
    assert!(matches!(engine.allocated(), Allocated::OnDemand { .. }));
    let mut request = request("hostile");
    let generation = engine.load(request.clone()).await.unwrap();
    assert_works(&generation).await;
    let failed = failure(call(&generation, "memory_bomb", json!({})).await);
    assert_eq!(failed, exceeded(Limit::Memory, 64 << 20));
    request.limits = short();
    let generation = engine.load(request).await.unwrap();
    assert_eq!(failure(call(&generation, "spin", json!({})).await).code(), "timeout");
    assert_works(&generation).await;
}

/// More address space than there is: a smaller pool fits, or none.
#[tokio::test]
async fn a_pool_that_does_not_fit_shrinks() {
    let engine = engine_with(|options| {
        options.calls = NonZeroU32::new(1 << 16).unwrap();
        options.max_memory_per_call = bytes(4 << 30);
    });
    assert!(!matches!(engine.allocated(), Allocated::Pool { shrunk: false, .. }), "{:?}", engine.allocated());
    assert_works(&engine.load(request("hostile")).await.unwrap()).await;
}

#[tokio::test]
async fn a_pool_that_fits_is_taken_whole() {
    let engine = engine_with(|options| {
        options.calls = NonZeroU32::new(2).unwrap();
        options.max_memory_per_call = bytes(16 << 20);
    });
    assert_eq!(engine.allocated(), Allocated::Pool { calls: NonZeroU32::new(2).unwrap(), shrunk: false });
    let mut request = request("hostile");
    request.limits = limits(|limits| limits.memory = bytes(16 << 20));
    assert_works(&engine.load(request).await.unwrap()).await;
}
