//! The export `stop`.

use crate::types::{Interruption, Message};

pub use crate::bindings::stop::exports::mainstay::plugin::stop::{EndingTurn, StopDecision};

/// Middleware that decides whether a turn whose model is done may end.
pub trait Stop {
    /// Runs when the model is done; not when a turn fails or is interrupted.
    fn check_stop(turn: EndingTurn) -> Result<StopDecision, Interruption>;
}

serve!(stop, Stop {
    fn check_stop(turn: EndingTurn) -> Result<StopDecision, Interruption>;
});

impl StopDecision {
    /// Add this text as a message of the person and do one more step.
    pub fn one_more_step(text: impl Into<String>) -> Self {
        Self::GoOn(Message::user(text))
    }
}
