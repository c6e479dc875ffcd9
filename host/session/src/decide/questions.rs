//! Forms: asked while a turn runs, resolved once, and taken away when the turn ends before their answer.

#[cfg(test)]
mod tests;

use mainstay_protocol::{
    ElicitationId, SubmissionId,
    op::{MAX_FORM_BYTES, Refusal},
    record::{
        RecordBody,
        v1::{ElicitationRequested, ElicitationResolution, ElicitationResolved},
    },
};

use super::{Draft, Refused};
use crate::{
    command::{ElicitationAnswer, Question},
    state::{Phase, Turn},
};

/// Forms that one turn may ask at the same time.
const MAX_PENDING: usize = 128;

impl Draft {
    pub(super) fn ask_input(&mut self, question: Question) -> Result<(), Refused> {
        let Question { turn, elicitation, step, call, request, build } = question;
        let running = self.running(&turn)?;
        if step.is_some_and(|step| step != running.step) || call.is_some_and(|_| !has_call(running, call)) {
            return Err(Refused::Stale("the step is over"));
        }
        let known = running.elicitations.iter().any(|pending| pending.elicitation == elicitation);
        if known || self.state().resolved.has(&elicitation) {
            return Err(Refused::Stale("the question was asked before"));
        }
        if running.elicitations.len() >= MAX_PENDING {
            return Err(invalid(format!("{MAX_PENDING} of this turn are waiting already")));
        }
        check_object("it", &request)?;
        let accepted = running.accepted;
        self.push(RecordBody::ElicitationRequested(ElicitationRequested {
            elicitation,
            turn,
            accepted,
            step,
            call,
            request,
            build,
        }));
        Ok(())
    }

    pub(super) fn answer_input(
        &mut self,
        submission: SubmissionId,
        elicitation: ElicitationId,
        answer: ElicitationAnswer,
    ) -> Result<(), Refused> {
        let is_pending = |turn: &&Turn| turn.elicitations.iter().any(|pending| pending.elicitation == elicitation);
        let Some(turn) = self.state().turn.as_ref().filter(is_pending) else {
            return Err(if self.state().resolved.has(&elicitation) {
                Refusal::ElicitationResolved { elicitation }.into()
            } else {
                Refusal::UnknownElicitation { elicitation }.into()
            });
        };
        let (turn, accepted) = (turn.id.clone(), turn.accepted);
        let (resolution, values) = match answer {
            ElicitationAnswer::Accept(values) => (ElicitationResolution::Accepted, Some(values)),
            ElicitationAnswer::Decline => (ElicitationResolution::Declined, None),
        };
        if let Some(values) = &values {
            check_object("what was filled in", values)?;
        }
        let submission = Some(submission);
        self.push(RecordBody::ElicitationResolved(ElicitationResolved {
            elicitation,
            turn,
            accepted,
            resolution,
            submission,
            values,
        }));
        Ok(())
    }

    /// Takes the forms of the turn away: it ends.
    pub(super) fn dismiss_elicitations(&mut self, turn: &Turn) {
        for pending in &turn.elicitations {
            self.push(RecordBody::ElicitationResolved(ElicitationResolved {
                elicitation: pending.elicitation.clone(),
                turn: turn.id.clone(),
                accepted: turn.accepted,
                resolution: ElicitationResolution::Dismissed,
                submission: None,
                values: None,
            }));
        }
    }
}

/// Whether the turn has the call, and it still has no result.
fn has_call(turn: &Turn, call: Option<mainstay_protocol::CallIndex>) -> bool {
    matches!(turn.phase, Phase::Calls(_))
        && call.and_then(|index| turn.call(index)).is_some_and(|call| !call.is_ended())
}

fn check_object(what: &str, json: &str) -> Result<(), Refused> {
    if json.len() > MAX_FORM_BYTES {
        return Err(invalid(format!("{what} has {} bytes and may have {MAX_FORM_BYTES}", json.len())));
    }
    match serde_json::from_str::<Object>(json) {
        Ok(Object) => Ok(()),
        Err(_) => Err(invalid(format!("{what} is not a JSON object"))),
    }
}

/// A JSON object whose fields don't matter.
struct Object;

impl<'de> serde::Deserialize<'de> for Object {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        std::collections::BTreeMap::<String, serde::de::IgnoredAny>::deserialize(deserializer).map(|_| Self)
    }
}

fn invalid(reason: String) -> Refused {
    Refusal::InvalidForm { reason }.into()
}
