//! Forgetting a session: its actor stops, its rows go, and nothing revives it.

use mainstay_journal::{CommitError, ReadError};
use mainstay_protocol::{SessionId, op::Refusal};
use tokio::sync::oneshot;

use super::Host;
use crate::{
    clock,
    errors::{ForgetError, HostError},
    session::Request,
};

impl Host {
    /// Forgets a session for good: its records, transcript, queue and all that plugins keep with it. From the answer on, reads of
    /// it say that it is gone.
    ///
    /// # Errors
    /// There is no such session, it was forgotten before, a turn of it runs, or the journal fails. Nothing has changed then.
    pub async fn forget_session(&self, session: &SessionId) -> Result<(), ForgetError> {
        let (host, id) = (self.clone(), session.clone());
        let forgotten = self.to_its_end(async move { host.forget_now(&id).await }).await;
        forgotten.unwrap_or(Err(ForgetError::Closing))
    }

    async fn forget_now(&self, session: &SessionId) -> Result<(), ForgetError> {
        let _one_at_a_time = self.inner.opening.lock().await;
        let shared = &self.inner.shared;
        // A state that is damaged must not keep a session from being forgotten.
        if let Err(ReadError::Gone) = shared.journal.open_session(&shared.tenant, session).await {
            return Err(ForgetError::Gone(session.clone()));
        }
        let asked = if self.inner.table.is_open(session) { self.ask_actor(session).await } else { Ok(false) };
        if !asked? {
            let forgotten = shared.journal.forget(&shared.tenant, session, clock::now()).await;
            forgotten.map_err(|error| ForgetError::of(error, session))?;
        }
        self.inner.table.erase(session);
        shared.hub.close(session);
        Ok(())
    }

    /// Only the actor knows whether a turn is about to run; it stops once it has forgotten the session. False when it stopped for
    /// another reason before it came to that.
    async fn ask_actor(&self, session: &SessionId) -> Result<bool, ForgetError> {
        let (reply, answer) = oneshot::channel();
        match self.send(session, Request::Forget(reply)) {
            Ok(()) => {}
            Err(Refusal::Busy { waiting }) => return Err(ForgetError::Busy { waiting }),
            Err(_) => return Err(ForgetError::Closing),
        }
        match answer.await {
            Ok(forgotten) => forgotten.map(|()| true),
            Err(_) if self.inner.table.stopped(session).is_some() => Ok(false),
            Err(_) => Err(ForgetError::Closing),
        }
    }
}

impl ForgetError {
    pub(crate) fn of(error: CommitError, session: &SessionId) -> Self {
        match error {
            CommitError::UnknownSession => Self::Unknown(session.clone()),
            CommitError::Gone => Self::Gone(session.clone()),
            error => Self::Host(HostError::Commit(error)),
        }
    }
}
