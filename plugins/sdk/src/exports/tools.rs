//! The export `tools`.

use crate::toolbox::Toolbox;
use crate::types::{Error, Interruption, ToolCall, ToolDefinition};

pub use crate::bindings::tools::exports::mainstay::plugin::tools::ToolOutput;

/// What a plugin does to offer tools to models. Implement [`toolbox`](Tools::toolbox), or, for full control, the other
/// two functions.
pub trait Tools {
    /// The tools with their handlers.
    fn toolbox() -> Toolbox {
        Toolbox::new()
    }

    /// The definitions of all tools. Called when the plugin is activated; it may depend on the configuration and not on
    /// a session.
    fn list_tools() -> Result<Vec<ToolDefinition>, Error> {
        Ok(Self::toolbox().definitions())
    }

    /// Runs one call.
    fn call_tool(call: ToolCall) -> Result<ToolOutput, Interruption> {
        Self::toolbox().call(&call)
    }
}

serve!(tools, Tools {
    fn list_tools() -> Result<Vec<ToolDefinition>, Error>;
    fn call_tool(call: ToolCall) -> Result<ToolOutput, Interruption>;
});
