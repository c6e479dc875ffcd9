//! B4 and B5: calls are decided, started in runs, and get exactly one result each.

use mainstay_protocol::{
    ApprovalId, CallIndex, StepIndex, TurnId,
    content::{CallResult, ItemBody, Part},
    record::{
        RecordBody,
        v1::{
            ApprovalRequested, CallDecision, CallEnded, CallOutcome, CallVerdict, CallsDecided, HookNotes, Intent,
            Reason, RunStarted, StopReason,
        },
    },
    tool::{Effect, Execution},
};

use super::{Draft, Place, Refused, opening::LOST, turns::End};
use crate::{
    command::{FinishedCall, RuledCall, Ruling, ToolFacts},
    state::{Answer, Call, Life, Phase, Turn},
};

/// What the model reads of a call that was lost in a crash and must not run twice.
pub const UNKNOWN_AFTER_RESTART: &str = "execution interrupted; result unknown after restart";

/// What becomes of a ruled call.
enum Fate {
    Allow(ToolFacts),
    Ask {
        tool: ToolFacts,
        reasons: Vec<Reason>,
        approval: ApprovalId,
        supersedes: Option<ApprovalId>,
    },
    Deny(Reason),
    /// It had started before a crash, as a call that may run twice, and is one now that may not.
    Lose,
}

impl Draft {
    pub(super) fn decide_calls(
        &mut self,
        turn: &TurnId,
        step: StepIndex,
        ruled: Vec<RuledCall>,
        hooks: HookNotes,
    ) -> Result<(), Refused> {
        let running = self.running_at(turn, step, |phase| matches!(phase, Phase::Calls(_)))?.clone();
        let fates: Vec<(CallIndex, Fate)> = ruled
            .into_iter()
            .filter_map(|ruled| {
                let call = running.call(ruled.index).filter(|call| is_undecided(call))?;
                Some((ruled.index, fate(call, ruled.ruling)))
            })
            .collect();
        if fates.is_empty() {
            return Err(Refused::Stale("no call waits for a decision"));
        }
        let calls = fates.iter().map(|(index, fate)| CallDecision { index: *index, verdict: verdict(fate) }).collect();
        self.push(RecordBody::CallsDecided(CallsDecided { turn: turn.clone(), step, calls, hooks }));
        let lost = fates.iter().any(|(_, fate)| matches!(fate, Fate::Lose));
        for (index, fate) in fates {
            self.apply_fate(&running, index, fate);
        }
        if lost {
            self.close_turn(End::aborted(StopReason::HostRestarted, Reason::new("restarted", LOST)));
        } else {
            self.start_next_run(turn);
        }
        Ok(())
    }

    fn apply_fate(&mut self, turn: &Turn, index: CallIndex, fate: Fate) {
        match fate {
            Fate::Allow(_) => {}
            Fate::Lose => self.lose_call(turn, index),
            Fate::Deny(reason) => {
                let text = if reason.message.is_empty() { "the call was denied" } else { &reason.message };
                self.end_call(turn, index, text_result(text, CallOutcome::Denied(reason.clone())));
            }
            Fate::Ask { tool, reasons, approval, supersedes } => {
                let Some(call) = turn.call(index) else { return };
                self.push(RecordBody::ApprovalRequested(ApprovalRequested {
                    approval,
                    turn: turn.id.clone(),
                    step: turn.step,
                    index,
                    item: call.item,
                    tool: call.tool.clone(),
                    definition: tool.definition,
                    arguments: tool.arguments,
                    reasons,
                    supersedes,
                }));
            }
        }
    }

    /// Writes the intent of the next run, once nobody is asked and nothing runs: the first call that may run, and those
    /// right after it that may run beside it.
    fn start_next_run(&mut self, turn: &TurnId) {
        let Ok(running) = self.running(turn) else { return };
        let waits = |call: &Call| call.is_asking() || call.is_intended() || matches!(call.life, Life::Planned);
        if !running.elicitations.is_empty() || running.calls().iter().any(waits) {
            return;
        }
        let calls = next_run(running);
        let (turn, step) = (running.id.clone(), running.step);
        if !calls.is_empty() {
            self.push(RecordBody::RunStarted(RunStarted { turn, step, calls }));
        }
    }

    pub(super) fn accept_results(
        &mut self,
        turn: &TurnId,
        step: StepIndex,
        results: Vec<FinishedCall>,
    ) -> Result<(), Refused> {
        let running = self.running_at(turn, step, |phase| matches!(phase, Phase::Calls(_)))?.clone();
        let expected = |finished: &FinishedCall| running.call(finished.index).is_some_and(Call::is_intended);
        if results.is_empty() || !results.iter().all(expected) {
            return Err(Refused::Stale("a call is not running"));
        }
        for finished in results {
            let index = finished.index;
            self.end_call(&running, index, finished);
        }
        self.start_next_run(turn);
        Ok(())
    }

    /// A call that had started when the host ended, and must not run twice.
    pub(super) fn lose_call(&mut self, turn: &Turn, index: CallIndex) {
        let reason = Reason::new("restarted", "");
        self.end_call(turn, index, text_result(UNKNOWN_AFTER_RESTART, CallOutcome::Unknown(reason)));
    }

