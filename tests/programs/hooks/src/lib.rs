//! Middleware on `input`, `tool-gate` and `stop` that does what its configuration says, and writes a line about each call
//! to `log_file` first. Each hook has `{ do, text, path, only }`: `only` limits it to messages, tools or last messages
//! that contain that text.

mod settings;

use mainstay_sdk::prelude::*;
use mainstay_sdk::text_of;
use serde_json::{Value, json};

use settings::{Action, Settings};

/// The plugin.
#[derive(Debug)]
pub struct Hooks;

impl Input for Hooks {
    fn check_input(content: Vec<Part>, delivery: Delivery) -> Result<InputDecision, Interruption> {
        let settings = Settings::load()?;
        let text = text_of(&content);
        let delivery = if delivery == Delivery::Steer { "steer" } else { "queue" };
        settings.log("input", &json!({ "text": text, "delivery": delivery }))?;
        let Some(act) = settings.input.applies_to(&text) else { return Ok(InputDecision::unchanged()) };
        match act.what.as_str() {
            "accept" => Ok(InputDecision::unchanged()),
            "rewrite" => Ok(InputDecision::Accept(vec![InputChange::Rewrite(vec![Part::text(act.text())])])),
            "annotate" => Ok(InputDecision::Accept(vec![InputChange::Annotate(Message::system(act.text()))])),
            "reject" => Ok(InputDecision::reject_because("hooks-reject", act.text())),
            _ => act.otherwise().map(|()| InputDecision::unchanged()),
        }
    }
}

impl ToolGate for Hooks {
    fn gate_call(call: ToolCall) -> Result<Verdict, Interruption> {
        let settings = Settings::load()?;
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
        settings.log("gate", &json!({ "tool": call.name, "call_id": call.call_id, "arguments": arguments }))?;
        let Some(act) = settings.gate.applies_to(&call.name) else { return Ok(Verdict::Allow) };
        match act.what.as_str() {
            "allow" => Ok(Verdict::Allow),
            "ask" => Ok(Verdict::ask_because("hooks-ask", act.text())),
            "deny" => Ok(Verdict::deny_because("hooks-deny", act.text())),
            _ => act.otherwise().map(|()| Verdict::Allow),
        }
    }
}

impl Stop for Hooks {
    fn check_stop(turn: EndingTurn) -> Result<StopDecision, Interruption> {
        let settings = Settings::load()?;
        let said = json!({ "last_message": turn.last_message, "stop_hook_active": turn.stop_hook_active });
        settings.log("stop", &said)?;
        let last = turn.last_message.unwrap_or_default();
        let Some(act) = settings.stop.applies_to(&last) else { return Ok(StopDecision::Finish) };
        match act.what.as_str() {
            "finish" => Ok(StopDecision::Finish),
            "go_on" => Ok(StopDecision::one_more_step(act.text())),
            _ => act.otherwise().map(|()| StopDecision::Finish),
        }
    }
}

impl SelfCheck for Hooks {
    fn check_self() -> Result<Vec<String>, Error> {
        let settings = Settings::load()?;
        let act: Action = settings.self_check;
        match act.what.as_str() {
            "" | "ok" => Ok(Vec::new()),
            "warn" => Ok(vec![act.text()]),
            _ => match act.otherwise() {
                Ok(()) => Ok(Vec::new()),
                Err(Interruption::Failed(error)) => Err(error),
                Err(_) => Err(Error::unsupported("a self-check can't wait")),
            },
        }
    }
}

mainstay_sdk::export!(Hooks: input, tool_gate, stop, self_check);
