//! Folds records into state. Can't fail: a record that does not fit is a fact all the same, and changes what it can. Numbers that a
//! record brings may be any: what is computed from them stays at the end of its range.

mod around;

use mainstay_protocol::{
    ItemId,
    op::ApprovalAnswer,
    record::v1::{
        ApprovalRequested, ApprovalResolved, CallEnded, CallVerdict, CallsDecided, MessageAccepted, RecordBody,
        Resolution, RunInterrupted, RunStarted, SessionConfigured, Span, StepCompleted, StepOutcome, TurnContinued,
        TurnEnded, TurnOutcome, TurnStarted,
    },
};

use crate::state::{Answer, Authorised, Call, Life, Phase, Queued, State, Turn};

/// Folds one record into the state.
pub fn evolve(state: &mut State, record: &RecordBody) {
    state.head = state.head.next();
    match record {
        RecordBody::SessionConfigured(body) => configured(state, body),
        RecordBody::MessageAccepted(body) => accepted(state, body),
        RecordBody::ModelChanged(body) => state.route = Some(body.route.clone()),
        RecordBody::TurnStarted(body) => turn_started(state, body),
        RecordBody::StepOpened(body) => with_turn(state, |turn| {
            turn.step = body.step;
            turn.phase = Phase::Model;
        }),
        RecordBody::StepCompleted(body) => step_completed(state, body),
        RecordBody::CallsDecided(body) => with_turn(state, |turn| calls_decided(turn, body)),
        RecordBody::ApprovalRequested(body) => with_turn(state, |turn| approval_requested(turn, body)),
        RecordBody::ApprovalResolved(body) => with_turn(state, |turn| approval_resolved(turn, body)),
        RecordBody::RunStarted(body) => with_turn(state, |turn| run_started(turn, body)),
        RecordBody::RunInterrupted(body) => with_turn(state, |turn| run_interrupted(turn, body)),
        RecordBody::CallEnded(body) => call_ended(state, body),
        RecordBody::TurnContinued(body) => turn_continued(state, body),
        RecordBody::TurnCompleted(body)
        | RecordBody::TurnAborted(body)
        | RecordBody::TurnFailed(body)
        | RecordBody::TurnRejected(body) => turn_ended(state, body, record.turn_outcome()),
        RecordBody::SessionFault(body) => state.parked |= body.parks,
        RecordBody::SessionRetried(_) => state.parked = false,
        RecordBody::ReceiptRecorded(receipt) => {
            state.serving.insert(receipt.plugin.clone(), receipt.id());
        }
        RecordBody::ElicitationRequested(body) => with_turn(state, |turn| around::elicitation_requested(turn, body)),
        RecordBody::ElicitationResolved(body) => around::elicitation_resolved(state, body),
        RecordBody::ActivityChanged(body) => state.activity = Some(body.clone()),
        RecordBody::OperationBegun(body) => state.operation = Some(body.clone()),
        RecordBody::OperationCorrelated(body) => around::operation_correlated(state, body),
        RecordBody::CheckpointSaved(body) => around::checkpoint_saved(state, body),
        RecordBody::CommandEnded(body) => around::command_ended(state, body),
        RecordBody::NoticeAdded(body) => take_item(state, body.item),
        RecordBody::UsageRecorded(body) => with_turn(state, |turn| around::usage_recorded(turn, body)),
        RecordBody::ContextCompacted(body) => around::context_compacted(state, body),
        RecordBody::LegacyNotice(_)
        | RecordBody::PluginActivated(_)
        | RecordBody::PluginSwapped(_)
        | RecordBody::PluginRefused(_)
        | RecordBody::PluginDrained(_)
        | RecordBody::Unknown(_) => {}
    }
}

fn with_turn(state: &mut State, change: impl FnOnce(&mut Turn)) {
    if let Some(turn) = &mut state.turn {
        change(turn);
    }
}

fn take_items(state: &mut State, span: Option<Span>) {
    if let Some(span) = span {
        let last = ItemId(span.first.0.saturating_add(u64::from(span.count.max(1)) - 1));
        state.last_item = state.last_item.max(last);
    }
}

fn take_item(state: &mut State, item: ItemId) {
    take_items(state, Some(Span { first: item, count: 1 }));
}

fn configured(state: &mut State, body: &SessionConfigured) {
    state.route = Some(body.route.clone());
    if let Some(requires) = &body.requires {
        state.requires.clone_from(requires);
    }
    if !body.labels.is_empty() {
        state.labels = body.labels.clone();
    }
    if let Some(metadata) = &body.metadata {
        state.metadata.clone_from(metadata);
    }
    state.parked = false;
}

fn accepted(state: &mut State, body: &MessageAccepted) {
    state.accepted = state.accepted.max(body.accepted);
    state.queue.push_back(Queued {
        submission: body.submission.clone(),
        accepted: body.accepted,
        delivery: body.delivery,
        bytes: body.bytes,
    });
}

