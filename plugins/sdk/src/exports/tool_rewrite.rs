//! The export `tool-rewrite`.

use crate::types::{Interruption, ToolCall};

/// Middleware that changes the arguments of planned calls.
pub trait ToolRewrite {
    /// New arguments (JSON text), or none to leave them. All rewrites run before the first gate.
    fn rewrite_call(call: ToolCall) -> Result<Option<String>, Interruption>;
}

serve!(tool_rewrite, ToolRewrite {
    fn rewrite_call(call: ToolCall) -> Result<Option<String>, Interruption>;
});
