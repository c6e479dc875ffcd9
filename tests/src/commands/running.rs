//! One-shot runs: text on standard output, everything else on standard error, approvals that wait for somebody who can answer.

use std::{io::Write as _, process::Stdio};

use super::{lines, mainstay, stderr, stdout};
use crate::support::{World, binary};

const ASKED: &str = r#"
[[rule]]
when = { tool = "effect_asked" }
output = [{ text = "it returned" }]
[[rule]]
when = { message = "go" }
output = [{ call = { name = "effect_asked", arguments = { note = "a\u001b[31mb" } } }]
[[rule]]
output = [{ text = "just text" }]
"#;

fn world() -> World {
    World::new(ASKED).effects()
}

#[test]
fn text_goes_to_standard_output_and_the_rest_to_standard_error() {
    let world = world();
    let output = mainstay(&world, &["run", "--session", "s", "hello"]);
    assert_eq!((output.status.code(), stdout(&output).trim()), (Some(0), "just text"));
    let said = stderr(&output);
    assert!(said.contains("new session s") && !said.contains('\u{1b}'), "{said}");
    let again = mainstay(&world, &["run", "--session", "s", "hello"]);
    assert!(stderr(&again).contains("session s") && !stderr(&again).contains("new session"), "{}", stderr(&again));
}

#[test]
fn a_prompt_can_come_from_standard_input() {
    let world = world();
    let mut command = binary::command(&world);
    let mut child = command.args(["run"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    child.stdin.take().expect("a pipe").write_all(b"hello").expect("written");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), stdout(&output).trim()), (Some(0), "just text"));
}

#[test]
fn an_approval_that_nobody_can_answer_stays_pending_and_is_answered_later() {
    let world = world();
    let output = mainstay(&world, &["run", "--session", "s", "go"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("effect_asked") && said.contains("--approve"), "{said}");
    assert!(!said.contains('\u{1b}'), "control characters of arguments are escaped: {said:?}");
    let shown = mainstay(&world, &["session", "show", "s", "--json"]);
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    assert_eq!((&shown["phase"], shown["approvals"].as_array().map(Vec::len)), (&"waiting".into(), Some(1)));
    assert!(world.log("log.jsonl").is_empty());
    let output = mainstay(&world, &["run", "--session", "s", "--approve", "all"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("it returned"));
    let events = lines(&stdout(&mainstay(&world, &["session", "events", "s", "--json"])));
    let approvals: Vec<_> = events
        .iter()
        .filter(|event| event["kind"].as_str().is_some_and(|kind| kind.starts_with("approval_")))
        .map(|event| event["body"]["approval"].clone())
        .collect();
    assert_eq!(approvals, [shown["approvals"][0]["approval"].clone(), shown["approvals"][0]["approval"].clone()]);
    assert_eq!(world.log("log.jsonl").len(), 1);
}

#[test]
fn a_policy_of_none_denies_and_the_turn_goes_on() {
    let world = world();
    let output = mainstay(&world, &["run", "--session", "s", "--approve", "none", "go"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(world.log("log.jsonl").is_empty());
}

#[test]
fn json_is_one_object_a_line_and_nothing_else() {
    let world = world();
    let output = mainstay(&world, &["run", "--session", "s", "--json", "--approve", "all", "go"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let events = lines(&stdout(&output));
    let kinds: Vec<_> = events.iter().filter_map(|event| event["kind"].as_str()).collect();
    assert!(kinds.contains(&"approval_requested") && kinds.last() == Some(&"turn_completed"), "{kinds:?}");
}

#[test]
fn a_failed_turn_is_exit_code_one_and_says_why() {
    let world = World::new(
        "[[rule]]\noutput = [{ error = { kind = \"unavailable\", code = \"overloaded\", message = \"later\" } }]",
    );
    let output = mainstay(&world, &["run", "hello"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("overloaded") && stderr(&output).contains("later"), "{}", stderr(&output));
}
