//! The export `tool-result`.

use crate::types::{CallResult, Interruption, ToolCall};

pub use crate::bindings::tool_result::exports::mainstay::plugin::tool_result::{ResultChange, ResultDecision};

/// Middleware that decides over the result of a call before it enters the history.
pub trait ToolResult {
    /// Runs once for each result that a tool gave, errors included. `call` has the final arguments.
    fn process_result(call: ToolCall, outcome: CallResult) -> Result<ResultDecision, Interruption>;
}

serve!(tool_result, ToolResult {
    fn process_result(call: ToolCall, outcome: CallResult) -> Result<ResultDecision, Interruption>;
});

impl ResultDecision {
    /// Take the result as it is.
    #[must_use]
    pub fn unchanged() -> Self {
        Self::Accept(Vec::new())
    }
}
