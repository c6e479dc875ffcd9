//! B0: a session opens or resumes, with what a crash left to close.

use std::collections::BTreeMap;

use mainstay_protocol::{
    Digest, PluginName, RouteName,
    op::{Labels, Refusal},
    receipt::Receipt,
    record::{
        RecordBody,
        v1::{Opening, Reason, RunInterrupted, SessionConfigured, StepCompleted, StepOutcome, StopReason},
    },
    tool::Effect,
};

use super::{Draft, Refused, turns::End};
use crate::state::{Life, Phase, Turn};

/// Why a turn ends when the result of one of its calls is unknown.
pub(super) const LOST: &str = "the host ended while a call ran that must not run twice";

/// The builds without which a session does not run.
type Requirements = BTreeMap<PluginName, Digest>;

impl Draft {
    pub(super) fn create(
        &mut self,
        route: RouteName,
        labels: Labels,
        metadata: Option<String>,
        requires: Option<Requirements>,
    ) {
        let opening = Opening::Created;
        self.push(RecordBody::SessionConfigured(SessionConfigured { opening, route, labels, metadata, requires }));
    }

    /// Takes the session up again. The saved route counts unless the caller overrides it; the configured default is never
    /// taken in its place.
    pub(super) fn resume(
        &mut self,
        route: Option<RouteName>,
        metadata: Option<String>,
        requires: Option<Requirements>,
        retry_open_step: bool,
    ) -> Result<(), Refused> {
        let Some(route) = route.or_else(|| self.state().route.clone()) else {
            let reason = "the saved session has no model route; name one to override it".to_owned();
            return Err(Refusal::Stopped { reason }.into());
        };
        let (opening, labels) = (Opening::Resumed, Labels::default());
        self.push(RecordBody::SessionConfigured(SessionConfigured { opening, route, labels, metadata, requires }));
        self.recover(retry_open_step);
        self.recover_operation();
        Ok(())
    }

    /// Changes an open session; its turn goes on.
    pub(super) fn reconfigure(
        &mut self,
        route: Option<RouteName>,
        metadata: Option<String>,
        requires: Option<Requirements>,
    ) -> Result<(), Refused> {
        let Some(route) = route.or_else(|| self.state().route.clone()) else {
            return Err(Refused::Stale("the session has no route"));
        };
        let (opening, labels) = (Opening::Resumed, Labels::default());
        self.push(RecordBody::SessionConfigured(SessionConfigured { opening, route, labels, metadata, requires }));
        Ok(())
    }

    /// Records the builds that did not serve before.
    pub(super) fn serve(&mut self, receipts: Vec<Receipt>) {
        for receipt in receipts {
            if self.state().serving.get(&receipt.plugin) != Some(&receipt.id()) {
                self.push(RecordBody::ReceiptRecorded(receipt));
            }
        }
    }

    /// Closes what can't go on. All else is owed by the state and needs nothing here.
    fn recover(&mut self, retry_open_step: bool) {
        let Some(turn) = self.state().turn.clone() else { return };
        match &turn.phase {
            // A form waits for its answer: the step that asks stays open, and the form is asked again under the same id.
            Phase::Model if turn.is_waiting() => {}
            // Nothing of an open step is durable but its opening: no call of it has an intent.
            Phase::Model if retry_open_step => self.interrupt_step(&turn),
            Phase::Model => self.close_open_step(&turn),
            Phase::Calls(_) => self.recover_calls(&turn),
            Phase::Ready | Phase::Completion => {}
        }
    }

    fn close_open_step(&mut self, turn: &Turn) {
        self.interrupt_step(turn);
        let reason = Reason::new("restarted", "the host ended while the model was being asked");
        self.close_turn(End::aborted(StopReason::HostRestarted, reason));
    }

    /// The record that closes a step without output.
    pub(super) fn interrupt_step(&mut self, turn: &Turn) {
        self.push(RecordBody::StepCompleted(StepCompleted {
            turn: turn.id.clone(),
            step: turn.step,
            outcome: StepOutcome::Interrupted,
            attempts: Vec::new(),
            items: None,
            calls: Vec::new(),
            last_message: None,
            context_owner: None,
            finish: None,
        }));
    }

    /// A call that may run twice is planned again; one that may not gets the unknown result, and any of those ends the turn.
    fn recover_calls(&mut self, turn: &Turn) {
        let started = |wanted: fn(Effect) -> bool| {
            turn.numbered_calls()
                .filter(|(_, call)| matches!(&call.life, Life::Intended(on) if wanted(on.effect)))
                .map(|(index, _)| index)
                .collect::<Vec<_>>()
        };
        let lost = started(|effect| effect == Effect::AtMostOnce);
        if !lost.is_empty() {
            for index in lost {
                self.lose_call(turn, index);
            }
            self.close_turn(End::aborted(StopReason::HostRestarted, Reason::new("restarted", LOST)));
            return;
        }
        let again = started(|effect| effect != Effect::AtMostOnce);
        if !again.is_empty() {
            let (turn, step) = (turn.id.clone(), turn.step);
            self.push(RecordBody::RunInterrupted(RunInterrupted { turn, step, calls: again }));
        }
    }
}
