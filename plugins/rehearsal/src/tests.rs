//! The script language, seen through the exports: what is said, in which pieces, and what a bad script is told.

use crate::{MODEL, Playing, Rehearsal};
use mainstay_sdk::prelude::*;
use mainstay_sdk::testing::{Host, items};
use serde_json::json;

fn request(script: Option<&str>) -> ModelRequest {
    ModelRequest {
        model: MODEL.to_owned(),
        settings: script.map_or_else(|| json!({}), |script| json!({ "script": script })).to_string(),
        system: vec![],
        tools: vec![],
        tool_choice: ToolChoice::Auto,
        output_schema: None,
        max_output_tokens: None,
        extras: None,
    }
}

fn user(text: &str) -> ItemBody {
    ItemBody::Message(Message::user(text))
}

fn call(id: &str, name: &str) -> ItemBody {
    ItemBody::ToolCall(ToolCall { call_id: id.into(), name: name.into(), arguments: "{}".into() })
}

fn result(id: &str, name: &str, text: &str, is_error: bool) -> ItemBody {
    let content = vec![Part::text(text)];
    ItemBody::ToolResult(CallResult { call_id: id.into(), name: name.into(), content, is_error, extras: None })
}

fn start(script: Option<&str>, history: Vec<Item>, step: u32) -> Result<Playing, Error> {
    let _host = Host::new().session("s").step(step).transcript(history).enter();
    Rehearsal::start(request(script))
}

/// All lists of deltas that a completion gives.
fn frames(mut playing: Playing) -> Vec<Vec<Delta>> {
    let mut frames = Vec::new();
    loop {
        let deltas = playing.next().unwrap();
        let ended = matches!(deltas.last(), Some(Delta::Finish(_)));
        frames.push(deltas);
        if ended {
            return frames;
        }
    }
}

fn play(script: &str, bodies: Vec<ItemBody>) -> Vec<Delta> {
    frames(start(Some(script), items(bodies), 0).unwrap()).concat()
}

fn text(deltas: &[Delta]) -> String {
    deltas.iter().filter_map(|delta| if let Delta::Text(text) = delta { Some(text.as_str()) } else { None }).collect()
}

fn calls(deltas: &[Delta]) -> Vec<(String, String, String)> {
    let mut calls = Vec::new();
    for delta in deltas {
        match delta {
            Delta::ToolCallBegin(begin) => calls.push((begin.call_id.clone(), begin.name.clone(), String::new())),
            Delta::ToolCallArguments(piece) => calls.last_mut().unwrap().2.push_str(piece),
            _ => {}
        }
    }
    calls
}

fn finish(deltas: &[Delta]) -> FinishReason {
    match deltas.last() {
        Some(Delta::Finish(finish)) => finish.reason,
        other => panic!("no finish but {other:?}"),
    }
}

const READER: &str = r#"
[[rule]]
when = { message = '^read (?<file>\S+)$' }
output = [
    { text = "Reading {file} for “{message}”." },
    { call = { name = "read_file", arguments = { path = "{file}", list = ["{1}", 1, true], nested = { x = "{{1}}" } } } },
    { call = { name = "stat", arguments = '{"path": "{1}"}', id = "mine-{step}" } },
]

[[rule]]
when = { tool = "read_file", is_error = true }
output = [{ text = "It failed: {result}" }]

[[rule]]
when = { tool = "read_file", message = 'read', result = '(\d+) lines' }
output = [{ text = "{1} lines in {message}" }]

[[rule]]
when = { step = 3 }
output = [{ text = "step {step}" }]

[[rule]]
when = { result = 'x' }
output = [{ text = "some x" }]
"#;

