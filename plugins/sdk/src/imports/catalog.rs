//! The tools of all active plugins, with the operator's overrides applied. Needs a grant.

use super::host::catalog as host;
use crate::types::{Error, ToolDefinition};

/// The names of all tools, sorted.
///
/// # Errors
/// `denied` without a grant, `not-found` outside a session.
pub fn tool_names() -> Result<Vec<String>, Error> {
    host::tool_names()
}

/// The definition of one tool; none when it does not exist.
///
/// # Errors
/// As of [`tool_names`].
pub fn find_tool(name: &str) -> Result<Option<ToolDefinition>, Error> {
    host::find_tool(name)
}
