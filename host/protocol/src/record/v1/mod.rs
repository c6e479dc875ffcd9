//! Version 1 of the record bodies. These shapes are on disk for ever: fields may be added with a default, and nothing is
//! renamed or removed. Records name items by id and don't repeat their text. The list of kinds is here; the bodies of the
//! road of a turn are below it, and others have files of their own.

mod activity;
mod ending;
mod names;
mod operations;
mod questions;

use std::collections::BTreeMap;

pub use activity::{Activity, ActivityChanged, ContextCompacted, LegacyNotice, NoticeAdded, UsageRecorded};
pub use ending::{StopReason, TurnOutcome};
pub use operations::{
    Archive, CheckpointSaved, CommandEnded, CommandKind, CommandOutcome, CommandReason, OperationBegun,
    OperationCorrelated, OperationOwner,
};
pub use questions::{ElicitationRequested, ElicitationResolution, ElicitationResolved};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    AcceptedOrdinal, ApprovalId, CallIndex, Digest, ItemId, PluginName, RouteName, StepIndex, SubmissionId, TurnId,
    failure::{CallFailure, PluginError},
    feed::FeedKind,
    model::{Finish, Usage},
    op::{Delivery, Labels},
    receipt::Receipt,
    tool::{Effect, Execution},
};

/// What there is to know of a kind without a record of it.
#[derive(Clone, Copy, Debug)]
pub struct KindInfo {
    /// The kind, as stored.
    pub name: &'static str,
    /// What it means: the words of its documentation, line by line.
    pub meaning: &'static [&'static str],
    /// The version of the product that wrote it first.
    pub since: &'static str,
    /// As what the feed tells it; none when it is no feed event.
    pub feed: Option<FeedKind>,
    /// The JSON Schema of its body.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

