//! Which sessions have an actor. Sending to a session and retiring its actor exclude each other, so that no request falls
//! between the two.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use mainstay_protocol::{SessionId, op::Refusal};
use tokio::sync::mpsc;

use super::Request;

/// Ops that may wait for one session.
pub(crate) const INBOX: usize = 64;

/// The actors, and what is remembered of sessions that have none.
#[derive(Debug, Default)]
pub(crate) struct Table {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    actors: HashMap<SessionId, mpsc::Sender<Request>>,
    /// Sessions that this host has taken up: recovery is over for them.
    opened: HashSet<SessionId>,
    stopped: HashMap<SessionId, String>,
    closed: bool,
}

/// What became of a request.
pub(crate) enum Sent {
    /// An actor has it.
    Yes,
    /// The session needs an actor: run one on this inbox, which holds the request already.
    Start(mpsc::Receiver<Request>),
    /// It can't be sent.
    No(Refusal),
}

impl Table {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request to a session's actor, or makes the inbox for a new one.
    pub(crate) fn send(&self, session: &SessionId, request: Request) -> Sent {
        let mut inner = self.lock();
        if inner.closed {
            return Sent::No(Refusal::Stopped { reason: "the host is shutting down".to_owned() });
        }
        if let Some(reason) = inner.stopped.get(session) {
            return Sent::No(Refusal::Stopped { reason: reason.clone() });
        }
        let request = match inner.actors.get(session) {
            None => request,
            Some(actor) => match actor.try_send(request) {
                Ok(()) => return Sent::Yes,
                Err(mpsc::error::TrySendError::Full(_)) => return Sent::No(busy()),
                // The actor is gone without having said so: a new one goes on from what is durable.
                Err(mpsc::error::TrySendError::Closed(request)) => request,
            },
        };
        let (sender, inbox) = mpsc::channel(INBOX);
        if sender.try_send(request).is_err() {
            return Sent::No(busy());
        }
        inner.actors.insert(session.clone(), sender);
        Sent::Start(inbox)
    }

    /// Makes the inbox of an actor that starts without a request; none when there is one already.
    pub(crate) fn start(&self, session: &SessionId) -> Option<mpsc::Receiver<Request>> {
        let mut inner = self.lock();
        let runs = inner.actors.get(session).is_some_and(|actor| !actor.is_closed());
        if inner.closed || runs {
            return None;
        }
        let (sender, inbox) = mpsc::channel(INBOX);
        inner.actors.insert(session.clone(), sender);
        Some(inbox)
    }

    /// Removes an actor that has no work; hands its inbox back when a request came in the meantime.
    pub(crate) fn retire(
        &self,
        session: &SessionId,
        inbox: mpsc::Receiver<Request>,
    ) -> Option<mpsc::Receiver<Request>> {
        let mut inner = self.lock();
        if !inbox.is_empty() {
            return Some(inbox);
        }
        inner.actors.remove(session);
        None
    }

    /// Removes an actor that never ran.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.lock().actors.remove(session);
    }

    /// Removes all that is remembered of a session that was forgotten.
    pub(crate) fn erase(&self, session: &SessionId) {
        let mut inner = self.lock();
        inner.actors.remove(session);
        inner.opened.remove(session);
        inner.stopped.remove(session);
    }

    /// Removes an actor that failed. The session refuses ops, with the reason, until it is opened again.
    pub(crate) fn stop(&self, session: &SessionId, reason: String) {
        let mut inner = self.lock();
        inner.actors.remove(session);
        inner.opened.remove(session);
        inner.stopped.insert(session.clone(), reason);
    }

    /// Notes that a session was taken up.
    pub(crate) fn open(&self, session: &SessionId) {
        let mut inner = self.lock();
        inner.opened.insert(session.clone());
        inner.stopped.remove(session);
    }

    /// Whether a session was taken up.
    pub(crate) fn is_open(&self, session: &SessionId) -> bool {
        self.lock().opened.contains(session)
    }

    /// Why a session's driver stopped.
    pub(crate) fn stopped(&self, session: &SessionId) -> Option<String> {
        self.lock().stopped.get(session).cloned()
    }

    /// Lets all actors end: their inboxes close.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.closed = true;
        inner.actors.clear();
    }
}

fn busy() -> Refusal {
    Refusal::Busy { waiting: INBOX as u64 }
}
