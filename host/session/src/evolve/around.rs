//! What happens around the steps of a turn: forms, commands and the operation they own, usage elsewhere, the window of models.

use mainstay_protocol::record::v1::{
    CheckpointSaved, CommandEnded, CommandReason, ContextCompacted, ElicitationRequested, ElicitationResolved,
    OperationCorrelated, UsageRecorded,
};

use super::{take_item, with_turn};
use crate::state::{Life, PendingElicitation, State, Turn};

/// A call that asks has ended this start of it: it is planned again once the question is resolved.
pub(super) fn elicitation_requested(turn: &mut Turn, body: &ElicitationRequested) {
    if turn.id != body.turn {
        return;
    }
    if let Some(call) = body.call.and_then(|index| turn.call_mut(index)).filter(|call| call.is_intended()) {
        call.suspended += 1;
        call.life = Life::Planned;
    }
    let (elicitation, step, call) = (body.elicitation.clone(), body.step, body.call);
    turn.elicitations.push(PendingElicitation { elicitation, step, call });
}

pub(super) fn elicitation_resolved(state: &mut State, body: &ElicitationResolved) {
    with_turn(state, |turn| turn.elicitations.retain(|pending| pending.elicitation != body.elicitation));
    state.resolved.add(body.elicitation.clone());
}

pub(super) fn operation_correlated(state: &mut State, body: &OperationCorrelated) {
    if let Some(operation) = state.operation.as_mut().filter(|operation| operation.command == body.command) {
        operation.related.push(body.related.clone());
    }
}

pub(super) fn checkpoint_saved(state: &mut State, body: &CheckpointSaved) {
    state.archive = Some(body.archive.clone());
    state.checkpoint_warning = None;
}

/// Only the end of the command that owns the operation ends it, and only then a failure is one of the session's checkpoint.
pub(super) fn command_ended(state: &mut State, body: &CommandEnded) {
    if state.operation.as_ref().is_some_and(|operation| operation.command == body.command) {
        state.operation = None;
        if body.reason == Some(CommandReason::CheckpointFailed) {
            state.checkpoint_warning = Some(body.message.clone());
        }
    }
    state.ended.add(body.command.clone());
    if let Some(notice) = body.notice {
        take_item(state, notice);
    }
}

pub(super) fn usage_recorded(turn: &mut Turn, body: &UsageRecorded) {
    if body.turn.as_ref() == Some(&turn.id) {
        turn.usage.add(&body.usage);
    }
}

/// Models see the transcript through a new window.
pub(super) fn context_compacted(state: &mut State, body: &ContextCompacted) {
    state.window_start = body.keep_from;
    state.context_epoch = state.context_epoch.saturating_add(1);
    if let Some(summary) = body.summary {
        take_item(state, summary);
    }
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::{ItemId, RouteName, TurnId, model::Usage, record::RecordBody};

    use super::*;
    use crate::{
        evolve,
        testing::{Story, turn},
    };

    #[test]
    fn usage_elsewhere_is_that_of_its_turn() {
        let mut state = Story::in_a_turn().state;
        let usage = Usage { input_tokens: 3, ..Usage::default() };
        for of in [Some(turn()), Some(TurnId::new("another").expect("legal")), None] {
            let route = RouteName::new("default").expect("legal");
            let body = UsageRecorded { turn: of, step: None, route, build: None, usage: usage.clone() };
            evolve(&mut state, &RecordBody::UsageRecorded(body));
        }
        assert_eq!(state.turn().map(|turn| turn.usage.input_tokens), Some(3));
    }

    #[test]
    fn compaction_moves_the_window_and_counts_an_epoch() {
        let mut state = Story::in_a_turn().state;
        let (keep_from, summary) = (ItemId(1), Some(ItemId(2)));
        let hooks = mainstay_protocol::record::v1::HookNotes::default();
        let body = ContextCompacted { keep_from, summary, attempts: Vec::new(), hooks };
        evolve(&mut state, &RecordBody::ContextCompacted(body));
        assert_eq!((state.window_start(), state.context_epoch(), state.last_item()), (ItemId(1), 1, ItemId(2)));
    }
}