macro_rules! records {
    ($($(#[doc = $doc:literal])* $variant:ident($body:ty) = $kind:literal, $since:literal, $feed:expr;)*) => {
        /// What happened.
        #[derive(Clone, Debug, PartialEq)]
        pub enum RecordBody {
            $($(#[doc = $doc])* $variant($body),)*
            /// A record of a kind, or of a shape, that this build does not know.
            Unknown(UnknownRecord),
        }

        impl RecordBody {
            /// Each kind that this build knows.
            pub const KINDS: &[KindInfo] =
                &[$(KindInfo {
                    name: $kind,
                    meaning: &[$($doc),*],
                    since: $since,
                    feed: $feed,
                    schema: |generator| generator.subschema_for::<$body>(),
                }),*];

            /// The kind, as stored.
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $kind,)*
                    Self::Unknown(unknown) => &unknown.kind,
                }
            }

            /// The body as JSON text.
            pub fn encode(&self) -> Vec<u8> {
                let encoded = match self {
                    $(Self::$variant(body) => serde_json::to_vec(body),)*
                    Self::Unknown(unknown) => Ok(unknown.body.get().as_bytes().to_vec()),
                };
                encoded.expect("record bodies hold nothing that JSON can't")
            }

            /// Reads a stored record. What this build can't read becomes [`RecordBody::Unknown`]; none when the body is
            /// not even JSON, that is, damaged.
            pub fn decode(kind: &str, body: &[u8]) -> Option<Self> {
                let known = match kind {
                    $($kind => serde_json::from_slice(body).ok().map(Self::$variant),)*
                    _ => super::legacy::upcast(kind, body),
                };
                known.or_else(|| {
                    let body = serde_json::from_slice(body).ok()?;
                    Some(Self::Unknown(UnknownRecord { kind: kind.to_owned(), body }))
                })
            }
        }
    };
}

records! {
    /// The session was opened: created, or resumed by a fresh host.
    SessionConfigured(SessionConfigured) = "session_configured", "0.1.0", None;
    /// A message was accepted into the queue.
    MessageAccepted(MessageAccepted) = "message_accepted", "0.1.0", None;
    /// The selected route changed.
    ModelChanged(ModelChanged) = "model_changed", "0.1.0", None;
    /// A message left the queue and its turn began.
    TurnStarted(TurnStarted) = "turn_started", "0.1.0", Some(FeedKind::TurnStarted);
    /// A model call is about to be made.
    StepOpened(StepOpened) = "step_opened", "0.1.0", None;
    /// A model call ended and its output, if any, was accepted.
    StepCompleted(StepCompleted) = "step_completed", "0.1.0", None;
    /// Gates and policy decided over planned calls.
    CallsDecided(CallsDecided) = "calls_decided", "0.1.0", None;
    /// A person is asked whether a call may run.
    ApprovalRequested(ApprovalRequested) = "approval_requested", "0.1.0", Some(FeedKind::InputRequired);
    /// An approval was answered or taken away.
    ApprovalResolved(ApprovalResolved) = "approval_resolved", "0.1.0", Some(FeedKind::InputResolved);
    /// Calls are about to run: the intent that recovery goes by.
    RunStarted(RunStarted) = "run_started", "0.1.0", None;
    /// A call got its one result.
    CallEnded(CallEnded) = "call_ended", "0.1.0", None;
    /// Calls had started when the host ended; they are planned again.
    RunInterrupted(RunInterrupted) = "run_interrupted", "0.1.0", None;
    /// A stop hook asked for one more step.
    TurnContinued(TurnContinued) = "turn_continued", "0.1.0", None;
    /// The turn ended as the model meant it.
    TurnCompleted(TurnEnded) = "turn_completed", "0.1.0", Some(FeedKind::TurnEnded);
    /// The turn was called off, by a person or by a restart.
    TurnAborted(TurnEnded) = "turn_aborted", "0.1.0", Some(FeedKind::TurnEnded);
    /// The turn could not go on.
    TurnFailed(TurnEnded) = "turn_failed", "0.1.0", Some(FeedKind::TurnEnded);
    /// A hook rejected the message.
    TurnRejected(TurnEnded) = "turn_rejected", "0.1.0", Some(FeedKind::TurnEnded);
    /// Something failed that people should know of.
    SessionFault(SessionFault) = "session_fault", "0.1.0", Some(FeedKind::SessionFault);
    /// A parked session tries again.
    SessionRetried(SessionRetried) = "session_retried", "0.1.0", None;
    /// Other code serves the session from here on.
    ReceiptRecorded(Receipt) = "receipt_recorded", "0.1.0", Some(FeedKind::RuntimeReceipt);
    /// A build of a plugin became active (the host's own session).
    PluginActivated(PluginLifecycle) = "plugin_activated", "0.1.0", Some(FeedKind::PluginLifecycle);
    /// A build took another's place (the host's own session).
    PluginSwapped(PluginLifecycle) = "plugin_swapped", "0.1.0", Some(FeedKind::PluginLifecycle);
    /// A build was refused; what was active stays (the host's own session).
    PluginRefused(PluginLifecycle) = "plugin_refused", "0.1.0", Some(FeedKind::PluginLifecycle);
    /// The last call of a replaced build ended (the host's own session).
    PluginDrained(PluginLifecycle) = "plugin_drained", "0.1.0", Some(FeedKind::PluginLifecycle);
    /// A person is asked to fill a form.
    ElicitationRequested(ElicitationRequested) = "elicitation_requested", "0.2.0", Some(FeedKind::InputRequired);
    /// A form was filled, refused or taken away.
    ElicitationResolved(ElicitationResolved) = "elicitation_resolved", "0.2.0", Some(FeedKind::InputResolved);
    /// What the session is about has changed.
    ActivityChanged(ActivityChanged) = "activity_changed", "0.2.0", Some(FeedKind::Activity);
    /// An owned operation began.
    OperationBegun(OperationBegun) = "operation_begun", "0.2.0", None;
    /// Another command belongs to the owned operation.
    OperationCorrelated(OperationCorrelated) = "operation_correlated", "0.2.0", None;
    /// A checkpoint's archive takes the place of the one before it.
    CheckpointSaved(CheckpointSaved) = "checkpoint_saved", "0.2.0", None;
    /// A command ended, in one of four ways.
    CommandEnded(CommandEnded) = "command_ended", "0.2.0", Some(FeedKind::CommandEnded);
    /// A line for people entered the transcript.
    NoticeAdded(NoticeAdded) = "notice_added", "0.2.0", None;
    /// A model was asked outside of a step.
    UsageRecorded(UsageRecorded) = "usage_recorded", "0.2.0", None;
    /// Models see the transcript through a new window from here on.
    ContextCompacted(ContextCompacted) = "context_compacted", "0.2.0", None;
    /// An old record that nothing newer says the same as. It is read, and never written.
    LegacyNotice(LegacyNotice) = "legacy_notice", "0.2.0", Some(FeedKind::LegacyNotice);
}

impl RecordBody {
    /// Whether the record is a feed event.
    pub fn is_feed(&self) -> bool {
        self.feed_kind().is_some()
    }

    /// As what the feed tells the record; none when it is no feed event, or of a kind that this build does not know.
    pub fn feed_kind(&self) -> Option<FeedKind> {
        Self::KINDS.iter().find(|known| known.name == self.kind()).and_then(|known| known.feed)
    }

    /// A record of each kind that is stored, as documentation and tests show them.
    ///
    /// # Panics
    /// The list of examples has one that is no record: a test sees to it that it has none.
    pub fn examples() -> Vec<Self> {
        let all: BTreeMap<String, Box<RawValue>> =
            serde_json::from_str(include_str!("examples.json")).expect("the examples are JSON");
        let one = |(kind, body): (String, Box<RawValue>)| Self::decode(&kind, body.get().as_bytes()).expect("JSON");
        all.into_iter().map(one).collect()
    }

    /// The turn that the record belongs to.
    pub fn turn(&self) -> Option<&TurnId> {
        match self {
            Self::TurnStarted(TurnStarted { turn, .. })
            | Self::StepOpened(StepOpened { turn, .. })
            | Self::StepCompleted(StepCompleted { turn, .. })
            | Self::CallsDecided(CallsDecided { turn, .. })
            | Self::ApprovalRequested(ApprovalRequested { turn, .. })
            | Self::ApprovalResolved(ApprovalResolved { turn, .. })
            | Self::RunStarted(RunStarted { turn, .. })
            | Self::CallEnded(CallEnded { turn, .. })
            | Self::RunInterrupted(RunInterrupted { turn, .. })
            | Self::ElicitationRequested(ElicitationRequested { turn, .. })
            | Self::ElicitationResolved(ElicitationResolved { turn, .. })
            | Self::TurnContinued(TurnContinued { turn, .. }) => Some(turn),
            Self::TurnCompleted(end) | Self::TurnAborted(end) | Self::TurnFailed(end) | Self::TurnRejected(end) => {
                Some(&end.turn)
            }
            Self::SessionFault(fault) => fault.turn.as_ref(),
            Self::UsageRecorded(recorded) => recorded.turn.as_ref(),
            _ => None,
        }
    }

    /// The plugin that the record is about, or that had a part in it.
    pub fn plugin(&self) -> Option<&PluginName> {
        match self {
            Self::ReceiptRecorded(receipt) => Some(&receipt.plugin),
            Self::PluginActivated(change)
            | Self::PluginSwapped(change)
            | Self::PluginRefused(change)
            | Self::PluginDrained(change) => Some(&change.plugin),
            Self::SessionFault(SessionFault { build: Some(build), .. })
            | Self::ElicitationRequested(ElicitationRequested { build: Some(build), .. })
            | Self::UsageRecorded(UsageRecorded { build: Some(build), .. })
            | Self::CallEnded(CallEnded { build: Some(build), .. }) => Some(&build.plugin),
            _ => None,
        }
    }

    /// How the turn ended, when the record is the terminal one of a turn.
    pub fn turn_outcome(&self) -> Option<TurnOutcome> {
        match self {
            Self::TurnCompleted(_) => Some(TurnOutcome::Completed),
            Self::TurnFailed(_) => Some(TurnOutcome::Failed),
            Self::TurnRejected(_) => Some(TurnOutcome::Rejected),
            Self::TurnAborted(end) if end.stop_reason() == Some(StopReason::CancelledByPerson) => {
                Some(TurnOutcome::Cancelled)
            }
            Self::TurnAborted(_) => Some(TurnOutcome::Interrupted),
            _ => None,
        }
    }

    /// The turn's end, when the record is the terminal one of a turn.
    pub fn turn_ended(&self) -> Option<&TurnEnded> {
        match self {
            Self::TurnCompleted(end) | Self::TurnAborted(end) | Self::TurnFailed(end) | Self::TurnRejected(end) => {
                Some(end)
            }
            _ => None,
        }
    }
}

/// A record that this build can't read.
#[derive(Clone, Debug)]
pub struct UnknownRecord {
    /// Its kind.
    pub kind: String,
    /// Its body, as it is.
    pub body: Box<RawValue>,
}

impl PartialEq for UnknownRecord {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.body.get() == other.body.get()
    }
}

