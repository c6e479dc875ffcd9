//! Refusals: why an op changes nothing, in types that programs can tell apart and sentences that say what to do next.

use serde::{Deserialize, Serialize};

use crate::{ApprovalId, Digest, ElicitationId, PluginName, RouteName, SubmissionId, TurnId};

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
    /// The session was forgotten: nothing revives it.
    #[error("session `{session}` was forgotten; nothing of it is left, and its id is not used again")]
    SessionGone {
        /// Its id.
        session: String,
    },
    /// There is no such approval.
    #[error("this session has no approval `{approval}`; `mainstay session show` lists what is pending")]
    UnknownApproval {
        /// The question.
        approval: ApprovalId,
    },
    /// The form was answered, or taken away, before.
    #[error("form `{elicitation}` is already resolved")]
    ElicitationResolved {
        /// The question.
        elicitation: ElicitationId,
    },
    /// There is no such form.
    #[error("this session has no form `{elicitation}`; `mainstay session show` lists what is pending")]
    UnknownElicitation {
        /// The question.
        elicitation: ElicitationId,
    },
    /// A form, or what a person filled in, is not legal.
    #[error("the form can't be accepted: {reason}")]
    InvalidForm {
        /// What is wrong.
        reason: String,
    },
    /// Another owned operation runs.
    #[error("the operation of command `{running}` is running; wait for its end, or end it")]
    OperationRunning {
        /// The command that owns it.
        running: SubmissionId,
    },
    /// The command owns no operation of the session, or no longer.
    #[error("command `{command}` does not own the session's operation; it may have ended already")]
    StaleOwner {
        /// The command.
        command: SubmissionId,
    },
    /// A command of this id has ended.
    #[error("command `{command}` has ended already; use a new id")]
    AlreadyEnded {
        /// The command.
        command: SubmissionId,
    },
    /// A checkpoint can't end well without its archive.
    #[error("the checkpoint of command `{command}` can't complete without its archive; save it with `save-checkpoint`")]
    ArchiveMissing {
        /// The command.
        command: SubmissionId,
    },
    /// Something that the op says is not legal.
    #[error("the op can't be accepted: {reason}")]
    InvalidOp {
        /// What is wrong.
        reason: String,
    },
    /// The session requires another build than the one that is active.
    #[error(
        "the session requires build {required} of plugin `{plugin}`, and {}; activate it, or open the session with other \
         requirements",
        found_build(found.as_ref())
    )]
    RequiredBuildMissing {
        /// The plugin.
        plugin: PluginName,
        /// SHA-256 of the component that is required.
        required: Digest,
        /// SHA-256 of the component that is active; none when the plugin is not active at all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        found: Option<Digest>,
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

fn found_build(found: Option<&Digest>) -> String {
    found.map_or_else(|| "the plugin is not active".to_owned(), |found| format!("build {found} is active"))
}

impl Refusal {
    /// Whether the same op may be accepted later.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::QueueFull { .. } | Self::Stopped { .. })
    }
}
