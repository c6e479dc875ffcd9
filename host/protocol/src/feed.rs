//! The feed: what clients are told of all sessions, in one global order. An event is a record, seen from outside: kinds that
//! mean the same to a client are one kind here, and shapes of old builds read as those of today.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    AcceptedOrdinal, ApprovalId, CallIndex, Digest, Ordinal, Seq, SessionId, StepIndex, SubmissionId, TenantId,
    Timestamp, TurnId,
    model::Usage,
    receipt::Receipt,
    record::{
        RecordBody, StoredRecord,
        v1::{
            ActivityChanged, CommandEnded, ElicitationResolution, LegacyNotice, PluginLifecycle, Reason, Resolution,
            SessionFault, StopReason, TurnOutcome,
        },
    },
};

macro_rules! feed_kinds {
    ($($(#[doc = $doc:literal])* $variant:ident = $word:literal;)*) => {
        /// As what an event is told.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        pub enum FeedKind {
            $($(#[doc = $doc])* #[serde(rename = $word)] $variant,)*
        }

        impl FeedKind {
            /// Each kind with its word and its meaning.
            pub const ALL: &[(Self, &'static str, &'static [&'static str])] =
                &[$((Self::$variant, $word, &[$($doc),*])),*];

            /// The word, as clients see it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }
    };
}

feed_kinds! {
    /// A message left the queue and its turn began.
    TurnStarted = "turn_started";
    /// A turn ended, in one of five ways.
    TurnEnded = "turn_ended";
    /// A person is asked: may a call run, or to fill a form.
    InputRequired = "input_required";
    /// A question was answered or taken away.
    InputResolved = "input_resolved";
    /// A command ended.
    CommandEnded = "command_ended";
    /// Something failed that people should know of.
    SessionFault = "session_fault";
    /// What a session is about has changed.
    Activity = "activity";
    /// Other code serves a session from here on.
    RuntimeReceipt = "runtime_receipt";
    /// A build of a plugin became active, took another's place, was refused, or has drained.
    PluginLifecycle = "plugin_lifecycle";
    /// An old event that nothing newer says the same as.
    LegacyNotice = "legacy_notice";
    /// An event of a kind that this build does not know, with its body.
    Unknown = "unknown";
}

impl FeedKind {
    /// As what the feed tells a record, by its kind as it is stored, kinds of old builds among them. A kind that this build does
    /// not tell is [`Self::Unknown`]: only a build that tells it can have put it into the feed.
    pub fn of_record(kind: &str) -> Self {
        let known = RecordBody::KINDS.iter().find(|known| known.name == kind).and_then(|known| known.feed);
        known.or_else(|| crate::record::legacy_feed_kind(kind)).unwrap_or(Self::Unknown)
    }
}

impl std::str::FromStr for FeedKind {
    type Err = UnknownFeedKind;

    fn from_str(word: &str) -> Result<Self, UnknownFeedKind> {
        let known = Self::ALL.iter().find(|(_, known, _)| *known == word);
        known.map(|(kind, ..)| *kind).ok_or_else(|| UnknownFeedKind(word.chars().take(80).collect()))
    }
}

/// A word that names no kind of feed event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no kind of feed event; the kinds are: {known}", known = known_kinds())]
pub struct UnknownFeedKind(String);

fn known_kinds() -> String {
    FeedKind::ALL.iter().map(|(_, word, _)| *word).collect::<Vec<_>>().join(", ")
}

/// An event: a record at its global place.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FeedEvent {
    /// The global position.
    pub seq: Seq,
    /// The owner of the session.
    pub tenant: TenantId,
    /// The session; the host's own for plugin lifecycle.
    pub session: SessionId,
    /// The position of the record in its session.
    pub ordinal: Ordinal,
    /// When it happened.
    pub at: Timestamp,
    /// The digest of the record.
    pub digest: Digest,
    /// What happened.
    #[serde(flatten)]
    pub body: FeedBody,
}

impl FeedEvent {
    /// The event that a record is; none when it is none.
    pub fn of(record: &StoredRecord) -> Option<Self> {
        Some(Self {
            seq: record.seq?,
            tenant: record.tenant.clone(),
            session: record.session.clone(),
            ordinal: record.ordinal,
            at: record.at,
            digest: record.digest,
            body: FeedBody::of(&record.body)?,
        })
    }
}

/// What happened, as clients are told.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum FeedBody {
    /// A message left the queue and its turn began.
    TurnStarted(TurnStartedEvent),
    /// A turn ended.
    TurnEnded(TurnEndedEvent),
    /// A person is asked.
    InputRequired(InputRequiredEvent),
    /// A question was answered or taken away.
    InputResolved(InputResolvedEvent),
    /// A command ended.
    CommandEnded(CommandEnded),
    /// Something failed.
    SessionFault(SessionFault),
    /// What the session is about has changed.
    Activity(ActivityChanged),
    /// Other code serves the session from here on.
    RuntimeReceipt(RuntimeReceiptEvent),
    /// A build of a plugin changed its standing.
    PluginLifecycle(PluginLifecycleEvent),
    /// An old event that nothing newer says the same as.
    LegacyNotice(LegacyNotice),
    /// An event that this build does not know.
    Unknown(UnknownEvent),
}

/// A turn began.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TurnStartedEvent {
    /// The turn.
    pub turn: TurnId,
    /// The op that brought its message.
    pub command: SubmissionId,
    /// The message's number.
    pub accepted: AcceptedOrdinal,
}

/// A turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TurnEndedEvent {
    /// The turn.
    pub turn: TurnId,
    /// How.
    pub outcome: TurnOutcome,
    /// Why, for everything but plain completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// The words of whoever ended it; untrusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The op that brought its message.
    pub command: SubmissionId,
    /// The message's number.
    pub accepted: AcceptedOrdinal,
    /// Steps whose output was accepted.
    pub steps: u32,
    /// Calls that got a result.
    pub tool_calls: u32,
    /// Those of them whose result is an error.
    pub failed_tool_calls: u32,
    /// What all attempts cost together.
    pub usage: Usage,
}

/// A person is asked.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct InputRequiredEvent {
    /// The question's id.
    pub input: String,
    /// The turn that asks.
    pub turn: TurnId,
    /// The message of that turn, by its number, where the record has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<AcceptedOrdinal>,
    /// For a call, its step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<StepIndex>,
    /// For a call, which one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallIndex>,
    /// What is asked.
    #[serde(flatten)]
    pub question: Question,
}

/// What a person is asked.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "question", rename_all = "snake_case")]
pub enum Question {
    /// May this call run?
    Approval {
        /// The tool's name.
        tool: String,
        /// Who asks, and why.
        reasons: Vec<Reason>,
        /// The answered question that this one replaces.
        #[serde(skip_serializing_if = "Option::is_none")]
        supersedes: Option<ApprovalId>,
    },
    /// Please fill this form.
    Form {
        /// A JSON object that describes the form.
        request: String,
    },
}

/// A question was answered or taken away.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct InputResolvedEvent {
    /// The question's id.
    pub input: String,
    /// The turn that asked.
    pub turn: TurnId,
    /// The message of that turn, by its number, where the record has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<AcceptedOrdinal>,
    /// How it ended.
    pub resolution: InputResolution,
    /// The op that answered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<SubmissionId>,
}

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputResolution {
    /// The call may run, or the form was filled.
    Accepted,
    /// The call may not run, or the form was refused.
    Declined,
    /// It was taken away: the turn ended.
    Dismissed,
}

/// Other code serves a session.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RuntimeReceiptEvent {
    /// The receipt's id: the digest of all that it says.
    pub receipt_id: Digest,
    /// Which code.
    pub receipt: Receipt,
}