/// Consecutive items: the first and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// The first.
    pub first: ItemId,
    /// How many.
    pub count: u32,
}

/// Which build of which plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Build {
    /// The plugin.
    pub plugin: PluginName,
    /// SHA-256 of its component.
    pub sha256: Digest,
}

/// Why, in a word for programs and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// A stable word.
    pub code: String,
    /// One sentence; untrusted when a plugin wrote it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl Reason {
    /// A reason.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into() }
    }
}

/// What hooks said at a barrier. Hooks that changed nothing share one short field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookNotes {
    /// Those that had nothing to say: `plugin@first-12-digits`, separated by spaces.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub passed: String,
    /// Those that decided something, or failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decided: Vec<HookDecision>,
}

impl HookNotes {
    /// Whether no hook ran.
    pub fn is_empty(&self) -> bool {
        self.passed.is_empty() && self.decided.is_empty()
    }

    /// Notes a hook that changed nothing; the same build twice takes no more room.
    pub fn pass(&mut self, build: &Build) {
        let note = format!("{}@{}", build.plugin, build.sha256.short());
        if self.passed.split(' ').any(|known| known == note) {
            return;
        }
        if !self.passed.is_empty() {
            self.passed.push(' ');
        }
        self.passed.push_str(&note);
    }
}

