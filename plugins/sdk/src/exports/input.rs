//! The export `input`.

use crate::types::{Grounds, Interruption, Part};

pub use crate::bindings::input::exports::mainstay::plugin::input::{Delivery, InputChange, InputDecision};

/// Middleware that decides over a message before its turn starts.
pub trait Input {
    /// Runs once for each message, on the content as earlier hooks left it. Failing parks the session.
    fn check_input(content: Vec<Part>, delivery: Delivery) -> Result<InputDecision, Interruption>;
}

serve!(input, Input {
    fn check_input(content: Vec<Part>, delivery: Delivery) -> Result<InputDecision, Interruption>;
});

impl InputDecision {
    /// Take the message as it is.
    #[must_use]
    pub fn unchanged() -> Self {
        Self::Accept(Vec::new())
    }

    /// Consume the message without asking the model.
    pub fn reject_because(code: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Reject(Grounds::new(code, reason))
    }
}
