//! Commands and owned operations: what was begun, by whom, and the one way in which it ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Digest, ItemId, Ordinal, SubmissionId};

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandKind {
    /// A checkpoint as a whole: an owned operation that writes a session archive.
    Checkpoint,
    /// The request to begin a checkpoint.
    BeginCheckpoint,
    /// The request to complete one.
    CompleteCheckpoint,
    /// A command of a plugin.
    PluginCommand,
    /// A kind that this build does not know.
    #[serde(other)]
    Other,
}

/// On whose behalf an operation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OperationOwner {
    /// The host itself.
    Daemon,
    /// A client of the control socket.
    Client,
    /// An owner that this build does not know.
    #[serde(other)]
    Other,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandOutcome {
    /// It did what it was for.
    Completed,
    /// It was called off, as can be expected of it.
    Cancelled,
    /// It could not do what it was for.
    Failed,
    /// It was not begun, or put off.
    Rejected,
}

/// Why a command ended otherwise than by completing. The reason decides the outcome; what a message says decides nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandReason {
    /// Whoever controlled it went away.
    ControllerDisconnected,
    /// Its owner did not survive a restart.
    OwnerLostOnRestart,
    /// Whoever controlled it was restarted.
    ControllerRestarted,
    /// It failed.
    CommandFailed,
    /// The checkpoint failed; the archive before it is kept.
    CheckpointFailed,
    /// The checkpoint was put off; the archive before it is kept.
    CheckpointDeferred,
    /// A reason that this build does not know.
    #[serde(other)]
    Other,
}

impl CommandReason {
    /// The outcome of a command that ended for this reason.
    pub const fn outcome(self) -> CommandOutcome {
        match self {
            Self::ControllerDisconnected | Self::OwnerLostOnRestart | Self::ControllerRestarted => {
                CommandOutcome::Cancelled
            }
            Self::CommandFailed | Self::CheckpointFailed | Self::Other => CommandOutcome::Failed,
            Self::CheckpointDeferred => CommandOutcome::Rejected,
        }
    }

    /// Whether the end is one that can be expected of any command: nothing that people need to read of in the transcript.
    pub const fn is_expected(self) -> bool {
        !matches!(self.outcome(), CommandOutcome::Failed)
    }
}

/// A session archive, as its checkpoint saved it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Archive {
    /// Where it is: a name for whoever wrote it, not a path of the host.
    pub name: String,
    /// SHA-256 of its bytes.
    pub sha256: Digest,
    /// Its size in bytes.
    pub bytes: u64,
    /// The last record that it holds.
    pub head: Ordinal,
}

/// Body of `operation_begun`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationBegun {
    /// The command that owns the operation.
    pub command: SubmissionId,
    /// What it does.
    pub kind: CommandKind,
    /// On whose behalf.
    pub owner: OperationOwner,
    /// Other commands that belong to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<SubmissionId>,
}

/// Body of `operation_correlated`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationCorrelated {
    /// The command that owns the operation.
    pub command: SubmissionId,
    /// Another command that belongs to it from here on.
    pub related: SubmissionId,
}

/// Body of `checkpoint_saved`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointSaved {
    /// The command that owned the operation.
    pub command: SubmissionId,
    /// What it wrote.
    pub archive: Archive,
}

/// Body of `command_ended`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandEnded {
    /// The command.
    pub command: SubmissionId,
    /// What it does.
    pub kind: CommandKind,
    /// How it ended.
    pub outcome: CommandOutcome,
    /// Why, unless it completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<CommandReason>,
    /// What happened, for people; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// For an owned operation, on whose behalf it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<OperationOwner>,
    /// Other commands that belonged to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<SubmissionId>,
    /// The people-only notice in the transcript that tells of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<ItemId>,
}
