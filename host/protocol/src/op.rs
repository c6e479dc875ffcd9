//! Ops: a client's commands to a session, and the answers to them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{AcceptedOrdinal, ApprovalId, Digest, Ordinal, RouteName, Seq, SubmissionId, TurnId, content::Part};

/// Bytes of payload that one message may have: 1 MiB.
pub const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// Messages that may wait in a session's queue.
pub const MAX_QUEUED_MESSAGES: usize = 1_024;

/// Names and values that describe a session and never authorise: `owner`, `workspace`, `origin`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Labels(pub BTreeMap<String, String>);

impl Labels {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// How a message is to be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
}

fn queue() -> Delivery {
    Delivery::Queue
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

/// Why an op was refused. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "refusal", rename_all = "snake_case")]
pub enum Refusal {
    /// The same id came with another payload.
    #[error("submission `{submission}` was accepted before with another payload; use a new id")]
    SubmissionReused {
        /// The id.
        submission: SubmissionId,
    },
    /// The message has no content, or something in it is not legal.
    #[error("the message can't be accepted: {reason}")]
    InvalidMessage {
        /// What is wrong.
        reason: String,
    },
    /// The message is too large.
    #[error("the message has {bytes} bytes and may have {allowed}; send less, or attach it as a file")]
    MessageTooLarge {
        /// Its size.
        bytes: u64,
        /// What is allowed.
        allowed: u64,
    },
    /// The queue is full.
    #[error("{allowed} messages are waiting already; wait for a turn to end, or withdraw one")]
    QueueFull {
        /// How many may wait.
        allowed: u64,
    },
    /// No turn runs, or another one.
    #[error("turn `{turn}` is not running; it may have ended already")]
    StaleTurn {
        /// The turn that was named.
        turn: TurnId,
    },
    /// The approval was answered before.
    #[error("approval `{approval}` is already resolved")]
    AlreadyResolved {
        /// The question.
        approval: ApprovalId,
    },
    /// There is no such approval.
    #[error("this session has no approval `{approval}`; `mainstay session show` lists what is pending")]
    UnknownApproval {
        /// The question.
        approval: ApprovalId,
    },
    /// There is no such route.
    #[error("no route is named `{route}`; the manifest has: {known}")]
    UnknownRoute {
        /// The route that was named.
        route: RouteName,
        /// Those that exist.
        known: String,
    },
    /// The session is not parked.
    #[error("the session is not parked: there is nothing to try again")]
    NotParked,
    /// This version does not do that.
    #[error("{what} is not served by this version")]
    Unsupported {
        /// What.
        what: String,
    },
    /// Too many ops are waiting. Retryable.
    #[error("the session is busy: {waiting} ops are waiting; try again")]
    Busy {
        /// How many.
        waiting: u64,
    },
    /// There is no such session.
    #[error("there is no session `{session}`; `mainstay session list` shows those that exist")]
    UnknownSession {
        /// The id.
        session: String,
    },
    /// The session's driver stopped, or the host is shutting down. Retryable after a restart.
    #[error("the session does not run: {reason}")]
    Stopped {
        /// Why.
        reason: String,
    },
}

impl Refusal {
    /// Whether the same op may be accepted later.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::QueueFull { .. } | Self::Stopped { .. })
    }
}
