//! B1: an op is recognised if it came before, decided on committed state, made durable, and only then acknowledged.

use mainstay_journal::{Commit, CommitError, Committed, MAX_PAGE, NewSubmission, Range};
use mainstay_protocol::{
    ApprovalId, Ordinal, RouteName, SubmissionId,
    op::{Accepted, Op, Refusal},
    record::RecordBody,
};
use mainstay_session::{Command, Refused};

use super::{
    OpRequest,
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
            Ok(None) => self.accept(submission, op).await.map(|committed| acknowledge(&committed)),
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

    async fn accept(&mut self, submission: SubmissionId, op: Op) -> Result<Committed<Commit>, NotAccepted> {
        let digest = op.digest();
        let mut proposal = self.ground_for(&op);
        let command = self.command(submission.clone(), op)?;
        if let Err(refused) = proposal.apply(command, clock::now()) {
            return Err(self.refusal(refused).await);
        }
        let decision = proposal.decision();
        let accepted = decision.queued.first().map(|queued| queued.accepted);
        let record = decision.records.len().saturating_sub(1);
        let answered = NewSubmission { submission: submission.clone(), digest, accepted, record };
        match self.commit(proposal, Some(answered)).await {
            Ok(committed) => {
                self.proposal.rebase(self.base.get());
                Ok(committed)
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
            Refused::Op(Refusal::UnknownApproval { approval }) => match self.was_asked(&approval).await {
                Ok(true) => Refusal::AlreadyResolved { approval },
                Ok(false) => Refusal::UnknownApproval { approval },
                Err(stop) => return NotAccepted::Stop(stop),
            },
            Refused::Op(refusal) => refusal,
            Refused::Stale(why) => Refusal::Stopped { reason: why.to_owned() },
        };
        NotAccepted::Refused(refusal)
    }

    /// Whether a question was asked in the last records of the session.
    async fn was_asked(&self, approval: &ApprovalId) -> Result<bool, Stop> {
        let range = Range::backward(MAX_PAGE);
        let page = self.shared.journal.records(&self.shared.tenant, &self.session, range).await?;
        Ok(page.rows.iter().any(|record| match &*record.body {
            RecordBody::ApprovalRequested(asked) => asked.approval == *approval,
            _ => false,
        }))
    }

    /// Serves a change of route or metadata.
    pub(super) async fn serve_configure(
        &mut self,
        route: Option<RouteName>,
        metadata: Option<String>,
    ) -> Result<Result<Ordinal, Refusal>, Stop> {
        let mut proposal = Proposal::on(self.base.get());
        if let Err(refused) = proposal.apply(Command::Reconfigure { route, metadata }, clock::now()) {
            return Ok(Err(Refusal::Stopped { reason: refused.to_string() }));
        }
        self.commit(proposal, None).await?;
        self.proposal.rebase(self.base.get());
        Ok(Ok(self.base.get().head()))
    }

    fn command(&self, submission: SubmissionId, op: Op) -> Result<Command, Refusal> {
        Ok(match op {
            Op::Submit { content, delivery } => Command::Submit { submission, content, delivery },
            Op::Interrupt { turn } => Command::Interrupt { submission, turn },
            Op::Approve { approval, answer, comment } => Command::Approve { submission, approval, answer, comment },
            Op::SetModel { route } if self.shared.routes.find(&route).is_none() => {
                return Err(Refusal::UnknownRoute { route, known: self.shared.routes.known() });
            }
            Op::SetModel { route } => Command::SetModel { submission, route },
            Op::Retry {} => Command::Retry { cause: "requested".to_owned() },
        })
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
