//! B2 and B7: a turn starts, and ends exactly once.

use mainstay_protocol::{
    SubmissionId, TurnId,
    content::{ItemBody, Message},
    record::{
        RecordBody,
        v1::{ApprovalResolved, HookNotes, Reason, Resolution, Span, TurnContinued, TurnEnded, TurnStarted},
    },
};

use super::{Abort, Draft, Place, Refused};
use crate::{
    command::InputRuling,
    state::{Life, Phase, Turn},
};

/// How a turn ends.
#[derive(Clone, Copy)]
pub(super) enum End {
    Completed,
    Aborted,
    Failed,
    Rejected,
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
        if rejected.is_some() {
            self.end_turn(End::Rejected, rejected, None, HookNotes::default());
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
        self.end_turn(End::Completed, None, None, hooks);
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

    /// Closes whatever is open in the turn and ends it as aborted.
    pub(super) fn abort(&mut self, abort: Abort) {
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
        self.end_turn(End::Aborted, Some(abort.reason), abort.by, HookNotes::default());
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

    /// The one terminal record of the running turn.
    pub(super) fn end_turn(
        &mut self,
        end: End,
        reason: Option<Reason>,
        interrupted_by: Option<SubmissionId>,
        hooks: HookNotes,
    ) {
        let Some(turn) = self.state().turn.clone() else { return };
        let body = TurnEnded {
            turn: turn.id,
            submission: turn.submission,
            accepted: turn.accepted,
            stop: None,
            reason: reason.or_else(|| turn.cut_short.map(|code| Reason::new(&code, ""))),
            interrupted_by,
            steps: turn.steps,
            tool_calls: turn.tool_calls,
            failed_tool_calls: turn.failed_tool_calls,
            usage: turn.usage,
            last_message: turn.last_message,
            hooks,
        };
        self.push(match end {
            End::Completed => RecordBody::TurnCompleted(body),
            End::Aborted => RecordBody::TurnAborted(body),
            End::Failed => RecordBody::TurnFailed(body),
            End::Rejected => RecordBody::TurnRejected(body),
        });
    }
}
