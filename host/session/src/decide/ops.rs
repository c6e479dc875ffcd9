//! B1: ops of clients.

use mainstay_protocol::{
    ApprovalId, Digest, RouteName, SubmissionId, TurnId,
    content::Part,
    op::{ApprovalAnswer, Delivery, MAX_MESSAGE_BYTES, MAX_QUEUED_MESSAGES, Refusal},
    record::{
        RecordBody,
        v1::{ApprovalResolved, MessageAccepted, ModelChanged, Reason, Resolution, SessionRetried, StopReason},
    },
};

use super::{Draft, Refused, turns::End};
use crate::state::{Call, Life, QueuedMessage, Turn};

/// Bytes that a person may say beside an answer.
const MAX_COMMENT_BYTES: usize = 4_096;

impl Draft {
    pub(super) fn submit(
        &mut self,
        submission: SubmissionId,
        content: Vec<Part>,
        delivery: Delivery,
    ) -> Result<(), Refused> {
        let bytes = check_message(&content, delivery)?;
        if self.state().queue.len() >= MAX_QUEUED_MESSAGES {
            return Err(Refusal::QueueFull { allowed: MAX_QUEUED_MESSAGES as u64 }.into());
        }
        let accepted = self.state().accepted.next();
        let encoded = serde_json::to_vec(&content).expect("content holds nothing that JSON can't");
        self.push(RecordBody::MessageAccepted(MessageAccepted {
            submission: submission.clone(),
            accepted,
            delivery,
            bytes,
            digest: Digest::of_fields("mainstay/message/1", &[&encoded]),
        }));
        self.decision.queued.push(QueuedMessage { submission, accepted, delivery, at: self.now, content });
        Ok(())
    }

    pub(super) fn set_model(&mut self, submission: SubmissionId, route: RouteName) {
        self.push(RecordBody::ModelChanged(ModelChanged { submission: Some(submission), route }));
    }

    pub(super) fn approve(
        &mut self,
        submission: SubmissionId,
        approval: ApprovalId,
        answer: ApprovalAnswer,
        comment: Option<String>,
    ) -> Result<(), Refused> {
        if let Some(bytes) = comment.as_ref().map(String::len).filter(|bytes| *bytes > MAX_COMMENT_BYTES) {
            return Err(Refusal::MessageTooLarge { bytes: bytes as u64, allowed: MAX_COMMENT_BYTES as u64 }.into());
        }
        let turn = self.state().turn.as_ref().ok_or_else(|| unknown(&approval))?;
        let asking = |call: &Call| matches!(&call.life, Life::Asking { approval: asked, .. } if *asked == approval);
        let Some((index, _)) = turn.numbered_calls().find(|(_, call)| asking(call)) else {
            return Err(unknown_or_resolved(turn, approval).into());
        };
        let turn = turn.id.clone();
        let resolution = match answer {
            ApprovalAnswer::Approve => Resolution::Approved,
            ApprovalAnswer::Deny => Resolution::Denied,
        };
        let submission = Some(submission);
        let resolved = ApprovalResolved { approval, turn, index, resolution, submission, comment };
        self.push(RecordBody::ApprovalResolved(resolved));
        Ok(())
    }

    /// Calls off the turn: its acceptance and the turn's terminal record are one decision.
    pub(super) fn interrupt(&mut self, submission: SubmissionId, turn: TurnId) -> Result<(), Refused> {
        if self.running(&turn).is_err() {
            return Err(Refusal::StaleTurn { turn }.into());
        }
        let reason = Reason::new("interrupted", "called off by a person");
        self.close_turn(End::aborted(StopReason::CancelledByPerson, reason).by(submission));
        Ok(())
    }

    pub(super) fn retry(&mut self, cause: String) -> Result<(), Refused> {
        if !self.state().parked {
            return Err(Refusal::NotParked.into());
        }
        self.push(RecordBody::SessionRetried(SessionRetried { cause }));
        Ok(())
    }
}

fn check_message(content: &[Part], delivery: Delivery) -> Result<u64, Refusal> {
    if delivery == Delivery::Steer {
        return Err(Refusal::Unsupported { what: "delivery `steer`".to_owned() });
    }
    let bytes: usize = content.iter().map(Part::bytes).sum();
    if bytes == 0 {
        return Err(Refusal::InvalidMessage { reason: "it is empty".to_owned() });
    }
    if bytes > MAX_MESSAGE_BYTES {
        return Err(Refusal::MessageTooLarge { bytes: bytes as u64, allowed: MAX_MESSAGE_BYTES as u64 });
    }
    let not_json = |text: &str| serde_json::from_str::<serde::de::IgnoredAny>(text).is_err();
    if content.iter().any(|part| matches!(part, Part::Json(text) if not_json(text))) {
        return Err(Refusal::InvalidMessage { reason: "a `json` part is not JSON".to_owned() });
    }
    Ok(bytes as u64)
}

fn unknown(approval: &ApprovalId) -> Refused {
    Refusal::UnknownApproval { approval: approval.clone() }.into()
}

fn unknown_or_resolved(turn: &Turn, approval: ApprovalId) -> Refusal {
    let answered = |call: &Call| call.answer.as_ref().is_some_and(|answer| answer.approval == approval);
    if turn.calls().iter().any(answered) {
        return Refusal::AlreadyResolved { approval };
    }
    Refusal::UnknownApproval { approval }
}
