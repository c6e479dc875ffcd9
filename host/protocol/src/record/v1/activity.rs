//! What a session is about, as those who run it report; lines for people; usage outside of steps; compaction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Attempt, Build, HookNotes};
use crate::{ItemId, RouteName, StepIndex, TurnId, model::Usage};

/// What a session is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// Nothing.
    Idle,
    /// It works, and somebody watches.
    Working,
    /// It works, and nobody watches.
    Background,
    /// It waits for a person.
    WaitingForInput,
    /// Whoever ran it is out of reach.
    Disconnected,
    /// Something that this build does not know.
    #[serde(other)]
    Other,
}

/// Body of `activity_changed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActivityChanged {
    /// What the session is about from here on.
    pub activity: Activity,
    /// More about it, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

/// Body of `notice_added`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoticeAdded {
    /// The item, which models never see.
    pub item: ItemId,
    /// A stable word for programs.
    pub code: String,
}

/// Body of `usage_recorded`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageRecorded {
    /// The turn that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The step that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepIndex>,
    /// The route that was asked.
    pub route: RouteName,
    /// The plugin that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
    /// What it cost.
    pub usage: Usage,
}

/// Body of `context_compacted`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextCompacted {
    /// The first item that models still see, apart from the summary.
    pub keep_from: ItemId,
    /// The item that stands for what models no longer see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<ItemId>,
    /// Each attempt at a summary, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
    /// What hooks said.
    #[serde(default, skip_serializing_if = "HookNotes::is_empty")]
    pub hooks: HookNotes,
}

/// Body of `legacy_notice`: what an old record reads as when nothing newer says the same. It is never written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LegacyNotice {
    /// The kind that it was written as.
    pub original_kind: String,
    /// The command that it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<crate::SubmissionId>,
    /// What it said, for people.
    pub message: String,
}
