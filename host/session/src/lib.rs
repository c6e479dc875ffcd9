//! The session core: a pure state machine.
//!
//! [`decide`] turns a command and the current state into records, or a typed refusal. [`evolve`] folds a record into the
//! state and can't fail; replay runs only it. [`pending`] derives the one thing that is owed next from the state alone, so
//! that recovery after a crash is the ordinary path. Nothing here reads a clock, draws a random number or touches a file.

mod command;
mod decide;
mod effect;
mod evolve;
#[cfg(test)]
mod properties;
mod snapshot;
mod state;
#[cfg(test)]
mod testing;

pub use command::{
    Command, CommandEnd, ElicitationAnswer, FinishedCall, InputRuling, Output, OutputItem, Question, RuledCall, Ruling,
    ToolFacts,
};
pub use decide::{Decision, MAX_CALLS_PER_STEP, MAX_STEPS_PER_TURN, Refused, UNKNOWN_AFTER_RESTART, decide};
pub use effect::{Effect, PlannedRun, pending};
pub use evolve::evolve;
pub use snapshot::SnapshotError;
pub use state::{
    Answer, Authorised, Call, Life, PendingApproval, PendingElicitation, Phase, Queued, QueuedMessage, State, Summary,
    Turn,
};