/// A build of a plugin changed its standing.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PluginLifecycleEvent {
    /// How.
    pub change: PluginChange,
    /// Which build, and why.
    #[serde(flatten)]
    pub lifecycle: PluginLifecycle,
}

/// How a build of a plugin changed its standing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PluginChange {
    /// It became active.
    Activated,
    /// It took another's place.
    Swapped,
    /// It was refused.
    Refused,
    /// Its last call ended after it was replaced.
    Drained,
}

/// An event that this build does not know.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UnknownEvent {
    /// The kind, as stored.
    pub original_kind: String,
    /// The body, as stored.
    #[schemars(with = "serde_json::Value")]
    pub body: Box<RawValue>,
}

impl PartialEq for UnknownEvent {
    fn eq(&self, other: &Self) -> bool {
        self.original_kind == other.original_kind && self.body.get() == other.body.get()
    }
}

impl FeedBody {
    /// As what the event is told.
    pub const fn kind(&self) -> FeedKind {
        match self {
            Self::TurnStarted(_) => FeedKind::TurnStarted,
            Self::TurnEnded(_) => FeedKind::TurnEnded,
            Self::InputRequired(_) => FeedKind::InputRequired,
            Self::InputResolved(_) => FeedKind::InputResolved,
            Self::CommandEnded(_) => FeedKind::CommandEnded,
            Self::SessionFault(_) => FeedKind::SessionFault,
            Self::Activity(_) => FeedKind::Activity,
            Self::RuntimeReceipt(_) => FeedKind::RuntimeReceipt,
            Self::PluginLifecycle(_) => FeedKind::PluginLifecycle,
            Self::LegacyNotice(_) => FeedKind::LegacyNotice,
            Self::Unknown(_) => FeedKind::Unknown,
        }
    }