    /// A call that had started when its turn was called off.
    pub(super) fn cancel_call(&mut self, turn: &Turn, index: CallIndex) {
        if self.is_ended(index) {
            return;
        }
        let reason = Reason::new("cancelled", "");
        let text = "the call was called off while it ran; whether it took effect is unknown";
        self.end_call(turn, index, text_result(text, CallOutcome::Unknown(reason)));
    }

    /// A call that had not started when its turn was called off.
    pub(super) fn skip_call(&mut self, turn: &Turn, index: CallIndex) {
        if self.is_ended(index) {
            return;
        }
        let reason = Reason::new("turn-ended", "");
        self.end_call(
            turn,
            index,
            text_result("the call was not run: the turn ended before it", CallOutcome::Skipped(reason)),
        );
    }

    fn is_ended(&self, index: CallIndex) -> bool {
        let call = self.state().turn.as_ref().and_then(|turn| turn.call(index));
        call.is_none_or(Call::is_ended)
    }

    fn end_call(&mut self, turn: &Turn, index: CallIndex, finished: FinishedCall) {
        let Some(call) = turn.call(index) else { return };
        self.decision.blobs.extend(finished.whole);
        let result = CallResult {
            call_id: call.call_id.clone(),
            name: call.tool.clone(),
            content: finished.content,
            is_error: finished.is_error,
            extras: finished.extras,
        };
        let item = self.add_item(Place::of_call(&turn.id, turn.step, index), ItemBody::ToolResult(result));
        self.push(RecordBody::CallEnded(CallEnded {
            turn: turn.id.clone(),
            step: turn.step,
            index,
            tool: call.tool.clone(),
            call_id: call.call_id.clone(),
            item,
            is_error: finished.is_error,
            outcome: finished.outcome,
            build: finished.build,
            ms: finished.ms,
        }));
    }
}

fn is_undecided(call: &Call) -> bool {
    matches!(call.life, Life::Planned | Life::Allowed(_))
}

/// Joins what policy and gates say with what a person answered. A person's answer counts only for what they saw.
fn fate(call: &Call, ruling: Ruling) -> Fate {
    let fate = answered(call.answer.as_ref(), ruling);
    if !call.is_doubtful() {
        return fate;
    }
    // What a call that had started has done is unknown. Only one that may run twice can still tell.
    match fate {
        Fate::Allow(tool) | Fate::Ask { tool, .. } if tool.effect == Effect::AtMostOnce => Fate::Lose,
        Fate::Deny(_) | Fate::Lose => Fate::Lose,
        fate @ (Fate::Allow(_) | Fate::Ask { .. }) => fate,
    }
}

fn answered(answer: Option<&Answer>, ruling: Ruling) -> Fate {
    match (ruling, answer) {
        (Ruling::Deny(reason), _) => Fate::Deny(reason),
        (Ruling::Allow(_) | Ruling::Ask { .. }, Some(answer)) if !answer.approved => {
            Fate::Deny(denied_by_person(answer))
        }
        (Ruling::Allow(tool), _) => Fate::Allow(tool),
        (Ruling::Ask { tool, reasons, approval }, None) => Fate::Ask { tool, reasons, approval, supersedes: None },
        (Ruling::Ask { tool, reasons, approval }, Some(answer)) => {
            if answer.definition == tool.definition && answer.arguments == tool.arguments {
                return Fate::Allow(tool);
            }
            Fate::Ask { tool, reasons, approval, supersedes: Some(answer.approval.clone()) }
        }
    }
}

fn denied_by_person(answer: &Answer) -> Reason {
    let message = match &answer.comment {
        Some(comment) if !comment.is_empty() => format!("a person denied the call: {comment}"),
        _ => "a person denied the call".to_owned(),
    };
    Reason::new("denied-by-person", message)
}

fn verdict(fate: &Fate) -> CallVerdict {
    match fate {
        Fate::Allow(tool) => {
            CallVerdict::Allowed { build: tool.build.clone(), effect: tool.effect, execution: tool.execution }
        }
        Fate::Ask { .. } => CallVerdict::Asked,
        Fate::Deny(reason) => CallVerdict::Denied(reason.clone()),
        Fate::Lose => CallVerdict::Denied(Reason::new("result-unknown", UNKNOWN_AFTER_RESTART)),
    }
}

/// The calls of the next run. Calls that have ended in between (denied ones) don't break it.
fn next_run(turn: &Turn) -> Vec<Intent> {
    let mut run = Vec::new();
    for (index, call) in turn.numbered_calls() {
        let Life::Allowed(authorised) = &call.life else { continue };
        if authorised.execution == Execution::Exclusive && !run.is_empty() {
            break;
        }
        run.push(Intent { index, attempt: call.attempts.saturating_add(1), build: authorised.build.clone() });
        if authorised.execution == Execution::Exclusive {
            break;
        }
    }
    run
}

fn text_result(text: &str, outcome: CallOutcome) -> FinishedCall {
    FinishedCall {
        index: CallIndex(0),
        content: vec![Part::Text(text.to_owned())],
        is_error: true,
        extras: None,
        outcome,
        build: None,
        ms: 0,
        whole: None,
    }
}
