//! The typed tools, as a plugin author sees them: definitions, good calls, and errors that name the field.

use mainstay_sdk::prelude::*;
use mainstay_sdk::testing::{self, Host};
use mainstay_sdk::{serde_json, text_of};

/// Where to go.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Move {
    /// Steps to take.
    steps: u32,
    /// What to say on the way.
    #[allow(dead_code, reason = "only its parsing is tested")]
    words: Option<Vec<String>>,
}

struct Robot;

impl Tools for Robot {
    fn toolbox() -> Toolbox {
        let walk = |go: Move| Ok(format!("{} steps", go.steps));
        let fail = |_: NoArguments| -> Outcome { Err(Error::unavailable("no power").with_retry_after(5).into()) };
        let name = |_: NoArguments| {
            let form = Form::new("Who are you?").text("name", "Your name");
            let answer: serde_json::Value = ask("who", form)?.given()?;
            Ok(Json(answer))
        };
        Toolbox::new()
            .with(Tool::new("walk", "Walks.", walk).pure().parallel().unattended())
            .with(Tool::new("fail", "Fails.", fail))
            .with(Tool::new("name", "Asks for a name.", name).idempotent().ask_each_time())
    }
}

mainstay_sdk::export!(Robot: tools);

fn fails(name: &str, arguments: &str) -> Error {
    match Robot::call_tool(testing::call(name, arguments)) {
        Err(Interruption::Failed(error)) => error,
        other => panic!("expected a failure, got {other:?}"),
    }
}

#[test]
fn definitions_carry_schema_and_claims() {
    let tools = Robot::list_tools().unwrap();
    assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["walk", "fail", "name"]);
    let schema: serde_json::Value = serde_json::from_str(&tools[0].input_schema).unwrap();
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["required"], serde_json::json!(["steps"]));
    assert_eq!(schema["properties"]["steps"]["description"], "Steps to take.");
    assert_eq!(
        (tools[0].effect, tools[0].execution, tools[0].approval),
        (Effect::Pure, Execution::Parallel, Approval::Unneeded)
    );
    assert_eq!(
        (tools[1].effect, tools[1].execution, tools[1].approval),
        (Effect::AtMostOnce, Execution::Exclusive, Approval::Ask)
    );
    assert_eq!((tools[2].effect, tools[2].approval), (Effect::Idempotent, Approval::AskEachTime));
}

#[test]
fn arguments_reach_the_handler() {
    let output = Robot::call_tool(testing::call("walk", r#"{"steps": 3}"#)).unwrap();
    assert_eq!(text_of(&output.content), "3 steps");
    assert!(!output.is_error);
}

#[test]
fn an_argument_error_names_the_field() {
    for (arguments, words) in [
        (r#"{"steps": "three"}"#, "`steps`: invalid type: string \"three\""),
        (r#"{"steps": 1, "words": ["a", 2]}"#, "`words[1]`: invalid type"),
        ("{}", "missing field `steps`"),
        ("", "missing field `steps`"),
        (r#"{"steps": 1, "stpes": 2}"#, "unknown field `stpes`"),
        (r#"{"steps": 1} x"#, "trailing characters"),
    ] {
        let error = fails("walk", arguments);
        assert_eq!((error.kind, error.code.as_str()), (ErrorKind::InvalidArgument, "bad-arguments"), "{arguments}");
        assert!(error.message.contains(words), "{arguments}: {}", error.message);
        assert!(error.message.contains("`walk`"), "{}", error.message);
    }
}

#[test]
fn a_handler_error_keeps_its_kind() {
    let error = fails("fail", "{}");
    assert_eq!((error.kind, error.retry_after_ms), (ErrorKind::Unavailable, Some(5)));
}

#[test]
fn an_unknown_tool_has_a_code_of_its_own() {
    assert_eq!(fails("run", "{}").code, "unknown-tool");
}

#[test]
fn a_question_ends_the_call_and_its_answer_goes_on() {
    let host = Host::new().session("s").enter();
    let Err(Interruption::NeedInput(question)) = Robot::call_tool(testing::call("name", "{}")) else {
        panic!("it asks")
    };
    assert_eq!(question.token, b"who");
    assert!(question.form.schema.contains(r#""required":["name"]"#), "{}", question.form.schema);
    drop(host);

    let host = Host::new().session("s").resumed("who", Cause::Answered(r#"{"name":"Ada"}"#.into())).enter();
    let output = Robot::call_tool(testing::call("name", "{}")).unwrap();
    assert_eq!(output.content, [Part::Json(r#"{"name":"Ada"}"#.into())]);
    drop(host);

    let _host = Host::new().session("s").resumed("who", Cause::Declined).enter();
    let error = fails("name", "{}");
    assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Cancelled, "declined"));
}
