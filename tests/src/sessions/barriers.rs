//! The happy path of each barrier, and how many fsync barriers a turn takes: exactly what ARCHITECTURE.md says.

use crate::support::{Session, World, kinds, turn_ended};

const ONE_CALL: &str = r#"
[[rule]]
when = { message = "go" }
output = [{ call = { name = "effect_once", arguments = { note = "a" } } }]
[[rule]]
when = { tool = "effect_once" }
output = [{ text = "done" }]
"#;

async fn barriers_of_a_turn(world: &World) -> (Vec<String>, u64) {
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    let accepted = session.submit("warm up").await;
    host.quiesced(&session.id).await;
    drop(accepted);
    let before = host.journal_metrics().groups;
    let records = session.turn("go").await;
    let groups = host.journal_metrics().groups - before;
    let kinds = kinds(&records).into_iter().map(ToOwned::to_owned).collect();
    // The submit is one barrier of its own.
    (kinds, groups - 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_without_tools_takes_two_barriers() {
    let (kinds, barriers) = barriers_of_a_turn(&World::new("[[rule]]\noutput = [{ text = \"hi\" }]")).await;
    assert_eq!(kinds, ["turn_started", "step_opened", "step_completed", "turn_completed"]);
    assert_eq!(barriers, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_hook_adds_one_barrier() {
    let world = World::new("[[rule]]\noutput = [{ text = \"hi\" }]").hooks("");
    let (kinds, barriers) = barriers_of_a_turn(&world).await;
    assert_eq!(kinds, ["turn_started", "step_opened", "step_completed", "turn_completed"]);
    assert_eq!(barriers, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_calls_takes_four_barriers() {
    let (kinds, barriers) = barriers_of_a_turn(&World::new(ONE_CALL).effects()).await;
    let expected = [
        "turn_started",
        "step_opened",
        "step_completed",
        "calls_decided",
        "run_started",
        "call_ended",
        "step_opened",
        "step_completed",
        "turn_completed",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(barriers, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_further_run_adds_one_barrier() {
    let script = r#"
    [[rule]]
    when = { message = "go" }
    output = [
        { call = { name = "effect_pure", arguments = { note = "a" } } },
        { call = { name = "effect_pure", arguments = { note = "b" } } },
        { call = { name = "effect_once", arguments = { note = "c" } } },
        { call = { name = "effect_once", arguments = { note = "d" } } },
    ]
    [[rule]]
    when = { tool = "effect_once" }
    output = [{ text = "done" }]
    "#;
    let world = World::new(script).effects();
    let (kinds, barriers) = barriers_of_a_turn(&world).await;
    assert_eq!(kinds.iter().filter(|kind| *kind == "run_started").count(), 3);
    assert_eq!(barriers, 4 + 2);
    let notes: Vec<_> = world.log("log.jsonl").iter().map(|line| line["arguments"]["note"].clone()).collect();
    assert_eq!(notes[2..], ["c", "d"], "exclusive calls run alone and in order");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_opens_once_and_its_first_turn_names_the_code_that_serves() {
    let world = World::new("[[rule]]\noutput = [{ text = \"hi\", private = \"secret\" }]");
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    session.turn("one").await;
    session.turn("two").await;
    let records = session.records().await;
    let expected = [
        "session_configured",
        "message_accepted",
        "receipt_recorded",
        "turn_started",
        "step_opened",
        "step_completed",
        "turn_completed",
        "message_accepted",
        "turn_started",
        "step_opened",
        "step_completed",
        "turn_completed",
    ];
    assert_eq!(kinds(&records), expected);
    let ordinals: Vec<_> = records.iter().map(|record| record.ordinal.0).collect();
    assert_eq!(ordinals, (1..=expected.len() as u64).collect::<Vec<_>>());
    let seqs: Vec<_> = records.iter().map(|record| record.seq.is_some()).collect();
    let feed: Vec<_> = records.iter().map(|record| record.body.is_feed()).collect();
    assert_eq!(seqs, feed, "feed events, and only they, have a global position");
    assert!(session.items().await.iter().all(|item| item.private_part.is_none()), "private parts stay inside");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_counts_its_steps_calls_and_usage() {
    let script = r#"
    [[rule]]
    when = { message = "go" }
    output = [
        { call = { name = "effect_once", arguments = { note = "a" } } },
        { call = { name = "effect_once", arguments = { note = "b", fail = true } } },
        { usage = { input_tokens = 10, output_tokens = 5, reasoning_tokens = 2 } },
    ]
    [[rule]]
    when = { tool = "effect_once" }
    output = [{ text = "done" }, { usage = { input_tokens = 20, output_tokens = 1 } }]
    "#;
    let world = World::new(script).effects();
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    let (kind, ended) = turn_ended(&session.turn("go").await);
    assert_eq!(kind, "turn_completed");
    assert_eq!((ended.steps, ended.tool_calls, ended.failed_tool_calls), (2, 2, 1));
    assert_eq!((ended.usage.input_tokens, ended.usage.output_tokens, ended.usage.reasoning_tokens), (30, 6, Some(2)));
    assert_eq!(session.last_message().await, "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_tool_keeps_is_durable_with_its_result() {
    let world = World::new(ONE_CALL).effects();
    {
        let host = world.host().await;
        let session = Session::open(&host, "s").await;
        session.turn("go").await;
        host.shutdown().await;
    }
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    session.turn("go").await;
    let text = |parts: &[mainstay_protocol::content::Part]| mainstay_protocol::content::plain_text(parts);
    let counted: Vec<_> = session.results().await.iter().map(|result| text(&result.content)).collect();
    assert!(counted[0].contains("\"calls\":1"), "{counted:?}");
    assert!(counted[1].contains("\"calls\":2"), "{counted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_gates_let_the_output_commit_first_when_the_operator_sets_a_bound() {
    let slow =
        || World::new(ONE_CALL).effects().hooks_with("limits = { call = \"300 ms\" }", "gate = { do = \"spin\" }");
    let (without, together) = barriers_of_a_turn(&slow()).await;
    let (with, apart) = barriers_of_a_turn(&slow().host_setting("gate_bound = \"20 ms\"")).await;
    assert_eq!(with, without, "the records are the same");
    assert_eq!(apart, together + 1, "B3 is a barrier of its own");
}