/// A hook's decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookDecision {
    /// The hook, such as `tool-gate`.
    pub hook: String,
    /// Who decided.
    pub build: Build,
    /// For hooks on calls, which call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallIndex>,
    /// What: `rewrite`, `annotate`, `reject`, `ask`, `deny`, `go-on`, `failed`.
    pub decision: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

/// How a session came to be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    /// It is new.
    Created,
    /// It existed.
    Resumed,
}

/// Body of `session_configured`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionConfigured {
    /// How it came to be open.
    pub opening: Opening,
    /// The selected route.
    pub route: RouteName,
    /// Owner, workspace and origin; set once.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// A JSON object, when it was given or replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<String>,
    /// The builds, by the SHA-256 of their components, without which the session does not run; when given, in place of those
    /// before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires: Option<BTreeMap<PluginName, Digest>>,
}

/// Body of `message_accepted`. The content waits in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageAccepted {
    /// The op.
    pub submission: SubmissionId,
    /// Counts the accepted messages of the session.
    pub accepted: AcceptedOrdinal,
    /// How it is to be delivered.
    pub delivery: Delivery,
    /// Bytes of payload.
    pub bytes: u64,
    /// Digest of the content.
    pub digest: Digest,
}

/// Body of `model_changed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelChanged {
    /// The op; none when the configuration changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submission: Option<SubmissionId>,
    /// The route that is selected from here on.
    pub route: RouteName,
}

