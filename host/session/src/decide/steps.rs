//! Steps: opened before the model call, closed with its output (B3), or failed for good.

use mainstay_protocol::{
    CallIndex, StepIndex, TurnId,
    content::{ItemBody, Role},
    record::{
        RecordBody,
        v1::{Attempt, PlannedCall, Reason, Span, StepCompleted, StepOpened, StepOutcome, StopReason},
    },
};

use super::{Draft, MAX_STEPS_PER_TURN, Place, Refused, turns::End};
use crate::{
    command::{Output, OutputItem},
    state::Phase,
};

impl Draft {
    pub(super) fn open_step(&mut self, turn: &TurnId, step: StepIndex) -> Result<(), Refused> {
        self.running_at(turn, step, |phase| matches!(phase, Phase::Ready))?;
        if step.0 >= MAX_STEPS_PER_TURN {
            let message = format!("the turn had {MAX_STEPS_PER_TURN} steps, which is the limit");
            self.end_turn(End::failed(StopReason::StepLimit, Reason::new("step-limit", message)));
            return Ok(());
        }
        let Some(route) = self.state().route.clone() else {
            return Err(Refused::Stale("the session has no route"));
        };
        self.push(RecordBody::StepOpened(StepOpened { turn: turn.clone(), step, route }));
        Ok(())
    }

    pub(super) fn accept_output(&mut self, turn: &TurnId, step: StepIndex, output: Output) -> Result<(), Refused> {
        self.running_at(turn, step, |phase| matches!(phase, Phase::Model))?;
        let (first, count) = (self.next_item(), output.items.len());
        let mut calls = Vec::new();
        let mut last_message = None;
        for item in output.items {
            self.take_output_item(turn, step, item, &mut calls, &mut last_message);
        }
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.push(RecordBody::StepCompleted(StepCompleted {
            turn: turn.clone(),
            step,
            outcome: StepOutcome::Completed,
            attempts: output.attempts,
            items: (count > 0).then_some(Span { first, count }),
            calls,
            last_message,
            context_owner: Some(output.context_owner),
            finish: Some(output.finish),
        }));
        Ok(())
    }

    fn take_output_item(
        &mut self,
        turn: &TurnId,
        step: StepIndex,
        item: OutputItem,
        calls: &mut Vec<PlannedCall>,
        last_message: &mut Option<mainstay_protocol::ItemId>,
    ) {
        let index = CallIndex(u32::try_from(calls.len()).unwrap_or(u32::MAX));
        let planned = match &item.body {
            ItemBody::ToolCall(call) => Some((call.name.clone(), call.call_id.clone())),
            _ => None,
        };
        let is_message = matches!(&item.body, ItemBody::Message(message) if message.role == Role::Assistant);
        let place = match planned {
            Some(_) => Place::of_call(turn, step, index),
            None => Place::of_step(turn, step),
        };
        let id = self.add_full_item(place, item.body, item.private_part, None);
        if let Some((tool, call_id)) = planned {
            calls.push(PlannedCall { item: id, tool, call_id });
        }
        if is_message {
            *last_message = Some(id);
        }
    }

    pub(super) fn fail_step(
        &mut self,
        turn: &TurnId,
        step: StepIndex,
        attempts: Vec<Attempt>,
        stop: StopReason,
        reason: Reason,
    ) -> Result<(), Refused> {
        self.running_at(turn, step, |phase| matches!(phase, Phase::Model))?;
        self.push(RecordBody::StepCompleted(StepCompleted {
            turn: turn.clone(),
            step,
            outcome: StepOutcome::Failed,
            attempts,
            items: None,
            calls: Vec::new(),
            last_message: None,
            context_owner: None,
            finish: None,
        }));
        self.end_turn(End::failed(stop, reason));
        Ok(())
    }
}
