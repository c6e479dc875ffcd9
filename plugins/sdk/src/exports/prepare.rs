//! The export `prepare`.

use crate::types::Interruption;

pub use crate::bindings::prepare::exports::mainstay::plugin::prepare::{Elision, StepChange};

/// Middleware that shapes the request of a step.
pub trait Prepare {
    /// Runs before each step; usually there is nothing to change. Ask [`current_step`](crate::current_step) and
    /// [`transcript`](crate::transcript) for what would be sent.
    fn prepare_step() -> Result<Vec<StepChange>, Interruption>;
}

serve!(prepare, Prepare {
    fn prepare_step() -> Result<Vec<StepChange>, Interruption>;
});
