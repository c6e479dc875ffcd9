//! The state of a session: what is owed and what later decisions depend on. It holds no content, only references to items.

use std::collections::{BTreeMap, VecDeque};

use mainstay_protocol::{
    AcceptedOrdinal, ApprovalId, CallIndex, Digest, ItemId, Ordinal, PluginName, RouteName, StepIndex, SubmissionId,
    Timestamp, TurnId,
    content::Part,
    model::Usage,
    op::{Delivery, Labels},
    record::v1::{Build, ContextOwner},
    tool::{Effect, Execution},
};

/// A session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    pub(crate) head: Ordinal,
    pub(crate) last_item: ItemId,
    pub(crate) accepted: AcceptedOrdinal,
    pub(crate) route: Option<RouteName>,
    pub(crate) context_owner: Option<ContextOwner>,
    pub(crate) context_epoch: u32,
    pub(crate) labels: Labels,
    pub(crate) metadata: String,
    pub(crate) queue: VecDeque<Queued>,
    pub(crate) turn: Option<Turn>,
    pub(crate) parked: bool,
    pub(crate) runs: u64,
    pub(crate) aborted_runs: u64,
    pub(crate) serving: BTreeMap<PluginName, Digest>,
}

/// A message that waits for its turn. Its content is in the journal's queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The op that brought it.
    pub submission: SubmissionId,
    /// Its number.
    pub accepted: AcceptedOrdinal,
    /// How it is to be delivered.
    pub delivery: Delivery,
    /// Bytes of payload.
    pub bytes: u64,
}

/// A message with its content, on its way into the queue.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedMessage {
    /// The op that brought it.
    pub submission: SubmissionId,
    /// Its number.
    pub accepted: AcceptedOrdinal,
    /// How it is to be delivered.
    pub delivery: Delivery,
    /// When it was accepted.
    pub at: Timestamp,
    /// What it says.
    pub content: Vec<Part>,
}

/// The turn that runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Its id.
    pub id: TurnId,
    /// The op that brought its message.
    pub submission: SubmissionId,
    /// The message's number.
    pub accepted: AcceptedOrdinal,
    /// The step that is open or comes next.
    pub step: StepIndex,
    /// Where it stands.
    pub phase: Phase,
    /// Whether a stop hook has forced a step already.
    pub continued: bool,
    /// Steps whose output was accepted.
    pub steps: u32,
    /// Calls that got a result.
    pub tool_calls: u32,
    /// Those of them whose result is an error.
    pub failed_tool_calls: u32,
    /// What all attempts cost together.
    pub usage: Usage,
    /// The last message of the assistant.
    pub last_message: Option<ItemId>,
    /// Why the model stopped early, when it did: a word for the turn's end.
    pub cut_short: Option<String>,
}

/// Where a turn stands. Each phase carries what only it has.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// The next step is not open.
    Ready,
    /// A step is open: a model is being asked.
    Model,
    /// The step's output is accepted, and its calls are on their way.
    Calls(Vec<Call>),
    /// The model is done; stop hooks are next.
    Completion,
}

/// A tool call of the open step; its index is its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The item that holds call id and arguments.
    pub item: ItemId,
    /// The tool's name.
    pub tool: String,
    /// The provider's id.
    pub call_id: String,
    /// How often it was started.
    pub attempts: u32,
    /// What a person answered, if they were asked.
    pub answer: Option<Answer>,
    /// How far it is.
    pub life: Life,
}

/// How far a call is.
#[derive(Clone, Debug, PartialEq)]
pub enum Life {
    /// Gates are next.
    Planned,
    /// A person is asked.
    Asking {
        /// The question.
        approval: ApprovalId,
        /// What the person sees: digest of the definition.
        definition: Digest,
        /// What the person sees: digest of the final arguments.
        arguments: Digest,
    },
    /// It may run once all calls before it are through.
    Allowed(Authorised),
    /// It has been started, and has no result yet.
    Intended(Authorised),
    /// It has its one result.
    Ended,
}

/// On which code a call may run, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorised {
    /// Who serves it.
    pub build: Build,
    /// What may be done after a crash.
    pub effect: Effect,
    /// Whether it may overlap.
    pub execution: Execution,
}

/// What a person answered, and to what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The question.
    pub approval: ApprovalId,
    /// Whether the call may run.
    pub approved: bool,
    /// What the person says beside it.
    pub comment: Option<String>,
    /// Digest of the definition that they saw.
    pub definition: Digest,
    /// Digest of the arguments that they saw.
    pub arguments: Digest,
}

