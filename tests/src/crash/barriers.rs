//! A kill before and after the commit of each barrier, and around each effect.

use crate::support::{Session, World, binary, kinds, turn_ended};

const SCRIPT: &str = r#"
[[rule]]
when = { tool = "effect_asked" }
output = [{ text = "done" }]
[[rule]]
when = { tool = "effect_idempotent" }
output = [{ call = { name = "effect_asked", arguments = { note = "asked" } } }]
[[rule]]
when = { message = "go" }
output = [
    { call = { name = "effect_once", arguments = { note = "once" } } },
    { call = { name = "effect_idempotent", arguments = { note = "again" } } },
]
"#;

/// What a kill at a point leaves, once a fresh host has taken the session up and all approvals were given.
struct Left {
    records: Vec<mainstay_protocol::record::StoredRecord>,
    log: Vec<serde_json::Value>,
}

async fn kill_at(point: &str) -> Option<Left> {
    kill_in(World::new(SCRIPT).effects().hooks(""), point).await
}

async fn kill_in(world: World, point: &str) -> Option<Left> {
    let output = binary::run(&world, "s", Some(point), "go");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(binary::was_killed(&output), "the process was to die at {point}: {:?}\n{stderr}", output.status);
    let host = world.host().await;
    let known = host.session(&"s".parse().expect("legal")).await.expect("a read");
    known.as_ref()?;
    let session = Session::open(&host, "s").await;
    host.quiesced(&session.id).await;
    for approval in session.approvals().await {
        session.answer(&approval, mainstay_protocol::op::ApprovalAnswer::Approve).await.expect("accepted");
        host.quiesced(&session.id).await;
    }
    let verdict = session.view().await;
    assert!(verdict.turn.is_none() && verdict.queue.is_empty(), "{point}: {verdict:?}");
    Some(Left { records: session.records().await, log: world.log("log.jsonl") })
}

/// What must hold wherever the process died.
fn check(point: &str, left: &Left) {
    let kinds = kinds(&left.records);
    let count = |kind: &str| kinds.iter().filter(|one| **one == kind).count();
    let ordinals: Vec<_> = left.records.iter().map(|record| record.ordinal.0).collect();
    assert_eq!(ordinals, (1..=ordinals.len() as u64).collect::<Vec<_>>(), "{point}: ordinals_have_no_gap");
    let turns = count("turn_started");
    let ended = kinds.iter().filter(|kind| ["turn_completed", "turn_aborted"].contains(*kind)).count();
    assert_eq!(turns, ended, "{point}: one_terminal_record_a_turn {kinds:?}");
    assert_eq!(count("message_accepted"), turns, "{point}: no_acknowledged_op_is_lost");
    let ran = |tool: &str| left.log.iter().filter(|line| line["tool"] == tool).count();
    assert!(ran("effect_once") <= 1 && ran("effect_asked") <= 1, "{point}: at_most_once_means_once {:?}", left.log);
    let keys: std::collections::BTreeSet<_> = left
        .log
        .iter()
        .filter(|line| line["tool"] == "effect_idempotent")
        .map(|line| line["idempotency_key"].to_string())
        .collect();
    assert!(keys.len() <= 1, "{point}: an idempotent call keeps its key");
    let planned: usize = left
        .records
        .iter()
        .map(|record| match &*record.body {
            mainstay_protocol::record::RecordBody::StepCompleted(step) => step.calls.len(),
            _ => 0,
        })
        .sum();
    assert_eq!(count("call_ended"), planned, "{point}: one_result_a_call");
}

async fn survives(point: &str) -> Left {
    let left = kill_at(point).await.unwrap_or_else(|| panic!("{point}: the session is there"));
    check(point, &left);
    left
}

#[tokio::test(flavor = "multi_thread")]
async fn b0_nothing_was_promised_before_the_session_is_durable() {
    assert!(kill_at("B0.before").await.is_none());
    let left = survives("B0.after").await;
    assert_eq!(kinds(&left.records)[0], "session_configured");
}