#[test]
fn a_message_is_matched_and_its_groups_are_used() {
    let deltas = play(READER, vec![user("read a.txt")]);
    assert_eq!(text(&deltas), "Reading a.txt for “read a.txt”.");
    let expected = [
        ("call-1", "read_file", r#"{"list":["a.txt",1,true],"nested":{"x":"{1}"},"path":"a.txt"}"#),
        ("mine-0", "stat", r#"{"path": "a.txt"}"#),
    ];
    assert_eq!(calls(&deltas), expected.map(|(id, name, arguments)| (id.into(), name.into(), arguments.into())));
    assert_eq!(finish(&deltas), FinishReason::ToolCalls);
}

#[test]
fn a_result_is_matched_by_tool_text_and_failure() {
    let history = |text: &str, is_error| {
        vec![user("read a"), call("call-1", "read_file"), result("call-1", "read_file", text, is_error)]
    };
    assert_eq!(text(&play(READER, history("no such file", true))), "It failed: no such file");
    assert_eq!(text(&play(READER, history("12 lines", false))), "12 lines in read a");
    assert_eq!(text(&play(READER, history("xyz", false))), "some x");
    let nothing = play(READER, history("?", false));
    assert!(text(&nothing).contains("the result of `read_file`, “?”"), "{}", text(&nothing));
    assert_eq!(finish(&nothing), FinishReason::Complete);
}

#[test]
fn a_message_rule_waits_for_the_message_to_be_last() {
    let told = play(READER, vec![user("read a"), ItemBody::Message(Message::new(Role::Assistant, "done"))]);
    assert!(text(&told).starts_with("None of the 5 rules"), "{}", text(&told));
    let annotated = play(READER, vec![user("read a"), ItemBody::Message(Message::system("be brief"))]);
    assert!(text(&annotated).starts_with("Reading a"));
    let notice = Notice { code: "n".into(), text: "n".into() };
    assert!(text(&play(READER, vec![user("read a"), ItemBody::Notice(notice)])).starts_with("Reading a"));
}

#[test]
fn the_step_is_a_condition() {
    let playing = start(Some(READER), items(vec![user("else")]), 3).unwrap();
    assert_eq!(text(&frames(playing).concat()), "step 3");
}

#[test]
fn call_ids_are_new_in_the_history() {
    let history = vec![
        user("a"),
        call("call-7", "x"),
        result("call-7", "x", "", false),
        call("other", "y"),
        result("other", "y", "", false),
        user("read b"),
    ];
    assert_eq!(calls(&play(READER, history))[0].0, "call-8");
}

#[test]
fn the_same_history_gets_the_same_answer() {
    let history = || vec![user("read a.txt")];
    assert_eq!(play(READER, history()), play(READER, history()));
}

#[test]
fn text_comes_in_chunks_of_characters() {
    let script = r#"
        chunk = 2
        [[rule]]
        output = [{ reasoning = "aüc", private = "p" }, { text = "whole", chunk = 100 }, { private_base64 = "AP8=" }]
    "#;
    let frames = frames(start(Some(script), items(vec![user("x")]), 0).unwrap());
    assert_eq!(frames[0], [Delta::Reasoning("aü".into())]);
    assert_eq!(frames[1], [Delta::Reasoning("c".into()), Delta::PrivatePart(b"p".to_vec()), Delta::ItemEnd]);
    assert_eq!(frames[2], [Delta::Text("whole".into()), Delta::ItemEnd]);
    assert_eq!(frames[3], [Delta::Reasoning(String::new()), Delta::PrivatePart(vec![0, 255]), Delta::ItemEnd]);
    assert_eq!(frames.len(), 5);
}

#[test]
fn a_delay_comes_before_each_piece() {
    let script = "delay_ms = 20\nchunk = 1\n[[rule]]\noutput = [{ text = \"abc\" }]";
    let begun = std::time::Instant::now();
    frames(start(Some(script), items(vec![user("x")]), 0).unwrap());
    assert!(begun.elapsed().as_millis() >= 60);
}

#[test]
fn usage_is_given_or_estimated() {
    let usage = |script: &str| {
        let deltas = play(script, vec![user("12345678")]);
        deltas.into_iter().find_map(|delta| if let Delta::Usage(usage) = delta { Some(usage) } else { None }).unwrap()
    };
    assert_eq!(usage("[[rule]]\noutput = [{ text = \"abcde\" }]"), Usage::new(2, 2));
    let given = usage("[[rule]]\noutput = [{ usage = { input_tokens = 5, output_tokens = 6, reasoning_tokens = 1 } }]");
    assert_eq!(
        (given.input_tokens, given.output_tokens, given.reasoning_tokens, given.cache_read_tokens),
        (5, 6, Some(1), None)
    );
}

#[test]
fn a_finish_is_given_or_follows_from_the_calls() {
    assert_eq!(
        finish(&play("[[rule]]\noutput = [{ text = \"a\" }, { finish = \"length\" }]", vec![])),
        FinishReason::Length
    );
    assert_eq!(finish(&play("[[rule]]\noutput = [{ text = \"a\" }]", vec![])), FinishReason::Complete);
}

#[test]
fn errors_come_at_the_start_or_after_output() {
    let error =
        r#"{ error = { kind = "unavailable", code = "overloaded", message = "try later", retry_after_ms = 9 } }"#;
    let first = start(Some(&format!("[[rule]]\noutput = [{error}]")), items(vec![]), 0).unwrap_err();
    assert_eq!(
        (first.kind, first.code.as_str(), first.message.as_str(), first.retry_after_ms),
        (ErrorKind::Unavailable, "overloaded", "try later", Some(9))
    );
    let mut playing =
        start(Some(&format!("[[rule]]\noutput = [{{ text = \"a\" }}, {error}]")), items(vec![]), 0).unwrap();
    assert!(playing.next().is_ok());
    assert_eq!(playing.next().unwrap_err(), first);
}

#[test]
fn a_private_part_that_came_back_is_seen() {
    let script = "[[rule]]\nwhen = { private_seen = \"secret\" }\noutput = [{ text = \"seen\" }]\n[[rule]]\noutput = [{ text = \"not seen\" }]";
    let with = |private: Option<&[u8]>| {
        let mut history = items(vec![ItemBody::Reasoning(String::new()), user("x")]);
        history[0].private_part = private.map(<[u8]>::to_vec);
        text(&frames(start(Some(script), history, 0).unwrap()).concat())
    };
    assert_eq!(with(Some(b"secret")), "seen");
    assert_eq!(with(Some(b"secret ")), "not seen");
    assert_eq!(with(None), "not seen");
}

#[test]
fn a_bad_script_names_rule_and_field() {
    for (script, words) in [
        ("[[rule]]\noutput = [{ text = \"a\" }]\n[[rule]]\noutput = [{ txet = \"a\" }]", "rule 2, output 1"),
        ("[[rule]]\noutput = [{ call = { nam = \"x\" } }]", "rule 1, output 1, `call"),
        ("[[rule]]\noutput = [{ call = { name = 3 } }]", "rule 1, output 1, `call.name`"),
        (
            "[[rule]]\nwhen = { message = \"(\" }\noutput = [{ text = \"a\" }]",
            "rule 1, `when.message`: not a regular expression",
        ),
        ("[[rule]]\nwhen = { mesage = \"a\" }\noutput = [{ text = \"a\" }]", "mesage"),
        ("[[rule]]\noutput = []", "rule 1, `output`: it is empty"),
        (
            "[[rule]]\noutput = [{ text = \"a\" }, { text = \"b\", reasoning = \"c\" }]",
            "rule 1, output 2: it needs exactly one of",
        ),
        ("[[rule]]\noutput = [{ finish = \"complete\" }, { text = \"b\" }]", "rule 1, output 2: nothing can follow"),
        ("[[rule]]\noutput = [{ text = \"{1}\" }]", "rule 1, output 1: `text`: nothing is called `{1}`"),
        (
            "[[rule]]\noutput = [{ call = { name = \"x\", arguments = { a = [\"{y}\"] } } }]",
            "`call.arguments`: nothing is called `{y}`",
        ),
        ("[[rule]]\noutput = [{ call = { name = \"x\", arguments = 3 } }]", "`call.arguments`: it must be a table"),
        ("[[rule]]\noutput = [{ error = { kind = \"odd\" } }]", "`error.kind"),
        ("[[rule]]\noutput = [{ text = \"a\", private_base64 = \"?\" }]", "`private_base64`"),
        ("[[rule]]\noutput = [{ finish = \"length\", private = \"a\" }]", "`private`"),
        ("chunk = 0", "`chunk`"),
        ("[[rule", "line 1"),
    ] {
        let error = start(Some(script), items(vec![]), 0).unwrap_err();
        assert_eq!((error.kind, error.code.as_str()), (ErrorKind::InvalidArgument, "bad-script"), "{script}");
        assert!(error.message.contains(words), "{script}\n{}", error.message);
    }
}

#[test]
fn the_route_comes_before_the_configuration() {
    let say = |text: &str| format!("[[rule]]\noutput = [{{ text = \"{text}\" }}]");
    let config = json!({ "script": say("configured"), "chunk": 100 }).to_string();
    let run = |script: Option<&str>| {
        let _host = Host::new().config(config.clone()).session("s").transcript(vec![]).enter();
        text(&frames(Rehearsal::start(request(script)).unwrap()).concat())
    };
    assert_eq!(run(None), "configured");
    assert_eq!(run(Some(&say("routed"))), "routed");
}

#[test]
fn a_script_can_come_from_a_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "[[rule]]\noutput = [{ text = \"from a file\" }]").unwrap();
    let mut asked = request(None);
    asked.settings = json!({ "script_file": file.path() }).to_string();
    let host = Host::new().session("s").transcript(vec![]).enter();
    assert_eq!(text(&frames(Rehearsal::start(asked.clone()).unwrap()).concat()), "from a file");
    asked.settings = json!({ "script_file": "/nowhere/x.toml" }).to_string();
    assert!(Rehearsal::start(asked.clone()).unwrap_err().message.contains("granted"));
    asked.settings = json!({ "script_file": "/x", "script": "" }).to_string();
    assert_eq!(Rehearsal::start(asked.clone()).unwrap_err().code, "bad-settings");
    asked.settings = json!({ "effort": "low", "script": "[[rule]]\noutput = [{ text = \"a\" }]" }).to_string();
    assert!(Rehearsal::start(asked).is_ok());
    assert!(host.logs()[0].contains("`effort`"));
}

