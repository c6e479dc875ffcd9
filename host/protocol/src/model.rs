//! Requests to models and what comes back, apart from the items themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{content::Part, encoding};

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOffer {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: String,
    /// A JSON object.
    pub extras: Option<String>,
}

/// Which tools the model may or must use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// It must call none.
    Forbidden,
    /// It must call at least one.
    Required,
    /// It must call this one.
    Named(String),
}

/// What a step asks of a model, without the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRequest {
    /// The model's id.
    pub model: String,
    /// The route's settings: a JSON object.
    pub settings: String,
    /// System texts, in order.
    pub system: Vec<String>,
    /// The tools on offer, in order.
    pub tools: Vec<ToolOffer>,
    /// Which of them to use.
    pub tool_choice: ToolChoice,
    /// JSON Schema that the final message must match.
    pub output_schema: Option<String>,
    /// A bound on output and reasoning together, in tokens.
    pub max_output_tokens: Option<u32>,
    /// A JSON object.
    pub extras: Option<String>,
}

/// What an attempt cost. A count that the provider does not give is none, never zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// All input tokens, cached ones included.
    pub input_tokens: u64,
    /// All output tokens, reasoning included.
    pub output_tokens: u64,
    /// Input tokens read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Input tokens written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Output tokens that were reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// The price in 10^-9 US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_nano_usd: Option<u64>,
}

impl Usage {
    /// Adds what another attempt cost.
    pub fn add(&mut self, other: &Self) {
        let plus = |a: &mut Option<u64>, b: Option<u64>| {
            if let Some(b) = b {
                *a = Some(a.unwrap_or(0).saturating_add(b));
            }
        };
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        plus(&mut self.cache_read_tokens, other.cache_read_tokens);
        plus(&mut self.cache_write_tokens, other.cache_write_tokens);
        plus(&mut self.reasoning_tokens, other.reasoning_tokens);
        plus(&mut self.cost_nano_usd, other.cost_nano_usd);
    }
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It said all that it had to say.
    Complete,
    /// It waits for tool results.
    ToolCalls,
    /// A bound on output or context cut it off.
    Length,
    /// A filter, or the model itself, refused.
    Filtered,
    /// The provider wants to be called again to go on.
    Paused,
    /// Anything else.
    Other,
}

/// How a completion ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finish {
    /// Why it stopped.
    pub reason: FinishReason,
    /// The provider's own word for it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The model that really answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The provider's id of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
}

/// A piece of a running completion, as the adapter gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delta {
    /// Text of a message.
    Text(String),
    /// Content of a message that is not text.
    Part(Part),
    /// Visible text of reasoning.
    Reasoning(String),
    /// Opens a tool call.
    ToolCallBegin {
        /// The provider's id.
        call_id: String,
        /// The tool's name.
        name: String,
    },
    /// The next fragment of the open call's arguments.
    ToolCallArguments(String),
    /// The private part of the open item.
    PrivatePart(#[serde(with = "encoding")] Vec<u8>),
    /// Closes the open item.
    ItemEnd,
    /// Usage so far; the last one counts.
    Usage(Usage),
    /// The end.
    Finish(Finish),
}