/// An approval that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingApproval {
    /// The question.
    pub approval: ApprovalId,
    /// The call.
    pub index: CallIndex,
    /// The item that holds the arguments.
    pub item: ItemId,
    /// The tool's name.
    pub tool: String,
}

/// A few words about a session, for lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// `idle`, `queued`, `running`, `waiting` (for a person) or `parked`.
    pub phase: &'static str,
    /// The selected route.
    pub route: Option<RouteName>,
    /// Turns that ended, in any way.
    pub turns: u64,
    /// Those of them that were aborted.
    pub aborted: u64,
    /// Messages that were accepted.
    pub accepted: AcceptedOrdinal,
    /// The last item.
    pub last_item: ItemId,
    /// How often the context group of the owner changed, or the window was compacted.
    pub context_epoch: u32,
    /// Whether an owned operation runs.
    pub operating: bool,
}

impl State {
    /// The ordinal of the last record: what a commit compares and swaps.
    pub fn head(&self) -> Ordinal {
        self.head
    }

    /// The selected route; none before the session was configured.
    pub fn route(&self) -> Option<&RouteName> {
        self.route.as_ref()
    }

    /// The route whose output was accepted last.
    pub fn context_owner(&self) -> Option<&ContextOwner> {
        self.context_owner.as_ref()
    }

    /// How often the context group of the owner changed, or the window was compacted.
    pub fn context_epoch(&self) -> u32 {
        self.context_epoch
    }

    /// Owner, workspace and origin.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// A JSON object.
    pub fn metadata(&self) -> &str {
        if self.metadata.is_empty() { "{}" } else { &self.metadata }
    }

    /// The messages that wait, in order.
    pub fn queue(&self) -> impl ExactSizeIterator<Item = &Queued> {
        self.queue.iter()
    }

    /// The turn that runs.
    pub fn turn(&self) -> Option<&Turn> {
        self.turn.as_ref()
    }

    /// Whether a fault keeps the session from starting turns.
    pub fn is_parked(&self) -> bool {
        self.parked
    }

    /// Turns that ended, in any way, and those of them that were aborted.
    pub fn run_counts(&self) -> (u64, u64) {
        (self.runs, self.aborted_runs)
    }

    /// The approvals that wait for an answer, in call order.
    pub fn pending_approvals(&self) -> Vec<PendingApproval> {
        let asking = self.turn.iter().flat_map(Turn::numbered_calls).filter_map(|(index, call)| match &call.life {
            Life::Asking { approval, .. } => {
                Some(PendingApproval { approval: approval.clone(), index, item: call.item, tool: call.tool.clone() })
            }
            _ => None,
        });
        asking.collect()
    }

    /// A few words for lists.
    pub fn summary(&self) -> Summary {
        let phase = match &self.turn {
            Some(turn) if turn.calls().iter().any(Call::is_asking) => "waiting",
            Some(_) => "running",
            None if self.parked => "parked",
            None if !self.queue.is_empty() => "queued",
            None => "idle",
        };
        Summary {
            phase,
            route: self.route.clone(),
            turns: self.runs,
            aborted: self.aborted_runs,
            accepted: self.accepted,
            last_item: self.last_item,
            context_epoch: self.context_epoch,
            operating: false,
        }
    }
}

impl Turn {
    /// The calls of the open step; empty in other phases.
    pub fn calls(&self) -> &[Call] {
        match &self.phase {
            Phase::Calls(calls) => calls,
            _ => &[],
        }
    }

    /// The calls with their indices.
    pub fn numbered_calls(&self) -> impl Iterator<Item = (CallIndex, &Call)> {
        (0..).map(CallIndex).zip(self.calls())
    }

    /// A call of the open step.
    pub fn call(&self, index: CallIndex) -> Option<&Call> {
        self.calls().get(index.0 as usize)
    }

    pub(crate) fn call_mut(&mut self, index: CallIndex) -> Option<&mut Call> {
        match &mut self.phase {
            Phase::Calls(calls) => calls.get_mut(index.0 as usize),
            _ => None,
        }
    }
}

impl Call {
    /// Whether a person is asked.
    pub fn is_asking(&self) -> bool {
        matches!(self.life, Life::Asking { .. })
    }

    /// Whether it has been started and has no result.
    pub fn is_intended(&self) -> bool {
        matches!(self.life, Life::Intended(_))
    }

    /// Whether it has its result.
    pub fn is_ended(&self) -> bool {
        matches!(self.life, Life::Ended)
    }
}
