//! Elicitations: durable questions to a person in the form of a form, and their answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Build;
use crate::{AcceptedOrdinal, CallIndex, ElicitationId, StepIndex, SubmissionId, TurnId};

/// Body of `elicitation_requested`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ElicitationRequested {
    /// The question.
    pub elicitation: ElicitationId,
    /// The turn that asks.
    pub turn: TurnId,
    /// The message of that turn, by its number.
    pub accepted: AcceptedOrdinal,
    /// For a call that asks, its step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepIndex>,
    /// For a call that asks, which one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallIndex>,
    /// What is asked: a JSON object that describes the form.
    pub request: String,
    /// The plugin that asks; untrusted text is in its request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
}

/// How an elicitation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ElicitationResolution {
    /// The person filled the form.
    Accepted,
    /// The person said no.
    Declined,
    /// It was taken away: the turn ended.
    Dismissed,
}

/// Body of `elicitation_resolved`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ElicitationResolved {
    /// The question.
    pub elicitation: ElicitationId,
    /// The turn that asked.
    pub turn: TurnId,
    /// The message of that turn, by its number.
    pub accepted: AcceptedOrdinal,
    /// How it ended.
    pub resolution: ElicitationResolution,
    /// The op that answered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submission: Option<SubmissionId>,
    /// With `accepted`, the values: a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<String>,
}
