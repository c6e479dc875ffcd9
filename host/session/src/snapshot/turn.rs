//! The stored form of the running turn.

use mainstay_protocol::{
    AcceptedOrdinal, ApprovalId, CallIndex, Digest, ElicitationId, ItemId, StepIndex, SubmissionId, TurnId,
    model::Usage,
    record::v1::Build,
    tool::{Effect, Execution},
};
use serde::{Deserialize, Serialize};

use super::is_zero;
use crate::state::{Answer, Authorised, Call, Life, PendingElicitation, Phase, Turn};

#[derive(Serialize, Deserialize)]
pub(super) struct TurnV1 {
    id: TurnId,
    submission: SubmissionId,
    accepted: AcceptedOrdinal,
    step: StepIndex,
    phase: PhaseV1,
    continued: bool,
    steps: u32,
    tool_calls: u32,
    failed_tool_calls: u32,
    usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_message: Option<ItemId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cut_short: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    elicitations: Vec<ElicitationV1>,
}

#[derive(Serialize, Deserialize)]
struct ElicitationV1 {
    elicitation: ElicitationId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<StepIndex>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<CallIndex>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PhaseV1 {
    Ready,
    Model,
    Calls(Vec<CallV1>),
    Completion,
}

#[derive(Serialize, Deserialize)]
struct CallV1 {
    item: ItemId,
    tool: String,
    call_id: String,
    attempts: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    suspended: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<AnswerV1>,
    life: LifeV1,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LifeV1 {
    Planned,
    Asking { approval: ApprovalId, definition: Digest, arguments: Digest },
    Allowed(AuthorisedV1),
    Intended(AuthorisedV1),
    Ended,
}

#[derive(Serialize, Deserialize)]
struct AuthorisedV1 {
    build: Build,
    effect: Effect,
    execution: Execution,
}

#[derive(Serialize, Deserialize)]
struct AnswerV1 {
    approval: ApprovalId,
    approved: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    definition: Digest,
    arguments: Digest,
}

/// A turn as it is stored.
pub(super) fn store(turn: &Turn) -> TurnV1 {
    TurnV1 {
        id: turn.id.clone(),
        submission: turn.submission.clone(),
        accepted: turn.accepted,
        step: turn.step,
        phase: match &turn.phase {
            Phase::Ready => PhaseV1::Ready,
            Phase::Model => PhaseV1::Model,
            Phase::Calls(calls) => PhaseV1::Calls(calls.iter().map(store_call).collect()),
            Phase::Completion => PhaseV1::Completion,
        },
        continued: turn.continued,
        steps: turn.steps,
        tool_calls: turn.tool_calls,
        failed_tool_calls: turn.failed_tool_calls,
        usage: turn.usage.clone(),
        last_message: turn.last_message,
        cut_short: turn.cut_short.clone(),
        elicitations: turn.elicitations.iter().map(store_elicitation).collect(),
    }
}

/// A stored turn.
pub(super) fn load(turn: TurnV1) -> Turn {
    Turn {
        id: turn.id,
        submission: turn.submission,
        accepted: turn.accepted,
        step: turn.step,
        phase: match turn.phase {
            PhaseV1::Ready => Phase::Ready,
            PhaseV1::Model => Phase::Model,
            PhaseV1::Calls(calls) => Phase::Calls(calls.into_iter().map(load_call).collect()),
            PhaseV1::Completion => Phase::Completion,
        },
        continued: turn.continued,
        steps: turn.steps,
        tool_calls: turn.tool_calls,
        failed_tool_calls: turn.failed_tool_calls,
        usage: turn.usage,
        last_message: turn.last_message,
        cut_short: turn.cut_short,
        elicitations: turn.elicitations.into_iter().map(load_elicitation).collect(),
    }
}

fn store_elicitation(pending: &PendingElicitation) -> ElicitationV1 {
    ElicitationV1 { elicitation: pending.elicitation.clone(), step: pending.step, call: pending.call }
}

fn load_elicitation(pending: ElicitationV1) -> PendingElicitation {
    PendingElicitation { elicitation: pending.elicitation, step: pending.step, call: pending.call }
}

fn store_call(call: &Call) -> CallV1 {
    let authorised =
        |on: &Authorised| AuthorisedV1 { build: on.build.clone(), effect: on.effect, execution: on.execution };
    CallV1 {
        item: call.item,
        tool: call.tool.clone(),
        call_id: call.call_id.clone(),
        attempts: call.attempts,
        suspended: call.suspended,
        answer: call.answer.as_ref().map(|answer| AnswerV1 {
            approval: answer.approval.clone(),
            approved: answer.approved,
            comment: answer.comment.clone(),
            definition: answer.definition,
            arguments: answer.arguments,
        }),
        life: match &call.life {
            Life::Planned => LifeV1::Planned,
            Life::Asking { approval, definition, arguments } => {
                LifeV1::Asking { approval: approval.clone(), definition: *definition, arguments: *arguments }
            }
            Life::Allowed(on) => LifeV1::Allowed(authorised(on)),
            Life::Intended(on) => LifeV1::Intended(authorised(on)),
            Life::Ended => LifeV1::Ended,
        },
    }
}

fn load_call(call: CallV1) -> Call {
    let authorised = |on: AuthorisedV1| Authorised { build: on.build, effect: on.effect, execution: on.execution };
    Call {
        item: call.item,
        tool: call.tool,
        call_id: call.call_id,
        attempts: call.attempts,
        suspended: call.suspended,
        answer: call.answer.map(|answer| Answer {
            approval: answer.approval,
            approved: answer.approved,
            comment: answer.comment,
            definition: answer.definition,
            arguments: answer.arguments,
        }),
        life: match call.life {
            LifeV1::Planned => Life::Planned,
            LifeV1::Asking { approval, definition, arguments } => Life::Asking { approval, definition, arguments },
            LifeV1::Allowed(on) => Life::Allowed(authorised(on)),
            LifeV1::Intended(on) => Life::Intended(authorised(on)),
            LifeV1::Ended => Life::Ended,
        },
    }
}
