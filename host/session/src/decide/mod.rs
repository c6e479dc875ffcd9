//! Commands to records. Each command is decided on the state as it stands; the records that it gives are folded into a copy at
//! once, so that what follows within one decision sees what came before.

mod activity;
mod calls;
mod opening;
mod operations;
mod ops;
mod questions;
mod steps;
mod turns;

use mainstay_protocol::{
    AcceptedOrdinal, CallIndex, ItemId, StepIndex, Timestamp, TurnId,
    blob::NewBlob,
    content::{Item, ItemBody, PrivatePart},
    model::FinishReason,
    op::{MAX_TEXT_BYTES, Refusal},
    record::{
        NewRecord, RecordBody,
        v1::{OperationBegun, StepCompleted},
    },
};

use crate::{
    command::Command,
    evolve::evolve,
    state::{Phase, QueuedMessage, State, Turn},
};

pub use calls::UNKNOWN_AFTER_RESTART;

/// Steps that one turn may have.
pub const MAX_STEPS_PER_TURN: u32 = 200;
/// Calls that a model may plan in one step.
pub const MAX_CALLS_PER_STEP: usize = 128;

/// What a command brings about: records, and what goes with them in one transaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// The state after the records.
    pub state: State,
    /// The records, in order.
    pub records: Vec<NewRecord>,
    /// Items that enter the history.
    pub items: Vec<Item>,
    /// Messages that enter the queue.
    pub queued: Vec<QueuedMessage>,
    /// Messages that leave it.
    pub unqueued: Vec<AcceptedOrdinal>,
    /// Stored bytes that the session keeps.
    pub blobs: Vec<NewBlob>,
}