fn turn_started(state: &mut State, body: &TurnStarted) {
    state.queue.retain(|queued| queued.accepted != body.accepted);
    take_items(state, body.items);
    state.turn = Some(Turn {
        id: body.turn.clone(),
        submission: body.submission.clone(),
        accepted: body.accepted,
        step: mainstay_protocol::StepIndex(0),
        phase: Phase::Ready,
        continued: false,
        steps: 0,
        tool_calls: 0,
        failed_tool_calls: 0,
        usage: mainstay_protocol::model::Usage::default(),
        last_message: None,
        cut_short: None,
        elicitations: Vec::new(),
    });
}

fn step_completed(state: &mut State, body: &StepCompleted) {
    take_items(state, body.items);
    if let Some(owner) = &body.context_owner {
        take_context_owner(state, owner);
    }
    with_turn(state, |turn| {
        for usage in body.attempts.iter().filter_map(|attempt| attempt.usage.as_ref()) {
            turn.usage.add(usage);
        }
        if body.outcome != StepOutcome::Completed {
            turn.phase = Phase::Ready;
            return;
        }
        turn.steps = turn.steps.saturating_add(1);
        turn.last_message = body.last_message.or(turn.last_message);
        turn.cut_short = crate::decide::cut_short(body);
        turn.phase = phase_after(turn, body);
    });
}

fn take_context_owner(state: &mut State, owner: &mainstay_protocol::record::v1::ContextOwner) {
    let changed = state.context_owner.as_ref().is_some_and(|old| old.context_group != owner.context_group);
    state.context_epoch = state.context_epoch.saturating_add(u32::from(changed));
    state.context_owner = Some(owner.clone());
}

/// Calls come first; a provider that paused is asked again; otherwise the model is done.
fn phase_after(turn: &mut Turn, body: &StepCompleted) -> Phase {
    if !body.calls.is_empty() {
        let call = |planned: &mainstay_protocol::record::v1::PlannedCall| Call {
            item: planned.item,
            tool: planned.tool.clone(),
            call_id: planned.call_id.clone(),
            attempts: 0,
            suspended: 0,
            answer: None,
            life: Life::Planned,
        };
        return Phase::Calls(body.calls.iter().map(call).collect());
    }
    if crate::decide::is_paused(body) {
        turn.step = turn.step.next();
        return Phase::Ready;
    }
    Phase::Completion
}

fn calls_decided(turn: &mut Turn, body: &CallsDecided) {
    for decision in &body.calls {
        if let (Some(call), CallVerdict::Allowed { build, effect, execution }) =
            (turn.call_mut(decision.index), &decision.verdict)
        {
            call.life = Life::Allowed(Authorised { build: build.clone(), effect: *effect, execution: *execution });
        }
    }
}

fn approval_requested(turn: &mut Turn, body: &ApprovalRequested) {
    if let Some(call) = turn.call_mut(body.index) {
        call.answer = None;
        call.life =
            Life::Asking { approval: body.approval.clone(), definition: body.definition, arguments: body.arguments };
    }
}

fn approval_resolved(turn: &mut Turn, body: &ApprovalResolved) {
    let Some(call) = turn.call_mut(body.index) else { return };
    let Life::Asking { approval, definition, arguments } = &call.life else { return };
    if *approval != body.approval {
        return;
    }
    let approved = match body.resolution {
        Resolution::Approved => Some(ApprovalAnswer::Approve),
        Resolution::Denied => Some(ApprovalAnswer::Deny),
        Resolution::Dismissed => None,
    };
    call.answer = approved.map(|answer| Answer {
        approval: body.approval.clone(),
        approved: answer == ApprovalAnswer::Approve,
        comment: body.comment.clone(),
        definition: *definition,
        arguments: *arguments,
    });
    call.life = Life::Planned;
}

fn run_started(turn: &mut Turn, body: &RunStarted) {
    for intent in &body.calls {
        if let Some(call) = turn.call_mut(intent.index) {
            call.attempts = intent.attempt;
            if let Life::Allowed(authorised) = &call.life {
                call.life = Life::Intended(authorised.clone());
            }
        }
    }
}

fn run_interrupted(turn: &mut Turn, body: &RunInterrupted) {
    for index in &body.calls {
        if let Some(call) = turn.call_mut(*index) {
            call.life = Life::Planned;
        }
    }
}

fn call_ended(state: &mut State, body: &CallEnded) {
    take_item(state, body.item);
    with_turn(state, |turn| {
        if let Some(call) = turn.call_mut(body.index) {
            call.life = Life::Ended;
        }
        turn.tool_calls += 1;
        turn.failed_tool_calls += u32::from(body.is_error);
        if turn.calls().iter().all(Call::is_ended) {
            turn.step = turn.step.next();
            turn.phase = Phase::Ready;
        }
    });
}

fn turn_continued(state: &mut State, body: &TurnContinued) {
    take_item(state, body.item);
    with_turn(state, |turn| {
        turn.continued = true;
        turn.step = turn.step.next();
        turn.phase = Phase::Ready;
    });
}

fn turn_ended(state: &mut State, body: &TurnEnded, outcome: Option<TurnOutcome>) {
    if state.turn.as_ref().is_some_and(|turn| turn.id == body.turn) {
        state.turn = None;
    }
    state.runs += 1;
    state.aborted_runs += u64::from(matches!(outcome, Some(TurnOutcome::Cancelled | TurnOutcome::Interrupted)));
    state.last_outcome = outcome.or(state.last_outcome);
}
