//! How tools are described: the plugin's claims with the operator's overrides applied.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Digest;

/// What may be done with a call whose result was lost in a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// No effect outside: may run again.
    Pure,
    /// May run again with the same idempotency key.
    Idempotent,
    /// Never runs twice; a lost result stays unknown.
    AtMostOnce,
}

/// Whether calls may overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Execution {
    /// May overlap with other parallel calls of the same step.
    Parallel,
    /// Runs alone: a barrier for the calls before and after it.
    Exclusive,
}

/// Whether a person should allow a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Approval {
    /// No need.
    Unneeded,
    /// Ask, unless a rule that a person approved covers the call.
    Ask,
    /// Ask each time.
    AskEachTime,
}

/// A tool that a plugin serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// 1 to 64 of `a-z A-Z 0-9 _ -`.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: String,
    /// JSON Schema of the one `json` part of the result.
    pub output_schema: Option<String>,
    /// What may be done after a crash.
    pub effect: Effect,
    /// Whether calls may overlap.
    pub execution: Execution,
    /// Whether a person should allow it.
    pub approval: Approval,
    /// A JSON object.
    pub extras: Option<String>,
}

impl ToolDefinition {
    /// The digest that an approval stores: what the person saw when they were asked.
    pub fn digest(&self) -> Digest {
        let claims = format!("{:?} {:?} {:?}", self.effect, self.execution, self.approval);
        let optional = |text: &Option<String>| text.clone().unwrap_or_default();
        let fields: [&[u8]; 6] = [
            self.name.as_bytes(),
            self.description.as_bytes(),
            self.input_schema.as_bytes(),
            &optional(&self.output_schema).into_bytes(),
            claims.as_bytes(),
            &optional(&self.extras).into_bytes(),
        ];
        Digest::of_fields("mainstay/tool-definition/1", &fields)
    }
}
