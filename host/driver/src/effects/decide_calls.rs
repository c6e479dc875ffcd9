//! B4: policy and gates decide over planned calls. Deny beats ask beats allow; a gate narrows the operator's policy and
//! never widens it.

use futures::{StreamExt as _, stream};
use mainstay_protocol::{
    CallIndex, Digest, StepIndex, TurnId,
    content::{ItemBody, ToolCall},
    record::v1::Reason,
    tool::Approval,
};
use mainstay_runtime::{Hook, Verdict};
use mainstay_session::{Command, RuledCall, Ruling, ToolFacts};

use super::{
    CallPlace, Context, Outcome, Work,
    hooks::{Asked, Failed, Said, build, reason},
    report::report,
};
use crate::clock;

/// Asks policy and all gates about these calls.
pub(crate) fn decide_calls(context: Context, turn: TurnId, step: StepIndex, calls: Vec<CallIndex>) -> Work {
    stream::once(ask(context, turn, step, calls)).boxed()
}

async fn ask(mut context: Context, turn: TurnId, step: StepIndex, calls: Vec<CallIndex>) -> Outcome {
    let mut said = Said::default();
    let mut ruled = Vec::with_capacity(calls.len());
    for index in calls {
        let ruling = rule(&mut context, &mut said, &turn, step, index).await;
        ruled.push(RuledCall { index, ruling });
    }
    let mut commands: Vec<_> = said.faults.into_iter().map(|fault| Command::Fault { fault }).collect();
    commands.push(Command::DecideCalls { turn, step, calls: ruled, hooks: said.notes });
    Outcome::Decided(commands, context.staged)
}

async fn rule(context: &mut Context, said: &mut Said, turn: &TurnId, step: StepIndex, index: CallIndex) -> Ruling {
    let Some(call) = planned_call(context, index) else {
        return Ruling::Deny(Reason::new("call-unreadable", "the call's item is missing"));
    };
    let Some((tool, need)) = facts(context, &call) else {
        let message = format!("there is no tool `{}`; the tools are: {}", call.name, tool_names(context));
        return Ruling::Deny(Reason::new("unknown-tool", message));
    };
    let mut asks = match need {
        Approval::Unneeded => Vec::new(),
        Approval::Ask | Approval::AskEachTime => {
            vec![Reason::new("policy", "the operator's policy asks for this tool")]
        }
    };
    let decision = decision(context, turn, step, index);
    let mut denied = None;
    let snapshot = std::sync::Arc::clone(&context.snapshot);
    for generation in snapshot.hooks(Hook::ToolGate) {
        let name = format!("{decision}/{}", generation.name());
        let place = CallPlace { name, turn: Some(turn), step: Some(step) };
        let mut invocation = context.invocation(&place, generation.name());
        invocation.call = Some(index);
        let asked = Asked { hook: "tool-gate", generation, turn: Some(turn), call: Some(index) };
        let mut called = generation.gate_call(invocation, call.clone()).await;
        report(&context.session, generation, &called);
        match std::mem::replace(&mut called.result, Ok(Verdict::Allow)) {
            Ok(verdict) => {
                context.staged.insert(generation.name().clone(), called.staged);
                match verdict {
                    Verdict::Allow => said.passed(&asked),
                    Verdict::Ask(grounds) => {
                        let reason = reason(grounds);
                        said.decided(&asked, "ask", Some(reason.clone()));
                        asks.push(reason);
                    }
                    Verdict::Deny(grounds) => {
                        let reason = reason(grounds);
                        said.decided(&asked, "deny", Some(reason.clone()));
                        denied.get_or_insert(reason);
                    }
                }
            }
            Err(failure) => {
                called.result = Err(failure);
                if let Failed::Closed(failure) = said.failed(&asked, &called) {
                    denied.get_or_insert(gate_failed(generation.name(), &failure));
                }
            }
        }
    }
    match denied {
        Some(reason) => Ruling::Deny(reason),
        None if asks.is_empty() => Ruling::Allow(tool),
        None => Ruling::Ask { tool, reasons: asks, approval: clock::new_approval() },
    }
}

fn gate_failed(plugin: &mainstay_protocol::PluginName, failure: &Reason) -> Reason {
    let message = format!("the call was denied because the gate of plugin `{plugin}` failed ({})", failure.code);
    Reason::new("gate-failed", message)
}

/// Names the decision over a call. The one after a person's answer is another than the one before it.
fn decision(context: &Context, turn: &TurnId, step: StepIndex, index: CallIndex) -> String {
    let call = context.state.turn().and_then(|turn| turn.call(index));
    match call.and_then(|call| call.answer.as_ref()) {
        Some(answer) => format!("{turn}/{step}/{index}/tool-gate/{}", answer.approval),
        None => format!("{turn}/{step}/{index}/tool-gate"),
    }
}

/// The call as the model wrote it.
pub(super) fn planned_call(context: &Context, index: CallIndex) -> Option<ToolCall> {
    let call = context.state.turn()?.call(index)?;
    match &context.view.find(call.item)?.body {
        ItemBody::ToolCall(call) => Some(call.clone()),
        _ => None,
    }
}

/// The tool that a call names, and whether the operator's policy asks for it.
fn facts(context: &Context, call: &ToolCall) -> Option<(ToolFacts, Approval)> {
    let tool = context.snapshot.find_tool(&call.name)?;
    let facts = ToolFacts {
        build: build(&tool.generation),
        effect: tool.definition.effect,
        execution: tool.definition.execution,
        definition: tool.definition.digest(),
        arguments: Digest::of_fields("mainstay/arguments/1", &[call.arguments.as_bytes()]),
    };
    Some((facts, tool.definition.approval))
}

fn tool_names(context: &Context) -> String {
    let names: Vec<_> = context.snapshot.tools().map(|tool| tool.definition.name.clone()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
