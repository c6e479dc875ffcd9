//! The export `model-error`.

use crate::types::Interruption;

pub use crate::bindings::model_error::exports::mainstay::plugin::model_error::{ErrorDecision, FailedAttempt};

/// Middleware that decides what follows a failed attempt at a model call.
pub trait ModelError {
    /// Runs after each failed attempt that the host did not cause itself.
    fn handle_error(attempt: FailedAttempt) -> Result<ErrorDecision, Interruption>;
}

serve!(model_error, ModelError {
    fn handle_error(attempt: FailedAttempt) -> Result<ErrorDecision, Interruption>;
});