#[test]
fn the_built_in_script_greets_helps_and_echoes() {
    let run = |bodies| {
        let _host = Host::new().config(r#"{"delay_ms": 0}"#).session("s").transcript(items(bodies)).enter();
        let mut playing = Rehearsal::start(request(None)).unwrap();
        let mut deltas = Vec::new();
        while !matches!(deltas.last(), Some(Delta::Finish(_))) {
            deltas.extend(playing.next().unwrap());
        }
        text(&deltas)
    };
    assert!(run(vec![user("Hello there")]).starts_with("Hello! I am `rehearsal`"));
    let help = run(vec![user("how do I go on?")]);
    assert!(help.contains("[route.default]") && help.contains("{result}"), "{help}");
    assert_eq!(run(vec![user("a\nb")]), "You said: a\nb");
    assert_eq!(run(vec![user("x"), call("c", "t"), result("c", "t", "r", false)]), "The tool said: r");
}

#[test]
fn only_its_own_model_is_served() {
    let _host = Host::new().session("s").transcript(vec![]).enter();
    assert_eq!(Rehearsal::list_models().unwrap()[0].id, MODEL);
    let asked = ModelRequest { model: "other".into(), ..request(None) };
    assert_eq!(Rehearsal::start(asked).unwrap_err().code, "unknown-model");
}

#[test]
fn the_self_check_reads_the_configured_script() {
    let check = |script: &str| {
        let _host = Host::new().config(json!({ "script": script }).to_string()).enter();
        Rehearsal::check_self()
    };
    assert_eq!(check("[[rule]]\noutput = [{ text = \"a\" }]"), Ok(vec![]));
    assert_eq!(check("[[rule]]\noutput = [{ text = \"a\" }]\n[[rule]]\noutput = [{ text = \"b\" }]").unwrap().len(), 1);
    assert_eq!(check("nonsense").unwrap_err().code, "bad-script");
    let _host = Host::new().enter();
    assert_eq!(Rehearsal::check_self(), Ok(vec![]));
}
