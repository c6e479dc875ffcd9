//! Commands: what can happen to a session. Ids and contents that need randomness or I/O come in with the command.

use mainstay_protocol::{
    ApprovalId, CallIndex, Digest, RouteName, StepIndex, SubmissionId, TurnId,
    content::{ItemBody, Message, Part, PrivatePart},
    model::Finish,
    op::{ApprovalAnswer, Delivery, Labels},
    receipt::Receipt,
    record::v1::{Attempt, Build, CallOutcome, ContextOwner, HookNotes, Reason, SessionFault},
    tool::{Effect, Execution},
};

/// What happens to a session.
#[derive(Clone, Debug)]
pub enum Command {
    /// Create the session (B0).
    Create {
        /// The route that it starts on.
        route: RouteName,
        /// Owner, workspace, origin.
        labels: Labels,
        /// A JSON object.
        metadata: Option<String>,
    },
    /// Take up a session that a fresh host found in the journal, with its own recovery (B0).
    Resume {
        /// Overrides the saved route.
        route: Option<RouteName>,
        /// Replaces the metadata.
        metadata: Option<String>,
        /// Whether an open step is opened again, instead of ending its turn.
        retry_open_step: bool,
    },
    /// Give a session that is open another route, or other metadata (B1).
    Reconfigure {
        /// The route from here on.
        route: Option<RouteName>,
        /// Replaces the metadata.
        metadata: Option<String>,
    },
    /// The code that serves from here on. Says nothing when it is what served before.
    Serve {
        /// Each active build.
        receipts: Vec<Receipt>,
    },
    /// A client submits a message (B1).
    Submit {
        /// The op.
        submission: SubmissionId,
        /// What it says.
        content: Vec<Part>,
        /// How to deliver it.
        delivery: Delivery,
    },
    /// A client selects a route (B1).
    SetModel {
        /// The op.
        submission: SubmissionId,
        /// The route.
        route: RouteName,
    },
    /// A client answers an approval (B1).
    Approve {
        /// The op.
        submission: SubmissionId,
        /// The question.
        approval: ApprovalId,
        /// The answer.
        answer: ApprovalAnswer,
        /// What the person says beside it.
        comment: Option<String>,
    },
    /// A client calls off the running turn (B1 and B7 in one).
    Interrupt {
        /// The op.
        submission: SubmissionId,
        /// The turn that the client means.
        turn: TurnId,
    },
    /// A client, or a swap, asks to try a parked session again (B1).
    Retry {
        /// Why now.
        cause: String,
    },
    /// Input hooks decided over the first message of the queue (B2).
    StartTurn {
        /// The new turn's id.
        turn: TurnId,
        /// The message that it is for.
        submission: SubmissionId,
        /// What was decided.
        ruling: InputRuling,
        /// What hooks said.
        hooks: HookNotes,
    },
    /// A hook failed in a way that parks the session.
    Park {
        /// What happened.
        fault: SessionFault,
    },
    /// Something failed, and the session goes on.
    Fault {
        /// What happened.
        fault: SessionFault,
    },
    /// The next model call is about to be made (B2, B5).
    OpenStep {
        /// The turn.
        turn: TurnId,
        /// The step.
        step: StepIndex,
    },
    /// A model answered (B3).
    AcceptOutput {
        /// The turn.
        turn: TurnId,
        /// The step.
        step: StepIndex,
        /// What it said.
        output: Output,
    },
    /// No attempt of the step gave output (B3 and B7 in one).
    FailStep {
        /// The turn.
        turn: TurnId,
        /// The step.
        step: StepIndex,
        /// Each attempt.
        attempts: Vec<Attempt>,
        /// Why the turn fails.
        reason: Reason,
    },
    /// Policy and gates decided over calls (B4).
    DecideCalls {
        /// The turn.
        turn: TurnId,
        /// The step.
        step: StepIndex,
        /// The calls, in order.
        calls: Vec<RuledCall>,
        /// What gates said.
        hooks: HookNotes,
    },
    /// Calls ended (B5).
    AcceptResults {
        /// The turn.
        turn: TurnId,
        /// The step.
        step: StepIndex,
        /// The results, in call order.
        results: Vec<FinishedCall>,
    },
    /// Stop hooks let the turn end (B7).
    FinishTurn {
        /// The turn.
        turn: TurnId,
        /// What hooks said.
        hooks: HookNotes,
    },
    /// A stop hook wants one more step. Granted once a turn; after that the turn ends.
    ContinueTurn {
        /// The turn.
        turn: TurnId,
        /// What the hook adds to the history.
        message: Message,
        /// What hooks said.
        hooks: HookNotes,
    },
}

/// What input hooks decided over a message.
#[derive(Clone, Debug)]
pub enum InputRuling {
    /// Start the turn.
    Accept {
        /// The message, possibly rewritten.
        message: Message,
        /// What hooks added after it.
        annotations: Vec<Message>,
    },
    /// Consume the message and end the turn at once.
    Reject(Reason),
}

/// What a model said in a step.
#[derive(Clone, Debug)]
pub struct Output {
    /// Messages, reasoning and tool calls, in order.
    pub items: Vec<OutputItem>,
    /// Each attempt; the last one is the one that gave this.
    pub attempts: Vec<Attempt>,
    /// The route that answered, and its context group.
    pub context_owner: ContextOwner,
    /// How it ended.
    pub finish: Finish,
}

/// An item that a model made.
#[derive(Clone, Debug)]
pub struct OutputItem {
    /// What it says.
    pub body: ItemBody,
    /// What the provider attached.
    pub private_part: Option<PrivatePart>,
}

/// A call with what policy and gates say of it.
#[derive(Clone, Debug)]
pub struct RuledCall {
    /// The call.
    pub index: CallIndex,
    /// What they say.
    pub ruling: Ruling,
}

/// What policy and gates say of a call.
#[derive(Clone, Debug)]
pub enum Ruling {
    /// No objection.
    Allow(ToolFacts),
    /// Ask a person, unless they have answered for exactly this.
    Ask {
        /// The tool.
        tool: ToolFacts,
        /// Who asks, and why.
        reasons: Vec<Reason>,
        /// The id of the question, if it has to be asked.
        approval: ApprovalId,
    },
    /// Don't run it.
    Deny(Reason),
}

/// The tool that a call names, as it is now.
#[derive(Clone, Debug)]
pub struct ToolFacts {
    /// Who serves it.
    pub build: Build,
    /// What may be done after a crash.
    pub effect: Effect,
    /// Whether it may overlap.
    pub execution: Execution,
    /// Digest of its definition.
    pub definition: Digest,
    /// Digest of the call's final arguments.
    pub arguments: Digest,
}

/// A call that ended.
#[derive(Clone, Debug)]
pub struct FinishedCall {
    /// The call.
    pub index: CallIndex,
    /// What the model gets to read.
    pub content: Vec<Part>,
    /// Whether it reads it as an error.
    pub is_error: bool,
    /// A JSON object that models don't see.
    pub extras: Option<String>,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Who served it.
    pub build: Option<Build>,
    /// How long it took, in milliseconds.
    pub ms: u64,
}
