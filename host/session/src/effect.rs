//! What a session owes next. Derived from the state alone: a crash between any two records changes nothing here.

use mainstay_protocol::{CallIndex, ItemId, StepIndex, TurnId};

use crate::state::{Authorised, Life, Phase, Queued, State, Turn};

/// The one thing that is owed next. The first three are decisions: they run on a proposal, before its barrier. A model call and
/// a run of calls reach outside: they run only from committed state. Stop hooks are decisions, but they wait for their own barrier.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Ask input hooks and start a turn for this message.
    StartTurn(Queued),
    /// Open the step.
    OpenStep {
        /// The turn.
        turn: TurnId,
        /// The step.
        step: StepIndex,
    },
    /// Ask policy and gates about these calls.
    DecideCalls {
        /// The turn.
        turn: TurnId,
        /// The step.
        step: StepIndex,
        /// The calls.
        calls: Vec<CallIndex>,
    },
    /// Ask the model.
    CallModel {
        /// The turn.
        turn: TurnId,
        /// The step.
        step: StepIndex,
    },
    /// Run these calls, together.
    RunCalls {
        /// The turn.
        turn: TurnId,
        /// The step.
        step: StepIndex,
        /// The calls.
        calls: Vec<PlannedRun>,
    },
    /// Ask stop hooks and end the turn.
    CheckStop {
        /// The turn.
        turn: TurnId,
        /// The last message of the assistant.
        last_message: Option<ItemId>,
        /// Whether a stop hook has forced a step already.
        continued: bool,
    },
}

/// A call that is to run now.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedRun {
    /// The call.
    pub index: CallIndex,
    /// The item that holds call id and arguments.
    pub item: ItemId,
    /// The tool's name.
    pub tool: String,
    /// Counts its starts from 1.
    pub attempt: u32,
    /// On which code, and how.
    pub authorised: Authorised,
}

/// What the session owes next; none when it is idle, parked, or waits for a person.
pub fn pending(state: &State) -> Option<Effect> {
    match &state.turn {
        Some(turn) if !turn.elicitations.is_empty() => None,
        Some(turn) => pending_in_turn(turn),
        None if state.parked => None,
        None => state.queue.front().cloned().map(Effect::StartTurn),
    }
}

fn pending_in_turn(turn: &Turn) -> Option<Effect> {
    let (id, step) = (turn.id.clone(), turn.step);
    match &turn.phase {
        Phase::Ready => Some(Effect::OpenStep { turn: id, step }),
        Phase::Model => Some(Effect::CallModel { turn: id, step }),
        Phase::Calls(_) => pending_calls(turn),
        Phase::Completion => {
            Some(Effect::CheckStop { turn: id, last_message: turn.last_message, continued: turn.continued })
        }
    }
}

/// Calls in flight come first; then, once nobody is asked any more, all that are not through are planned together.
fn pending_calls(turn: &Turn) -> Option<Effect> {
    let (id, step) = (turn.id.clone(), turn.step);
    let running: Vec<_> = turn
        .numbered_calls()
        .filter_map(|(index, call)| match &call.life {
            Life::Intended(authorised) => Some(PlannedRun {
                index,
                item: call.item,
                tool: call.tool.clone(),
                attempt: call.attempts,
                authorised: authorised.clone(),
            }),
            _ => None,
        })
        .collect();
    if !running.is_empty() {
        return Some(Effect::RunCalls { turn: id, step, calls: running });
    }
    if turn.calls().iter().any(super::state::Call::is_asking) {
        return None;
    }
    let open = turn.numbered_calls().filter(|(_, call)| !call.is_ended()).map(|(index, _)| index).collect();
    Some(Effect::DecideCalls { turn: id, step, calls: open })
}
