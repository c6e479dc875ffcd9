//! Ops: a client's commands to a session, and the answers to them.

mod refusal;

use std::collections::BTreeMap;

pub use refusal::Refusal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AcceptedOrdinal, ApprovalId, Digest, ElicitationId, Ordinal, RouteName, Seq, SubmissionId, TurnId,
    content::Part,
    record::v1::{Activity, Archive, CommandKind, CommandReason, OperationOwner},
};

/// Bytes of payload that one message may have: 1 MiB.
pub const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// Messages that may wait in a session's queue.
pub const MAX_QUEUED_MESSAGES: usize = 1_024;
/// Bytes that a form, or what a person filled in, may have: 64 KiB.
pub const MAX_FORM_BYTES: usize = 64 << 10;
/// Bytes of details and messages that are kept; the rest is cut off.
pub const MAX_TEXT_BYTES: usize = 2_000;
/// Bytes of a fault's code that are kept.
pub const MAX_CODE_BYTES: usize = 64;
/// Other commands that may belong to an owned operation.
pub const MAX_RELATED: usize = 64;

/// Names and values that describe a session and never authorise: `owner`, `workspace`, `origin`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Labels(pub BTreeMap<String, String>);

impl Labels {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How a message is to be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// It starts a turn of its own, after those before it.
    Queue,
    /// It joins the running turn at its next step.
    Steer,
}

/// A person's answer to an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalAnswer {
    /// Run the call.
    Approve,
    /// Don't.
    Deny,
}

/// A person's answer to a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FormAnswer {
    /// It is filled.
    Accept,
    /// The person says no.
    Decline,
}

/// What a client asks of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Op {
    /// Queue a message.
    Submit {
        /// What it says.
        content: Vec<Part>,
        /// How to deliver it.
        #[serde(default = "queue")]
        delivery: Delivery,
    },
    /// Call off the running turn.
    Interrupt {
        /// Which one: another is refused as stale.
        turn: TurnId,
    },
    /// Answer an approval.
    Approve {
        /// The question.
        approval: ApprovalId,
        /// The answer.
        answer: ApprovalAnswer,
        /// What the person says beside it; the model reads it with a refusal.
        #[serde(default)]
        comment: Option<String>,
    },
    /// Select a route from the next step on.
    SetModel {
        /// The route.
        route: RouteName,
    },
    /// Try a parked session again.
    Retry {},
    /// Answer a form, once.
    Answer {
        /// The question.
        elicitation: ElicitationId,
        /// The answer.
        answer: FormAnswer,
        /// With `accept`, what the person filled in: JSON text of an object of at most 64 KiB; without it, an empty one.
        #[serde(default)]
        values: Option<String>,
    },
    /// Tell what the session is about. It is recorded when it says something else than before.
    ReportActivity {
        /// What it is about.
        activity: Activity,
        /// More about it, for people: the first 2,000 bytes are kept.
        #[serde(default)]
        details: Option<String>,
    },
    /// Record something that failed outside of the host, such as the launch of a runtime. The session goes on.
    ReportFault {
        /// A stable word: the first 64 bytes are kept.
        code: String,
        /// What happened, for people: the first 2,000 bytes are kept.
        message: String,
    },
    /// Begin a checkpoint: the id of this op is the command that owns it. Refused while another operation runs.
    BeginCheckpoint {
        /// On whose behalf.
        #[serde(default = "client")]
        owner: OperationOwner,
        /// Other commands that belong to it, at most 64.
        #[serde(default)]
        related: Vec<SubmissionId>,
    },
    /// Tell of another command that belongs to the running checkpoint.
    CorrelateCheckpoint {
        /// The command that owns the checkpoint.
        command: SubmissionId,
        /// The other one; in all there are at most 64.
        related: SubmissionId,
    },
    /// End a checkpoint well: its archive takes the place of the one before it. Refused unless the command owns it.
    SaveCheckpoint {
        /// The command that owns the checkpoint.
        command: SubmissionId,
        /// What was written.
        archive: Archive,
    },
    /// End a checkpoint that failed; the archive before it is kept, and the session shows a warning. Changes nothing when the
    /// command does not own the checkpoint any more.
    FailCheckpoint {
        /// The command that owns the checkpoint.
        command: SubmissionId,
        /// Why, for people: the first 2,000 bytes are kept.
        message: String,
    },
    /// Put a checkpoint off; the archive before it and the warning stay as they are. Changes nothing when the command does not
    /// own the checkpoint any more.
    DeferCheckpoint {
        /// The command that owns the checkpoint.
        command: SubmissionId,
        /// Why, for people: the first 2,000 bytes are kept.
        message: String,
    },
    /// Record that a command ended. Changes nothing when it has ended already. A checkpoint can't complete by this: that takes
    /// its archive.
    EndCommand {
        /// The command.
        command: SubmissionId,
        /// What it does.
        kind: CommandKind,
        /// Why it did not complete; without it, it completed.
        #[serde(default)]
        reason: Option<CommandReason>,
        /// What happened, for people: the first 2,000 bytes are kept.
        #[serde(default)]
        message: String,
    },
}

fn queue() -> Delivery {
    Delivery::Queue
}

fn client() -> OperationOwner {
    OperationOwner::Client
}

impl Op {
    /// The digest by which a repeated op is recognised.
    pub fn digest(&self) -> Digest {
        let payload = serde_json::to_vec(self).expect("an op holds nothing that JSON can't");
        Digest::of_fields("mainstay/op/1", &[&payload])
    }
}

/// The answer to an op that is durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The op.
    pub submission: SubmissionId,
    /// The position of its record in the session.
    pub ordinal: Ordinal,
    /// Its global position, when its record is a feed event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<Seq>,
    /// For a message, its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<AcceptedOrdinal>,
    /// Whether the same op had been accepted before; then nothing new happened.
    #[serde(default)]
    pub already: bool,
}
