//! What commands carry.

use mainstay_protocol::{
    ApprovalId, CallIndex, Digest, ElicitationId, StepIndex, TurnId,
    blob::NewBlob,
    content::{ItemBody, Message, Part, PrivatePart},
    model::Finish,
    record::v1::{Attempt, Build, CallOutcome, CommandReason, ContextOwner, Reason},
    tool::{Effect, Execution},
};

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
    /// All that it gave, where the model gets less: kept with the result. `extras` has the reference.
    pub whole: Option<NewBlob>,
}

/// A form for a person to fill.
#[derive(Clone, Debug)]
pub struct Question {
    /// The turn that asks.
    pub turn: TurnId,
    /// The question.
    pub elicitation: ElicitationId,
    /// For a call that asks, its step.
    pub step: Option<StepIndex>,
    /// For a call that asks, which one: its start ends here, and it is planned again once the form is resolved.
    pub call: Option<CallIndex>,
    /// What is asked: JSON text of an object that describes the form, at most 64 KiB.
    pub request: String,
    /// The plugin that asks.
    pub build: Option<Build>,
}

/// A person's answer to a form.
#[derive(Clone, Debug)]
pub enum ElicitationAnswer {
    /// What was filled in: JSON text of an object, at most 64 KiB.
    Accept(String),
    /// The person says no.
    Decline,
}

/// How a command ended.
#[derive(Clone, Debug)]
pub struct CommandEnd {
    /// Why it did not complete; none when it did.
    pub reason: Option<CommandReason>,
    /// What happened, for people; may be empty. The first 2,000 bytes are kept.
    pub message: String,
}

impl CommandEnd {
    /// It did what it was for.
    pub const fn completed() -> Self {
        Self { reason: None, message: String::new() }
    }

    /// It ended otherwise.
    pub fn because(reason: CommandReason, message: impl Into<String>) -> Self {
        Self { reason: Some(reason), message: message.into() }
    }
}
