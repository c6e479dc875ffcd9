//! Commands: what can happen to a session. Ids and contents that need randomness or I/O come in with the command.

mod contents;

use std::collections::BTreeMap;

use mainstay_protocol::{
    ApprovalId, Digest, ElicitationId, PluginName, RouteName, StepIndex, SubmissionId, TurnId,
    content::{Message, Part},
    op::{ApprovalAnswer, Delivery, Labels},
    receipt::Receipt,
    record::v1::{
        Activity, Archive, Attempt, CommandKind, HookNotes, OperationOwner, Reason, SessionFault, StopReason,
    },
};

pub use contents::{
    CommandEnd, ElicitationAnswer, FinishedCall, InputRuling, Output, OutputItem, Question, RuledCall, Ruling,
    ToolFacts,
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
        /// The builds, by the SHA-256 of their components, without which it does not run.
        requires: Option<BTreeMap<PluginName, Digest>>,
    },
    /// Take up a session that a fresh host found in the journal, with its own recovery (B0).
    Resume {
        /// Overrides the saved route.
        route: Option<RouteName>,
        /// Replaces the metadata.
        metadata: Option<String>,
        /// Replaces what it requires.
        requires: Option<BTreeMap<PluginName, Digest>>,
        /// Whether an open step is opened again, instead of ending its turn.
        retry_open_step: bool,
    },
    /// Give a session that is open another route, or other metadata (B1).
    Reconfigure {
        /// The route from here on.
        route: Option<RouteName>,
        /// Replaces the metadata.
        metadata: Option<String>,
        /// Replaces what it requires.
        requires: Option<BTreeMap<PluginName, Digest>>,
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
        stop: StopReason,
        /// The same in the words of whoever failed.
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
    /// The runtime calls the running turn off, as for a shutdown. Nobody asked for it, so its outcome is interrupted.
    StopTurn {
        /// The turn.
        turn: TurnId,
        /// Why.
        stop: StopReason,
        /// The same for people; the first 2,000 bytes are kept.
        message: String,
    },
    /// The running turn can't go on, in whatever phase it is.
    FailTurn {
        /// The turn.
        turn: TurnId,
        /// Why.
        stop: StopReason,
        /// The same for people; the first 2,000 bytes are kept.
        message: String,
    },
    /// A person is asked to fill a form (BQ). Until it is resolved the turn owes nothing.
    AskInput(Question),
    /// A client answers a form (B1).
    AnswerInput {
        /// The op.
        submission: SubmissionId,
        /// The question.
        elicitation: ElicitationId,
        /// The answer.
        answer: ElicitationAnswer,
    },
    /// Those who run the session tell what it is about. Says nothing when it is about the same as before.
    RecordActivity {
        /// What it is about.
        activity: Activity,
        /// More about it, for people; the first 2,000 bytes are kept.
        details: Option<String>,
    },
    /// Begin the one owned operation that may run.
    BeginOperation {
        /// The command that owns it from here on.
        command: SubmissionId,
        /// What it does: a checkpoint.
        kind: CommandKind,
        /// On whose behalf.
        owner: OperationOwner,
        /// Other commands that belong to it, at most 64.
        related: Vec<SubmissionId>,
    },
    /// Another command belongs to the operation. Says nothing when that is known.
    CorrelateOperation {
        /// The command that owns it.
        command: SubmissionId,
        /// The other one.
        related: SubmissionId,
    },
    /// The checkpoint ends well: its archive takes the place of the one before it, and the warning goes.
    SaveCheckpoint {
        /// The command that owns it.
        command: SubmissionId,
        /// What it wrote.
        archive: Archive,
    },
    /// The checkpoint failed: the archive before it stays, and the session keeps a warning. [`Refused::Stale`] when the
    /// command does not own it, or no longer.
    ///
    /// [`Refused::Stale`]: crate::Refused::Stale
    FailOperation {
        /// The command that owns it.
        command: SubmissionId,
        /// Why, for people; the first 2,000 bytes are kept.
        message: String,
    },
    /// The checkpoint is put off: archive and warning stay as they are. [`Refused::Stale`] when the command does not own it,
    /// or no longer.
    ///
    /// [`Refused::Stale`]: crate::Refused::Stale
    DeferOperation {
        /// The command that owns it.
        command: SubmissionId,
        /// Why, for people; the first 2,000 bytes are kept.
        message: String,
    },
    /// End the operation that a restart interrupted. [`Refused::Stale`] when none runs.
    ///
    /// [`Refused::Stale`]: crate::Refused::Stale
    RecoverOperation,
    /// A command ended. [`Refused::Stale`] when it has ended already. The typed reason alone decides the outcome.
    ///
    /// [`Refused::Stale`]: crate::Refused::Stale
    EndCommand {
        /// The command.
        command: SubmissionId,
        /// What it does; for the command that owns the operation, that of the operation counts.
        kind: CommandKind,
        /// How it ended.
        end: CommandEnd,
    },
}
