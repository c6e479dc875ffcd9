//! B2 and B7: a turn starts, and ends exactly once.

#[cfg(test)]
mod tests;

use mainstay_protocol::{
    SubmissionId, TurnId,
    content::{ItemBody, Message},
    record::{
        RecordBody,
        v1::{
            ApprovalResolved, HookNotes, Reason, Resolution, Span, StopReason, TurnContinued, TurnEnded, TurnStarted,
        },
    },
};

use super::{Draft, Place, Refused, clip};
use crate::{
    command::InputRuling,
    state::{Life, Phase, Turn},
};

/// How a turn ends, and why.
pub(super) struct End {
    how: How,
    stop: Option<StopReason>,
    reason: Option<Reason>,
    by: Option<SubmissionId>,
    hooks: HookNotes,
}

#[derive(Clone, Copy)]
enum How {
    Completed,
    Aborted,
    Failed,
    Rejected,
}

impl End {
    fn completed(hooks: HookNotes) -> Self {
        Self { how: How::Completed, stop: None, reason: None, by: None, hooks }
    }

    fn with_reason(how: How, stop: StopReason, reason: Reason) -> Self {
        Self { how, stop: Some(stop), reason: Some(reason), by: None, hooks: HookNotes::default() }
    }

    pub(super) fn aborted(stop: StopReason, reason: Reason) -> Self {
        Self::with_reason(How::Aborted, stop, reason)
    }

    pub(super) fn failed(stop: StopReason, reason: Reason) -> Self {
        Self::with_reason(How::Failed, stop, reason)
    }

    /// The op that called it off.
    pub(super) fn by(mut self, submission: SubmissionId) -> Self {
        self.by = Some(submission);
        self
    }
}

impl Draft {
    pub(super) fn start_turn(
        &mut self,
        turn: TurnId,
        submission: &SubmissionId,
        ruling: InputRuling,
        hooks: HookNotes,
    ) -> Result<(), Refused> {
        let first = self.state().queue.front().filter(|queued| queued.submission == *submission);
        let Some(first) = first.cloned().filter(|_| self.state().turn.is_none()) else {
            return Err(Refused::Stale("the message is no longer the first of the queue"));
        };
        let (items, rejected) = match ruling {
            InputRuling::Accept { message, annotations } => (Some(self.enter(&turn, message, annotations)), None),
            InputRuling::Reject(reason) => (None, Some(reason)),
        };
        self.decision.unqueued.push(first.accepted);
        self.push(RecordBody::TurnStarted(TurnStarted {
            turn,
            submission: first.submission,
            accepted: first.accepted,
            items,
            hooks,
        }));
        if let Some(reason) = rejected {
            self.end_turn(End::with_reason(How::Rejected, StopReason::RejectedByHook, reason));
        }
        Ok(())
    }

    fn enter(&mut self, turn: &TurnId, message: Message, annotations: Vec<Message>) -> Span {
        let count = 1 + u32::try_from(annotations.len()).unwrap_or(u32::MAX - 1);
        let first = self.add_item(Place::of_turn(turn), ItemBody::Message(message));
        for annotation in annotations {
            self.add_item(Place::of_turn(turn), ItemBody::Message(annotation));
        }
        Span { first, count }
    }

    pub(super) fn finish_turn(&mut self, turn: &TurnId, hooks: HookNotes) -> Result<(), Refused> {
        self.completing(turn)?;
        self.end_turn(End::completed(hooks));
        Ok(())
    }

    /// Grants a stop hook's wish for one more step, once a turn.
    pub(super) fn continue_turn(&mut self, turn: &TurnId, message: Message, hooks: HookNotes) -> Result<(), Refused> {
        if self.completing(turn)?.continued {
            return self.finish_turn(turn, hooks);
        }
        let item = self.add_item(Place::of_turn(turn), ItemBody::Message(message));
        self.push(RecordBody::TurnContinued(TurnContinued { turn: turn.clone(), item, hooks }));
        Ok(())
    }

    fn completing(&self, turn: &TurnId) -> Result<&Turn, Refused> {
        let running = self.running(turn)?;
        match running.phase {
            Phase::Completion => Ok(running),
            _ => Err(Refused::Stale("the turn is not about to end")),
        }
    }

    /// The runtime calls the turn off.
    pub(super) fn stop_turn(&mut self, turn: &TurnId, stop: StopReason, message: String) -> Result<(), Refused> {
        self.running(turn)?;
        self.close_turn(End::aborted(stop, Reason::new(stop.as_str(), clip(message))));
        Ok(())
    }

    /// The turn can't go on, whatever it was about to do.
    pub(super) fn fail_turn(&mut self, turn: &TurnId, stop: StopReason, message: String) -> Result<(), Refused> {
        self.running(turn)?;
        self.close_turn(End::failed(stop, Reason::new(stop.as_str(), clip(message))));
        Ok(())
    }

    /// Closes whatever is open in the turn and ends it.
    pub(super) fn close_turn(&mut self, end: End) {
        let Some(turn) = self.state().turn.clone() else { return };
        if matches!(turn.phase, Phase::Model) {
            self.interrupt_step(&turn);
        }
        self.dismiss_approvals(&turn);
        for (index, call) in turn.numbered_calls() {
            match call.life {
                Life::Ended => {}
                Life::Intended(_) => self.cancel_call(&turn, index),
                Life::Planned | Life::Asking { .. } | Life::Allowed(_) => self.skip_call(&turn, index),
            }
        }
        self.end_turn(end);
    }

    fn dismiss_approvals(&mut self, turn: &Turn) {
        for (index, call) in turn.numbered_calls() {
            if let Life::Asking { approval, .. } = &call.life {
                self.push(RecordBody::ApprovalResolved(ApprovalResolved {
                    approval: approval.clone(),
                    turn: turn.id.clone(),
                    index,
                    resolution: Resolution::Dismissed,
                    submission: None,
                    comment: None,
                }));
            }
        }
    }

    /// The one terminal record of the running turn. No form outlives its turn.
    pub(super) fn end_turn(&mut self, end: End) {
        let Some(turn) = self.state().turn.clone() else { return };
        self.dismiss_elicitations(&turn);
        let cut_short = turn.cut_short;
        let body = TurnEnded {
            turn: turn.id,
            submission: turn.submission,
            accepted: turn.accepted,
            stop: end.stop.or_else(|| cut_short.as_deref().map(StopReason::of_code)),
            reason: end.reason.or_else(|| cut_short.map(|code| Reason::new(&code, ""))),
            interrupted_by: end.by,
            steps: turn.steps,
            tool_calls: turn.tool_calls,
            failed_tool_calls: turn.failed_tool_calls,
            usage: turn.usage,
            last_message: turn.last_message,
            hooks: end.hooks,
        };
        self.push(match end.how {
            How::Completed => RecordBody::TurnCompleted(body),
            How::Aborted => RecordBody::TurnAborted(body),
            How::Failed => RecordBody::TurnFailed(body),
            How::Rejected => RecordBody::TurnRejected(body),
        });
    }
}
