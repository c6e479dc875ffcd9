//! B1: an op is recognised if it came before, decided on committed state, made durable, and only then acknowledged.

use mainstay_journal::{Commit, CommitError, Committed, NewSubmission};
use mainstay_protocol::{
    SubmissionId,
    op::{Accepted, Op, Refusal},
};
use mainstay_session::{Command, Refused, decide};

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
        let answer = match self.repeated(&submission, chosen, &op).await? {
            Some(answer) => answer,
            None => match self.accept(submission, op).await {
                Ok(committed) => acknowledge(&committed),
                Err(NotAccepted::Refused(refusal)) => Err(refusal),
                Err(NotAccepted::Stop(stop)) => {
                    let _ = reply.send(Err(Refusal::Stopped { reason: stop.to_string() }));
                    return Err(stop);
                }
            },
        };
        // The client may have left; what was accepted is accepted all the same.
        let _ = reply.send(answer);
        Ok(())
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
        let command = self.command(submission.clone(), op)?;
        let now = clock::now();
        let decision = decide(self.base.get(), command.clone(), now).map_err(refusal)?;
        let accepted = decision.queued.first().map(|queued| queued.accepted);
        let record = decision.records.len().saturating_sub(1);
        let mut proposal = Proposal::on(self.base.get());
        proposal.apply(command, now).map_err(refusal)?;
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

fn refusal(refused: Refused) -> NotAccepted {
    NotAccepted::Refused(match refused {
        Refused::Op(refusal) => refusal,
        Refused::Stale(why) => Refusal::Stopped { reason: why.to_owned() },
    })
}

/// An acknowledgement takes a commit: nothing else can be told to a client as accepted.
fn acknowledge(committed: &Committed<Commit>) -> Result<Accepted, Refusal> {
    committed.accepted.clone().ok_or_else(|| Refusal::Stopped { reason: "the journal gave no receipt".to_owned() })
}