    /// What a record says to clients; none when it is of a kind that the feed does not tell.
    pub fn of(body: &RecordBody) -> Option<Self> {
        let lifecycle = |change, lifecycle: &PluginLifecycle| {
            Self::PluginLifecycle(PluginLifecycleEvent { change, lifecycle: lifecycle.clone() })
        };
        Some(match body {
            RecordBody::TurnStarted(started) => Self::TurnStarted(TurnStartedEvent {
                turn: started.turn.clone(),
                command: started.submission.clone(),
                accepted: started.accepted,
            }),
            RecordBody::TurnCompleted(_)
            | RecordBody::TurnAborted(_)
            | RecordBody::TurnFailed(_)
            | RecordBody::TurnRejected(_) => Self::TurnEnded(turn_ended(body)?),
            RecordBody::ApprovalRequested(_) | RecordBody::ElicitationRequested(_) => {
                Self::InputRequired(input_required(body)?)
            }
            RecordBody::ApprovalResolved(_) | RecordBody::ElicitationResolved(_) => {
                Self::InputResolved(input_resolved(body)?)
            }
            RecordBody::CommandEnded(ended) => Self::CommandEnded(ended.clone()),
            RecordBody::SessionFault(fault) => Self::SessionFault(fault.clone()),
            RecordBody::ActivityChanged(changed) => Self::Activity(changed.clone()),
            RecordBody::ReceiptRecorded(receipt) => {
                Self::RuntimeReceipt(RuntimeReceiptEvent { receipt_id: receipt.id(), receipt: receipt.clone() })
            }
            RecordBody::PluginActivated(body) => lifecycle(PluginChange::Activated, body),
            RecordBody::PluginSwapped(body) => lifecycle(PluginChange::Swapped, body),
            RecordBody::PluginRefused(body) => lifecycle(PluginChange::Refused, body),
            RecordBody::PluginDrained(body) => lifecycle(PluginChange::Drained, body),
            RecordBody::LegacyNotice(notice) => Self::LegacyNotice(notice.clone()),
            RecordBody::Unknown(unknown) => {
                Self::Unknown(UnknownEvent { original_kind: unknown.kind.clone(), body: unknown.body.clone() })
            }
            _ => return None,
        })
    }
}

fn turn_ended(body: &RecordBody) -> Option<TurnEndedEvent> {
    let (ended, outcome) = (body.turn_ended()?, body.turn_outcome()?);
    Some(TurnEndedEvent {
        turn: ended.turn.clone(),
        outcome,
        stop_reason: ended.stop_reason(),
        reason: ended.reason.clone(),
        command: ended.submission.clone(),
        accepted: ended.accepted,
        steps: ended.steps,
        tool_calls: ended.tool_calls,
        failed_tool_calls: ended.failed_tool_calls,
        usage: ended.usage.clone(),
    })
}

fn input_required(body: &RecordBody) -> Option<InputRequiredEvent> {
    match body {
        RecordBody::ApprovalRequested(asked) => Some(InputRequiredEvent {
            input: asked.approval.to_string(),
            turn: asked.turn.clone(),
            accepted: None,
            step: Some(asked.step),
            call: Some(asked.index),
            question: Question::Approval {
                tool: asked.tool.clone(),
                reasons: asked.reasons.clone(),
                supersedes: asked.supersedes.clone(),
            },
        }),
        RecordBody::ElicitationRequested(asked) => Some(InputRequiredEvent {
            input: asked.elicitation.to_string(),
            turn: asked.turn.clone(),
            accepted: Some(asked.accepted),
            step: asked.step,
            call: asked.call,
            question: Question::Form { request: asked.request.clone() },
        }),
        _ => None,
    }
}

fn input_resolved(body: &RecordBody) -> Option<InputResolvedEvent> {
    match body {
        RecordBody::ApprovalResolved(resolved) => Some(InputResolvedEvent {
            input: resolved.approval.to_string(),
            turn: resolved.turn.clone(),
            accepted: None,
            resolution: match resolved.resolution {
                Resolution::Approved => InputResolution::Accepted,
                Resolution::Denied => InputResolution::Declined,
                Resolution::Dismissed => InputResolution::Dismissed,
            },
            command: resolved.submission.clone(),
        }),
        RecordBody::ElicitationResolved(resolved) => Some(InputResolvedEvent {
            input: resolved.elicitation.to_string(),
            turn: resolved.turn.clone(),
            accepted: Some(resolved.accepted),
            resolution: match resolved.resolution {
                ElicitationResolution::Accepted => InputResolution::Accepted,
                ElicitationResolution::Declined => InputResolution::Declined,
                ElicitationResolution::Dismissed => InputResolution::Dismissed,
            },
            command: resolved.submission.clone(),
        }),
        _ => None,
    }
}
