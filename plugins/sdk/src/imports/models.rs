//! Model calls on the operator's routes, within the plugin's budget. Needs a grant.

use super::host::models as host;
use crate::types::{Error, Message};

pub use crate::bindings::imports::mainstay::plugin::models::{Generation, GenerationRequest, Span};

impl GenerationRequest {
    /// Asks the session's own route with one message of the person.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            route: None,
            system: Vec::new(),
            history: None,
            messages: vec![Message::user(text)],
            output_schema: None,
            max_output_tokens: None,
            extras: None,
        }
    }
}

/// Calls a model without tools and waits for the whole answer.
///
/// # Errors
/// `denied` without a grant for the route, `limit-exceeded` past the budget; else what the adapter says.
pub fn generate(request: &GenerationRequest) -> Result<Generation, Error> {
    host::generate(request)
}