/// Body of `turn_started`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnStarted {
    /// The turn.
    pub turn: TurnId,
    /// The op that brought the message.
    pub submission: SubmissionId,
    /// The message's number.
    pub accepted: AcceptedOrdinal,
    /// The message and what hooks added; none when a hook rejected it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Span>,
    /// What hooks said.
    #[serde(default, skip_serializing_if = "HookNotes::is_empty")]
    pub hooks: HookNotes,
}

/// Body of `step_opened`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepOpened {
    /// The turn.
    pub turn: TurnId,
    /// The step.
    pub step: StepIndex,
    /// The route that it takes.
    pub route: RouteName,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// Its output was accepted.
    Completed,
    /// No attempt gave output that could be accepted.
    Failed,
    /// It was called off, by a person or by a restart.
    Interrupted,
}

/// One attempt at a model call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// The route.
    pub route: RouteName,
    /// The adapter that served it; none when it could not be found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<AttemptError>,
    /// How long it took, in milliseconds.
    pub ms: u64,
}

/// Why an attempt at a model call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptError {
    /// The adapter returned an error.
    Adapter(PluginError),
    /// The adapter could not be run to its end.
    Call(CallFailure),
}

/// A tool call as the model planned it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedCall {
    /// Its item, which holds call id and arguments.
    pub item: ItemId,
    /// The tool's name.
    pub tool: String,
    /// The provider's id.
    pub call_id: String,
}

/// Body of `step_completed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepCompleted {
    /// The turn.
    pub turn: TurnId,
    /// The step.
    pub step: StepIndex,
    /// How it ended.
    pub outcome: StepOutcome,
    /// Each attempt, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
    /// The items that were accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Span>,
    /// The planned calls; a call's index is its position.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<PlannedCall>,
    /// The last message of the model in this step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_message: Option<ItemId>,
    /// Whose output was accepted last: the route and its context group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_owner: Option<ContextOwner>,
    /// How the model ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
}

/// The route whose output was accepted last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextOwner {
    /// The route.
    pub route: RouteName,
    /// Its context group.
    pub context_group: String,
}

/// Body of `calls_decided`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallsDecided {
    /// The turn.
    pub turn: TurnId,
    /// The step.
    pub step: StepIndex,
    /// The calls that were decided.
    pub calls: Vec<CallDecision>,
    /// What gates said.
    #[serde(default, skip_serializing_if = "HookNotes::is_empty")]
    pub hooks: HookNotes,
}

/// A decision over one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallDecision {
    /// The call.
    pub index: CallIndex,
    /// What was decided.
    pub verdict: CallVerdict,
}

/// What was decided over a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallVerdict {
    /// It may run, on this build, with this effect class.
    Allowed {
        /// Who serves it.
        build: Build,
        /// What may be done after a crash.
        effect: Effect,
        /// Whether it may overlap.
        execution: Execution,
    },
    /// A person is asked; an `approval_requested` record follows.
    Asked,
    /// It does not run; a `call_ended` record follows.
    Denied(Reason),
}

/// Body of `approval_requested`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalRequested {
    /// The question.
    pub approval: ApprovalId,
    /// The turn.
    pub turn: TurnId,
    /// The step.
    pub step: StepIndex,
    /// The call.
    pub index: CallIndex,
    /// The item that holds the arguments.
    pub item: ItemId,
    /// The tool's name.
    pub tool: String,
    /// Digest of the tool's definition, as shown.
    pub definition: Digest,
    /// Digest of the final arguments, as shown.
    pub arguments: Digest,
    /// Who asks, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
    /// The answered question that this one replaces: definition or arguments are no longer what the person saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<ApprovalId>,
}

/// How an approval ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// The person allowed the call.
    Approved,
    /// The person refused it.
    Denied,
    /// It was taken away: the turn ended.
    Dismissed,
}

/// Body of `approval_resolved`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalResolved {
    /// The question.
    pub approval: ApprovalId,
    /// The turn.
    pub turn: TurnId,
    /// The call.
    pub index: CallIndex,
    /// How it ended.
    pub resolution: Resolution,
    /// The op that answered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submission: Option<SubmissionId>,
    /// What the person said beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// Body of `run_started`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunStarted {
    /// The turn.
    pub turn: TurnId,
    /// The step.
    pub step: StepIndex,
    /// The calls that start now, together.
    pub calls: Vec<Intent>,
}

