//! Stop hooks: one more step is granted once a turn, and a failing hook lets the turn end.

use crate::support::{Session, World, kinds, turn_ended};

const SCRIPT: &str = r#"
[[rule]]
when = { step = 0 }
output = [{ text = "finished" }]
[[rule]]
output = [{ text = "finished again" }]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_hook_gets_one_more_step_and_no_second_one() {
    let world = World::new(SCRIPT).hooks("stop = { do = \"go_on\", text = \"are you sure?\" }");
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    let records = session.turn("go").await;
    let expected = [
        "turn_started",
        "step_opened",
        "step_completed",
        "turn_continued",
        "step_opened",
        "step_completed",
        "turn_completed",
    ];
    let kinds: Vec<_> = kinds(&records).into_iter().filter(|kind| *kind != "receipt_recorded").collect();
    assert_eq!(kinds, expected);
    let asked: Vec<_> = world
        .log("hooks.jsonl")
        .iter()
        .filter(|line| line["hook"] == "stop")
        .map(|line| (line["arguments"]["last_message"].clone(), line["arguments"]["stop_hook_active"].clone()))
        .collect();
    assert_eq!(asked, [("finished".into(), false.into()), ("finished again".into(), true.into())]);
    assert_eq!(turn_ended(&records).1.steps, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_stop_hook_lets_the_turn_complete_with_a_fault() {
    let world = World::new(SCRIPT).hooks("stop = { do = \"trap\" }");
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    let records = session.turn("go").await;
    let tail = &kinds(&records)[records.len() - 2..];
    assert_eq!(tail, ["session_fault", "turn_completed"]);
}
