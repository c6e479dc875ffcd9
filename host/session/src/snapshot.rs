//! The stored form of the state, version 1: what the session's row holds, so that opening a session doesn't read its history.
//! The queue is left out: its rows are the journal's. These types mirror the state on purpose: it is free to change, this
//! is on disk.

use std::collections::{BTreeMap, VecDeque};

use mainstay_protocol::{
    AcceptedOrdinal, ApprovalId, Digest, ItemId, Ordinal, PluginName, RouteName, StepIndex, SubmissionId, TurnId,
    model::Usage,
    op::Labels,
    record::v1::{Build, ContextOwner},
    tool::{Effect, Execution},
};
use serde::{Deserialize, Serialize};

use crate::state::{Answer, Authorised, Call, Life, Phase, Queued, State, Turn};

/// A stored state that this build can't read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// It is damaged.
    #[error("the stored state of the session is damaged: {0}")]
    Damaged(#[from] serde_json::Error),
    /// A newer build wrote it.
    #[error("the stored state of the session has version {0}, which is newer than this build; use the newer build")]
    Newer(u32),
}

#[derive(Serialize, Deserialize)]
struct StateV1 {
    v: u32,
    head: Ordinal,
    last_item: ItemId,
    accepted: AcceptedOrdinal,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    route: Option<RouteName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context_owner: Option<ContextOwner>,
    #[serde(default)]
    context_epoch: u32,
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    labels: Labels,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    metadata: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<TurnV1>,
    #[serde(default)]
    parked: bool,
    runs: u64,
    aborted_runs: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    serving: BTreeMap<PluginName, Digest>,
}

#[derive(Serialize, Deserialize)]
struct TurnV1 {
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

impl State {
    /// The stored form, without the queue.
    pub fn snapshot(&self) -> Vec<u8> {
        let stored = StateV1 {
            v: 1,
            head: self.head,
            last_item: self.last_item,
            accepted: self.accepted,
            route: self.route.clone(),
            context_owner: self.context_owner.clone(),
            context_epoch: self.context_epoch,
            labels: self.labels.clone(),
            metadata: self.metadata.clone(),
            turn: self.turn.as_ref().map(store_turn),
            parked: self.parked,
            runs: self.runs,
            aborted_runs: self.aborted_runs,
            serving: self.serving.clone(),
        };
        serde_json::to_vec(&stored).expect("the state holds nothing that JSON can't")
    }

    /// Reads a stored state and puts the queue beside it.
    ///
    /// # Errors
    /// The bytes are damaged, or a newer build wrote them.
    pub fn restore(snapshot: &[u8], queue: Vec<Queued>) -> Result<Self, SnapshotError> {
        #[derive(Deserialize)]
        struct Version {
            v: u32,
        }
        let Version { v } = serde_json::from_slice(snapshot)?;
        if v != 1 {
            return Err(SnapshotError::Newer(v));
        }
        let stored: StateV1 = serde_json::from_slice(snapshot)?;
        Ok(Self {
            head: stored.head,
            last_item: stored.last_item,
            accepted: stored.accepted,
            route: stored.route,
            context_owner: stored.context_owner,
            context_epoch: stored.context_epoch,
            labels: stored.labels,
            metadata: stored.metadata,
            queue: VecDeque::from(queue),
            turn: stored.turn.map(load_turn),
            parked: stored.parked,
            runs: stored.runs,
            aborted_runs: stored.aborted_runs,
            serving: stored.serving,
        })
    }
}

fn store_turn(turn: &Turn) -> TurnV1 {
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
    }
}

fn load_turn(turn: TurnV1) -> Turn {
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
    }
}

fn store_call(call: &Call) -> CallV1 {
    let authorised =
        |on: &Authorised| AuthorisedV1 { build: on.build.clone(), effect: on.effect, execution: on.execution };
    CallV1 {
        item: call.item,
        tool: call.tool.clone(),
        call_id: call.call_id.clone(),
        attempts: call.attempts,
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