#[tokio::test(flavor = "multi_thread")]
async fn b1_a_message_is_there_once_it_is_acknowledged() {
    let left = survives("B1.before").await;
    assert!(!kinds(&left.records).contains(&"message_accepted"));
    let left = survives("B1.after").await;
    assert_eq!(turn_ended(&left.records).0, "turn_completed");
    assert_eq!(left.log.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn b2_a_message_runs_after_a_kill_around_the_start_of_its_turn() {
    let left = survives("B2.before").await;
    assert_eq!(turn_ended(&left.records).0, "turn_completed");
    for point in ["B2.after", "model.started"] {
        let left = survives(point).await;
        let (kind, ended) = turn_ended(&left.records);
        assert_eq!(
            (kind.as_str(), ended.tool_calls),
            ("turn_aborted", 0),
            "{point}: an open step is closed as interrupted"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_step_is_opened_again_when_the_operator_says_so() {
    let world = World::new(SCRIPT).effects().hooks("").host_setting("recovery = { open_step = \"retry\" }");
    let left = kill_in(world, "model.started").await.expect("the session is there");
    check("model.started", &left);
    let (kind, ended) = turn_ended(&left.records);
    assert_eq!((kind.as_str(), ended.tool_calls), ("turn_completed", 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn b3_b4_a_planned_call_is_not_started_twice() {
    let left = survives("B3.before").await;
    assert_eq!(turn_ended(&left.records).0, "turn_aborted");
    assert!(left.log.is_empty());
    for point in ["B4.after", "call.started"] {
        let left = survives(point).await;
        assert_eq!(
            turn_ended(&left.records).0,
            "turn_aborted",
            "{point}: an intended call that must not run twice is lost"
        );
        assert!(left.log.is_empty(), "{point}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b5_a_call_that_ran_is_not_run_again() {
    for point in ["call.finished", "B5.before"] {
        let left = survives(point).await;
        assert_eq!(turn_ended(&left.records).0, "turn_aborted", "{point}");
        assert_eq!(left.log.len(), 1, "{point}");
    }
    // The first result and the intent of the second call are one barrier: the idempotent call starts again.
    let left = survives("B5.after").await;
    assert_eq!(turn_ended(&left.records).0, "turn_completed");
    assert!(kinds(&left.records).contains(&"run_interrupted"));
    let left = survives("call.finished:2").await;
    let attempts: Vec<_> = left.log.iter().filter(|line| line["tool"] == "effect_idempotent").collect();
    assert_eq!(attempts.len(), 2, "an idempotent call runs again");
    assert_eq!(attempts[0]["idempotency_key"], attempts[1]["idempotency_key"]);
    assert_eq!((&attempts[0]["attempt"], &attempts[1]["attempt"]), (&1.into(), &2.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_is_asked_again_with_its_id_and_its_call_runs_once() {
    let left = survives("approval.pending").await;
    let kinds = kinds(&left.records);
    assert_eq!(kinds.iter().filter(|kind| **kind == "approval_requested").count(), 1);
    assert_eq!(kinds.iter().filter(|kind| **kind == "approval_resolved").count(), 1);
    assert_eq!(turn_ended(&left.records).0, "turn_completed");
    assert_eq!(left.log.iter().filter(|line| line["tool"] == "effect_asked").count(), 1);
    // Answered and not yet run: it runs.
    let left = survives("B1.after:2").await;
    assert_eq!(turn_ended(&left.records).0, "turn_completed");
    assert_eq!(left.log.iter().filter(|line| line["tool"] == "effect_asked").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn b6_b7_a_turn_whose_model_is_done_completes_and_is_not_aborted() {
    // Three steps: the third B3 is the one after which stop hooks are asked.
    for point in ["B3.after:3", "B7.before", "B7.after"] {
        let left = survives(point).await;
        let (kind, ended) = turn_ended(&left.records);
        assert_eq!((kind.as_str(), ended.tool_calls), ("turn_completed", 3), "{point}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b6_a_forced_step_is_granted_once_also_across_a_kill() {
    let world = || World::new(SCRIPT).effects().hooks("stop = { do = \"go_on\", text = \"sure?\" }");
    for (point, aborted) in [("B6.before", false), ("B6.after", true)] {
        let left = kill_in(world(), point).await.expect("the session is there");
        check(point, &left);
        let kinds = kinds(&left.records);
        assert_eq!(kinds.iter().filter(|kind| **kind == "turn_continued").count(), 1, "{point}");
        // The step that was forced is opened in the barrier that forces it: after that, a kill finds it open.
        let expected = if aborted { "turn_aborted" } else { "turn_completed" };
        assert_eq!(turn_ended(&left.records).0, expected, "{point}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journals_own_points_lose_nothing_that_was_acknowledged() {
    for point in ["journal.before-commit:4", "journal.after-commit:4", "journal.before-reply:4"] {
        survives(point).await;
    }
}
