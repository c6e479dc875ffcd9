//! The export `compaction`.

use crate::types::Interruption;

pub use crate::bindings::compaction::exports::mainstay::plugin::compaction::{
    CompactionChange, CompactionDecision, CompactionPlan, Trigger,
};

/// Middleware that decides how the context window is shortened.
pub trait Compaction {
    /// Runs before each compaction, on the plan as earlier hooks left it.
    fn plan_compaction(plan: CompactionPlan) -> Result<CompactionDecision, Interruption>;
}

serve!(compaction, Compaction {
    fn plan_compaction(plan: CompactionPlan) -> Result<CompactionDecision, Interruption>;
});

impl CompactionDecision {
    /// Go on as planned.
    #[must_use]
    pub fn unchanged() -> Self {
        Self::Accept(Vec::new())
    }
}
