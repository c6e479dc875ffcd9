//! The turn that runs: its phase, its calls, and what a person is asked.

use mainstay_protocol::{
    AcceptedOrdinal, ApprovalId, CallIndex, Digest, ElicitationId, ItemId, StepIndex, SubmissionId, TurnId,
    model::Usage,
    record::v1::Build,
    tool::{Effect, Execution},
};

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
    /// The forms that wait for their answers, in the order in which they were asked.
    pub elicitations: Vec<PendingElicitation>,
}

/// A form that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingElicitation {
    /// The question.
    pub elicitation: ElicitationId,
    /// For a call that asks, its step.
    pub step: Option<StepIndex>,
    /// For a call that asks, which one.
    pub call: Option<CallIndex>,
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
    /// How many of those starts ended with a question: what they did is known.
    pub suspended: u32,
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

    /// Whether a person is asked.
    pub fn is_waiting(&self) -> bool {
        !self.elicitations.is_empty() || self.calls().iter().any(Call::is_asking)
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

    /// Whether it had started before a crash, so that nobody knows what that start did.
    pub fn is_doubtful(&self) -> bool {
        self.attempts > self.suspended
    }

    /// Whether it has its result.
    pub fn is_ended(&self) -> bool {
        matches!(self.life, Life::Ended)
    }
}