/// Why a command changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The client asked for something that can't be.
    #[error(transparent)]
    Op(#[from] Refusal),
    /// The command answers an effect that is no longer owed: an interrupt or another command came first. Not an error; what
    /// was computed is dropped.
    #[error("the session has moved on: {0}")]
    Stale(&'static str),
}

/// Decides a command.
///
/// # Errors
/// A typed refusal; nothing has changed then.
pub fn decide(state: &State, command: Command, now: Timestamp) -> Result<Decision, Refused> {
    let mut draft = Draft::new(state, now);
    match command {
        Command::Create { route, labels, metadata, requires } => draft.create(route, labels, metadata, requires),
        Command::Resume { route, metadata, requires, retry_open_step } => {
            draft.resume(route, metadata, requires, retry_open_step)?;
        }
        Command::Reconfigure { route, metadata, requires } => draft.reconfigure(route, metadata, requires)?,
        Command::Serve { receipts } => draft.serve(receipts),
        Command::Submit { submission, content, delivery } => draft.submit(submission, content, delivery)?,
        Command::SetModel { submission, route } => draft.set_model(submission, route),
        Command::Approve { submission, approval, answer, comment } => {
            draft.approve(submission, approval, answer, comment)?;
        }
        Command::Interrupt { submission, turn } => draft.interrupt(submission, turn)?,
        Command::Retry { cause } => draft.retry(cause)?,
        Command::StartTurn { turn, submission, ruling, hooks } => draft.start_turn(turn, &submission, ruling, hooks)?,
        Command::Park { mut fault } => {
            fault.parks = true;
            draft.push(RecordBody::SessionFault(fault));
        }
        Command::Fault { fault } => draft.push(RecordBody::SessionFault(fault)),
        Command::OpenStep { turn, step } => draft.open_step(&turn, step)?,
        Command::AcceptOutput { turn, step, output } => draft.accept_output(&turn, step, output)?,
        Command::FailStep { turn, step, attempts, stop, reason } => {
            draft.fail_step(&turn, step, attempts, stop, reason)?;
        }
        Command::DecideCalls { turn, step, calls, hooks } => draft.decide_calls(&turn, step, calls, hooks)?,
        Command::AcceptResults { turn, step, results } => draft.accept_results(&turn, step, results)?,
        Command::FinishTurn { turn, hooks } => draft.finish_turn(&turn, hooks)?,
        Command::ContinueTurn { turn, message, hooks } => draft.continue_turn(&turn, message, hooks)?,
        Command::StopTurn { turn, stop, message } => draft.stop_turn(&turn, stop, message)?,
        Command::FailTurn { turn, stop, message } => draft.fail_turn(&turn, stop, message)?,
        Command::AskInput(question) => draft.ask_input(question)?,
        Command::AnswerInput { submission, elicitation, answer } => {
            draft.answer_input(submission, elicitation, answer)?;
        }
        Command::RecordActivity { activity, details } => draft.record_activity(activity, details)?,
        Command::BeginOperation { command, kind, owner, related } => {
            draft.begin_operation(OperationBegun { command, kind, owner, related })?;
        }
        Command::CorrelateOperation { command, related } => draft.correlate_operation(command, related)?,
        Command::SaveCheckpoint { command, archive } => draft.save_checkpoint(command, archive)?,
        Command::FailOperation { command, message } => draft.fail_operation(&command, message)?,
        Command::DeferOperation { command, message } => draft.defer_operation(&command, message)?,
        Command::RecoverOperation if draft.recover_operation() => {}
        Command::RecoverOperation => return Err(Refused::Stale("no operation runs")),
        Command::EndCommand { command, kind, end } => draft.end_command(command, kind, end)?,
    }
    Ok(draft.decision)
}

/// A decision in the making.
pub(crate) struct Draft {
    pub(crate) decision: Decision,
    pub(crate) now: Timestamp,
}

impl Draft {
    fn new(state: &State, now: Timestamp) -> Self {
        Self { decision: Decision { state: state.clone(), ..Decision::default() }, now }
    }

    pub(crate) fn state(&self) -> &State {
        &self.decision.state
    }

    /// Adds a record and folds it into the state.
    pub(crate) fn push(&mut self, body: RecordBody) {
        evolve(&mut self.decision.state, &body);
        self.decision.records.push(NewRecord { at: self.now, body });
    }

    /// The id that the next item will get. Ids taken in this decision but not yet named by a record count too.
    pub(crate) fn next_item(&self) -> ItemId {
        let last = self.decision.items.last().map_or(ItemId(0), |item| item.id);
        last.max(self.state().last_item).next()
    }

    /// Adds an item under the next id. The record that names it has to follow in the same decision.
    pub(crate) fn add_item(&mut self, place: Place, body: ItemBody) -> ItemId {
        self.add_full_item(place, body, None, None)
    }

    pub(crate) fn add_full_item(
        &mut self,
        place: Place,
        body: ItemBody,
        private_part: Option<PrivatePart>,
        extras: Option<String>,
    ) -> ItemId {
        let id = self.next_item();
        let Place { turn, step, call } = place;
        self.decision.items.push(Item { id, turn, step, call, at: self.now, body, private_part, extras });
        id
    }

    /// The running turn, if it is this one.
    pub(crate) fn running(&self, turn: &TurnId) -> Result<&Turn, Refused> {
        self.state().turn.as_ref().filter(|running| running.id == *turn).ok_or(Refused::Stale("the turn has ended"))
    }

    /// The running turn, if it is this one, at this step and in a phase that fits.
    pub(crate) fn running_at(
        &self,
        turn: &TurnId,
        step: StepIndex,
        fits: fn(&Phase) -> bool,
    ) -> Result<&Turn, Refused> {
        let running = self.running(turn)?;
        if running.step != step || !fits(&running.phase) {
            return Err(Refused::Stale("the step is over"));
        }
        Ok(running)
    }
}

/// Where an item belongs.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) turn: Option<TurnId>,
    pub(crate) step: Option<StepIndex>,
    pub(crate) call: Option<CallIndex>,
}

impl Place {
    pub(crate) fn of_session() -> Self {
        Self { turn: None, step: None, call: None }
    }

    pub(crate) fn of_turn(turn: &TurnId) -> Self {
        Self { turn: Some(turn.clone()), step: None, call: None }
    }

    pub(crate) fn of_step(turn: &TurnId, step: StepIndex) -> Self {
        Self { turn: Some(turn.clone()), step: Some(step), call: None }
    }

    pub(crate) fn of_call(turn: &TurnId, step: StepIndex, call: CallIndex) -> Self {
        Self { turn: Some(turn.clone()), step: Some(step), call: Some(call) }
    }
}

/// Whether the provider wants to be called again to go on.
pub(crate) fn is_paused(step: &StepCompleted) -> bool {
    step.finish.as_ref().is_some_and(|finish| finish.reason == FinishReason::Paused)
}

/// A word for an output that ended before the model was done.
pub(crate) fn cut_short(step: &StepCompleted) -> Option<String> {
    match step.finish.as_ref()?.reason {
        FinishReason::Length => Some("length".to_owned()),
        FinishReason::Filtered => Some("filtered".to_owned()),
        FinishReason::Complete | FinishReason::ToolCalls | FinishReason::Paused | FinishReason::Other => None,
    }
}

/// As much of a text as a record keeps.
fn clip(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    text
}
