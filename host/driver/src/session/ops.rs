//! B1: an op is recognised if it came before, decided on committed state, made durable, and only then acknowledged.

mod command;

use mainstay_journal::{Commit, CommitError, Committed, MAX_PAGE, NewSubmission, Range};
use mainstay_protocol::{
    Ordinal, SubmissionId,
    op::{Accepted, Op, Refusal},
    record::RecordBody,
};
use mainstay_session::{Command, Refused, State};

use super::{
    OpRequest, Reconfiguration,
    actor::{Actor, Stop},
    proposal::Proposal,
};
use crate::clock;

impl Actor {
    /// Serves an op. Only a failure of the journal stops the session.
    pub(super) async fn serve_op(&mut self, request: OpRequest) -> Result<(), Stop> {
        let OpRequest { submission, chosen, op, reply } = request;
        let answer = match self.repeated(&submission, chosen, &op).await {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => self.accept(submission, op).await,
            Err(stop) => Err(NotAccepted::Stop(stop)),
        };
        // The client may have left; what was accepted is accepted all the same.
        let (answer, stop) = match answer {
            Ok(answer) => (answer, Ok(())),
            Err(NotAccepted::Refused(refusal)) => (Err(refusal), Ok(())),
            Err(NotAccepted::Stop(stop)) => {
                let refusal = Refusal::Stopped { reason: stop.to_string() };
                (Err(refusal), if stop.left_all_as_it_was() { Ok(()) } else { Err(stop) })
            }
        };
        let _ = reply.send(answer);
        stop
    }

    /// The answer that the op got before, if it came before.
    async fn repeated(
        &self,
        submission: &SubmissionId,
        chosen: bool,
        op: &Op,
    ) -> Result<Option<Result<Accepted, Refusal>>, Stop> {
        if !chosen {
            return Ok(None);
        }
        let known = self.shared.journal.submission(&self.shared.tenant, &self.session, submission).await?;
        Ok(known.map(|(digest, accepted)| {
            if digest == op.digest() {
                Ok(Accepted { already: true, ..accepted })
            } else {
                Err(Refusal::SubmissionReused { submission: submission.clone() })
            }
        }))
    }

    async fn accept(&mut self, submission: SubmissionId, op: Op) -> Result<Result<Accepted, Refusal>, NotAccepted> {
        let digest = op.digest();
        if self.is_known_end(&op).await.map_err(NotAccepted::Stop)? {
            return Ok(Ok(nothing_new(&self.base, submission)));
        }
        let (mut proposal, is_report) = (self.ground_for(&op), command::is_report(&op));
        let command = command::of(submission.clone(), op, &self.shared.routes)?;
        match proposal.apply(command, clock::now()) {
            Ok(()) if proposal.is_empty() => return Ok(Ok(nothing_new(&self.base, submission))),
            Ok(()) => {}
            // A report that comes late, or again, or from a stale owner is no news.
            Err(Refused::Stale(_)) if is_report => return Ok(Ok(nothing_new(&self.base, submission))),
            Err(refused) => return Err(self.refusal(refused).await),
        }
        let decision = proposal.decision();
        let accepted = decision.queued.first().map(|queued| queued.accepted);
        let record = decision.records.len().saturating_sub(1);
        let answered = NewSubmission { submission: submission.clone(), digest, accepted, record };
        match self.commit(proposal, Some(answered)).await {
            Ok(committed) => {
                self.proposal.rebase(self.base.get());
                Ok(acknowledge(&committed))
            }
            Err(Stop::Commit(CommitError::Duplicate { digest: known, accepted, .. })) if known == digest => {
                Ok(Ok(accepted))
            }
            Err(Stop::Commit(CommitError::Duplicate { .. })) => {
                Err(NotAccepted::Refused(Refusal::SubmissionReused { submission }))
            }
            Err(stop) => Err(NotAccepted::Stop(stop)),
        }
    }

    /// What an op is decided on: what is committed. An interrupt is decided on what is known, so that what the model has said and
    /// what calls have returned is kept, and commits with it.
    fn ground_for(&self, op: &Op) -> Proposal {
        match op {
            Op::Interrupt { turn } if self.proposal.tip().turn().is_some_and(|running| running.id == *turn) => {
                self.with_finished_results()
            }
            _ => Proposal::on(self.base.get()),
        }
    }

    async fn refusal(&self, refused: Refused) -> NotAccepted {
        let refusal = match refused {
            Refused::Op(Refusal::UnknownApproval { approval }) => {
                let asked = |body: &RecordBody| matches!(body, RecordBody::ApprovalRequested(asked) if asked.approval == approval);
                match self.was_recorded(asked).await {
                    Ok(true) => Refusal::AlreadyResolved { approval },
                    Ok(false) => Refusal::UnknownApproval { approval },
                    Err(stop) => return NotAccepted::Stop(stop),
                }
            }
            Refused::Op(Refusal::UnknownElicitation { elicitation }) => {
                let asked = |body: &RecordBody| matches!(body, RecordBody::ElicitationRequested(asked) if asked.elicitation == elicitation);
                match self.was_recorded(asked).await {
                    Ok(true) => Refusal::ElicitationResolved { elicitation },
                    Ok(false) => Refusal::UnknownElicitation { elicitation },
                    Err(stop) => return NotAccepted::Stop(stop),
                }
            }
            Refused::Op(refusal) => refusal,
            Refused::Stale(why) => Refusal::Stopped { reason: why.to_owned() },
        };
        NotAccepted::Refused(refusal)
    }

    /// Whether the op reports the end of a command that has ended before. The state remembers only the last of them.
    async fn is_known_end(&self, op: &Op) -> Result<bool, Stop> {
        let Op::EndCommand { command, .. } = op else { return Ok(false) };
        self.was_recorded(|body| matches!(body, RecordBody::CommandEnded(ended) if ended.command == *command)).await
    }

    /// Whether such a record is among the last ones of the session.
    async fn was_recorded(&self, wanted: impl Fn(&RecordBody) -> bool) -> Result<bool, Stop> {
        let range = Range::backward(MAX_PAGE);
        let page = self.shared.journal.records(&self.shared.tenant, &self.session, range).await?;
        Ok(page.rows.iter().any(|record| wanted(&record.body)))
    }

    /// Serves a change of what the session was opened with.
    pub(super) async fn serve_configure(&mut self, change: Reconfiguration) -> Result<Result<Ordinal, Refusal>, Stop> {
        let Reconfiguration { route, metadata, requires } = change;
        let mut proposal = Proposal::on(self.base.get());
        if let Err(refused) = proposal.apply(Command::Reconfigure { route, metadata, requires }, clock::now()) {
            return Ok(Err(Refusal::Stopped { reason: refused.to_string() }));
        }
        self.commit(proposal, None).await?;
        self.proposal.rebase(self.base.get());
        Ok(Ok(self.base.get().head()))
    }
}

/// Why an op has no record.
enum NotAccepted {
    Refused(Refusal),
    Stop(Stop),
}

impl From<Refusal> for NotAccepted {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// An acknowledgement takes a commit: nothing else can be told to a client as accepted.
fn acknowledge(committed: &Committed<Commit>) -> Result<Accepted, Refusal> {
    committed.accepted.clone().ok_or_else(|| Refusal::Stopped { reason: "the journal gave no receipt".to_owned() })
}

/// The answer to an op that changes nothing: what it says is durable already, up to the session's last record.
fn nothing_new(base: &Committed<State>, submission: SubmissionId) -> Accepted {
    Accepted { submission, ordinal: base.get().head(), seq: None, accepted: None, already: true }
}
