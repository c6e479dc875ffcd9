//! The export `tool-gate`.

use crate::types::{Grounds, Interruption, ToolCall};

pub use crate::bindings::tool_gate::exports::mainstay::plugin::tool_gate::Verdict;

/// Middleware that decides whether a planned call may run. It narrows what the operator allows and never widens it.
pub trait ToolGate {
    /// Runs for each planned call before it may start, and again once an approval was answered.
    fn gate_call(call: ToolCall) -> Result<Verdict, Interruption>;
}

serve!(tool_gate, ToolGate {
    fn gate_call(call: ToolCall) -> Result<Verdict, Interruption>;
});

impl Verdict {
    /// Ask a person, who sees the reason beside the final arguments.
    pub fn ask_because(code: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Ask(Grounds::new(code, reason))
    }

    /// Don't run it; the model reads the reason.
    pub fn deny_because(code: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Deny(Grounds::new(code, reason))
    }
}
