//! What outsiders get to see of sessions and plugins. Serialised on the control socket: fields may be added, never renamed.

use std::collections::BTreeMap;

use mainstay_protocol::{
    AcceptedOrdinal, ApprovalId, CallIndex, Digest, ElicitationId, ItemId, Ordinal, PluginName, RouteName, SessionId,
    StepIndex, SubmissionId, Timestamp, TurnId,
    op::Labels,
    record::v1::{ActivityChanged, Archive, Build, ContextOwner, OperationBegun, Reason, TurnOutcome},
    tool::ToolDefinition,
};
use serde::{Deserialize, Serialize};

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRow {
    /// The session.
    pub session: SessionId,
    /// `idle`, `queued`, `running`, `waiting` (for a person) or `parked`.
    pub phase: String,
    /// The selected route.
    pub route: Option<RouteName>,
    /// Turns that ended.
    pub turns: u64,
    /// The last record.
    pub head: Ordinal,
    /// When it was created.
    pub created_at: Timestamp,
    /// When something was last committed.
    pub updated_at: Timestamp,
}

/// A session as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionView {
    /// The row of the list.
    #[serde(flatten)]
    pub row: SessionRow,
    /// Owner, workspace and origin.
    pub labels: Labels,
    /// A JSON object.
    pub metadata: serde_json::Value,
    /// The route whose output was accepted last.
    pub context_owner: Option<ContextOwner>,
    /// How often the context changed hands or was compacted.
    pub context_epoch: u32,
    /// Turns that were aborted.
    pub aborted_turns: u64,
    /// The turn that runs.
    pub turn: Option<TurnView>,
    /// The last item of the transcript; 0 when there is none.
    pub last_item: ItemId,
    /// The messages that wait.
    pub queue: Vec<QueuedView>,
    /// The approvals that wait for an answer, in call order.
    pub approvals: Vec<ApprovalView>,
    /// The forms that wait for an answer, in the order in which they were asked.
    #[serde(default)]
    pub elicitations: Vec<ElicitationView>,
    /// How the last turn ended.
    #[serde(default)]
    pub last_outcome: Option<TurnOutcome>,
    /// What the session is about, as those who run it told; untrusted.
    #[serde(default)]
    pub activity: Option<ActivityChanged>,
    /// The owned operation that runs.
    #[serde(default)]
    pub operation: Option<OperationBegun>,
    /// What the last checkpoint that ended well wrote.
    #[serde(default)]
    pub archive: Option<Archive>,
    /// Why the last checkpoint failed, unless one ended well after it; untrusted.
    #[serde(default)]
    pub checkpoint_warning: Option<String>,
    /// The builds, by the SHA-256 of their components, without which the session does not run.
    #[serde(default)]
    pub requires: BTreeMap<PluginName, Digest>,
    /// Why the session's driver stopped, if it did.
    pub stopped: Option<String>,
}

/// A running turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnView {
    /// Its id.
    pub turn: TurnId,
    /// The op that brought its message.
    pub submission: SubmissionId,
    /// The step that is open or comes next.
    pub step: StepIndex,
    /// `ready`, `model`, `calls` or `completion`.
    pub phase: String,
}

/// A message that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueuedView {
    /// The op that brought it.
    pub submission: SubmissionId,
    /// Its number.
    pub accepted: AcceptedOrdinal,
    /// Bytes of payload.
    pub bytes: u64,
}

/// An approval that waits for an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalView {
    /// The question.
    pub approval: ApprovalId,
    /// The turn.
    pub turn: TurnId,
    /// The step.
    pub step: StepIndex,
    /// The call.
    pub call: CallIndex,
    /// The tool's name.
    pub tool: String,
    /// The final arguments: JSON text, untrusted.
    pub arguments: String,
    /// Who asks and why; untrusted where a plugin wrote it.
    pub reasons: Vec<Reason>,
}

/// A form that waits for an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElicitationView {
    /// The question.
    pub elicitation: ElicitationId,
    /// The turn that asks.
    pub turn: TurnId,
    /// For a call that asks, its step.
    pub step: Option<StepIndex>,
    /// For a call that asks, which one.
    pub call: Option<CallIndex>,
    /// What is asked: JSON text of an object that describes the form; untrusted where a plugin wrote it.
    pub request: String,
    /// The plugin that asks.
    pub build: Option<Build>,
}

/// An active plugin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PluginView {
    /// The name under which the operator installed it.
    pub plugin: PluginName,
    /// The version in its manifest.
    pub version: String,
    /// SHA-256 of the component.
    pub sha256: Digest,
    /// What it exports of the interface package.
    pub exports: Vec<String>,
    /// Its tools, as they count: with the operator's overrides.
    pub tools: Vec<ToolDefinition>,
    /// Position among hooks.
    pub order: i32,
    /// Whether a swap replaced what the manifest names.
    pub overridden: bool,
    /// Replaced builds that still serve calls.
    pub draining: Vec<Digest>,
}

/// What a swap did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SwapView {
    /// The plugin.
    pub plugin: PluginName,
    /// The build that serves from the next step on.
    pub sha256: Digest,
    /// Its version.
    pub version: String,
    /// The build that it replaced.
    pub replaced: Option<Digest>,
    /// Warnings of its self-check.
    pub warnings: Vec<String>,
}