/// The intent to run a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Intent {
    /// The call.
    pub index: CallIndex,
    /// Counts its starts from 1.
    pub attempt: u32,
    /// Who serves it.
    pub build: Build,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// The tool gave a result; it may still be bad news.
    Returned,
    /// The tool's call failed.
    Failed(CallFailure),
    /// Policy, a gate or a person refused it: it never ran.
    Denied(Reason),
    /// It was called off before it had started.
    Skipped(Reason),
    /// It was called off, or lost in a crash, after it had started: what it did is unknown.
    Unknown(Reason),
}

/// Body of `call_ended`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallEnded {
    /// The turn.
    pub turn: TurnId,
    /// The step.
    pub step: StepIndex,
    /// The call.
    pub index: CallIndex,
    /// The tool's name.
    pub tool: String,
    /// The provider's id.
    pub call_id: String,
    /// The item that holds the result.
    pub item: ItemId,
    /// Whether the model reads it as an error.
    pub is_error: bool,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Who served it; none when it never ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub ms: u64,
}

/// Body of `run_interrupted`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunInterrupted {
    /// The turn.
    pub turn: TurnId,
    /// The step.
    pub step: StepIndex,
    /// The calls: pure or idempotent ones, which may start again.
    pub calls: Vec<CallIndex>,
}

/// Body of `turn_continued`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnContinued {
    /// The turn.
    pub turn: TurnId,
    /// The message that the hook added.
    pub item: ItemId,
    /// What hooks said.
    #[serde(default, skip_serializing_if = "HookNotes::is_empty")]
    pub hooks: HookNotes,
}

/// Body of the four kinds that end a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnEnded {
    /// The turn.
    pub turn: TurnId,
    /// The op that brought its message.
    pub submission: SubmissionId,
    /// The message's number.
    pub accepted: AcceptedOrdinal,
    /// Why, for everything but plain completion; builds before 0.2.0 gave only `reason`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopReason>,
    /// Why, in the words of whoever ended it, for everything but plain completion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The op that called it off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted_by: Option<SubmissionId>,
    /// Steps whose output was accepted.
    pub steps: u32,
    /// Calls that got a result.
    pub tool_calls: u32,
    /// Those of them whose result is an error.
    pub failed_tool_calls: u32,
    /// What all attempts cost together.
    pub usage: Usage,
    /// The last message of the assistant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_message: Option<ItemId>,
    /// What stop hooks said.
    #[serde(default, skip_serializing_if = "HookNotes::is_empty")]
    pub hooks: HookNotes,
}

impl TurnEnded {
    /// Why the turn ended, whichever build wrote the record; none for plain completion.
    pub fn stop_reason(&self) -> Option<StopReason> {
        let called_off = self.interrupted_by.as_ref().map(|_| StopReason::CancelledByPerson);
        self.stop.or(called_off).or_else(|| self.reason.as_ref().map(|reason| StopReason::of_code(&reason.code)))
    }
}

/// Body of `session_fault`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionFault {
    /// A stable word, such as `input-hook-failed`.
    pub code: String,
    /// What happened, for people.
    pub message: String,
    /// The turn that it happened in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The plugin that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
    /// The end of what the guest wrote to stderr.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// Whether the session does nothing more until it is tried again.
    #[serde(default)]
    pub parks: bool,
}

/// Body of `session_retried`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionRetried {
    /// Why now: `requested`, `plugin-swapped`.
    pub cause: String,
}

/// Body of the plugin lifecycle kinds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PluginLifecycle {
    /// The plugin.
    pub plugin: PluginName,
    /// The build that this is about.
    pub sha256: Digest,
    /// The version in its manifest.
    pub version: String,
    /// The build that it replaced, or would have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<Digest>,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}
