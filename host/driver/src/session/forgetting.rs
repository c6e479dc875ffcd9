//! A session that is to be forgotten: refused while a turn runs, and the end of its actor otherwise.

use tokio::sync::oneshot;

use super::actor::{Actor, Stop};
use crate::{clock, errors::ForgetError};

impl Actor {
    /// Forgets the session unless a turn runs. Then there is nothing left for the actor to do anything with.
    pub(super) async fn serve_forget(&mut self, reply: oneshot::Sender<Result<(), ForgetError>>) -> Result<(), Stop> {
        if let Some(turn) = self.proposal.tip().turn() {
            let _ = reply.send(Err(ForgetError::TurnRunning { turn: turn.id.clone() }));
            return Ok(());
        }
        match self.shared.journal.forget(&self.shared.tenant, &self.session, clock::now()).await {
            Ok(_) => {
                let _ = reply.send(Ok(()));
                Err(Stop::Forgotten)
            }
            Err(error) => {
                let _ = reply.send(Err(ForgetError::of(error, &self.session)));
                Ok(())
            }
        }
    }
}
