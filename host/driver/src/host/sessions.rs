//! Opening sessions and sending them ops. A session is taken up once by a host: then what a crash left is closed, before its
//! first op.

use mainstay_journal::{Committed, OpenedSession};
use mainstay_protocol::{
    RouteName, SessionId, SubmissionId,
    news::News,
    op::{Accepted, Op, Refusal},
};
use mainstay_session::{Command, Refused, State};
use tokio::sync::{broadcast, mpsc, oneshot};

use super::{Host, OpenSession, Opened};
use crate::{
    clock,
    errors::{HostError, OpenError},
    session::{
        OpRequest, Request,
        actor::{Actor, End},
        proposal::Proposal,
        table::Sent,
    },
};

impl Host {
    /// Opens a session: takes up an old one, or creates a new one.
    ///
    /// # Errors
    /// There is none and it was not to be created, the route is unknown, or the journal fails.
    pub async fn open_session(&self, request: OpenSession) -> Result<Opened, OpenError> {
        check_description(&request)?;
        if let Some(route) = request.route.as_ref().filter(|route| self.inner.shared.routes.find(route).is_none()) {
            let known = self.inner.shared.routes.known();
            return Err(OpenError::UnknownRoute { route: route.clone(), known });
        }
        let Some(session) = request.session.clone() else {
            return self.create(clock::new_session(), request).await;
        };
        if let Some(head) = self.take_up(&session, request.route.clone(), request.metadata.clone()).await? {
            return Ok(Opened { session, created: false, head });
        }
        if !request.create {
            return Err(OpenError::Unknown(session));
        }
        self.create(session, request).await
    }

    async fn create(&self, session: SessionId, request: OpenSession) -> Result<Opened, OpenError> {
        let _one_at_a_time = self.inner.opening.lock().await;
        if let Some(opened) = self.load(&session).await? {
            return Ok(Opened { session, created: false, head: opened.head });
        }
        let shared = &self.inner.shared;
        let route = request.route.unwrap_or_else(|| shared.routes.default_route().clone());
        let state = State::default();
        let mut proposal = Proposal::on(&state);
        let command = Command::Create { route, labels: request.labels, metadata: request.metadata };
        proposal.apply(command, clock::now()).map_err(refused)?;
        let transition = proposal.into_transition(&shared.tenant, &session, &state, None);
        shared.pass_barriers(&["B0"], "before");
        let committed = shared.journal.commit(transition).await.map_err(HostError::from)?;
        shared.pass_barriers(&["B0"], "after");
        self.inner.table.open(&session);
        shared.hub.tell(&session, || committed.records.iter().cloned().map(News::Record).collect::<Vec<_>>());
        Ok(Opened { session, created: true, head: committed.state.head() })
    }

    /// Takes a session up, unless this host has done so, and gives its last record; none when there is no such session.
    pub(crate) async fn take_up(
        &self,
        session: &SessionId,
        route: Option<RouteName>,
        metadata: Option<String>,
    ) -> Result<Option<mainstay_protocol::Ordinal>, OpenError> {
        let _one_at_a_time = self.inner.opening.lock().await;
        let Some(opened) = self.load(session).await? else { return Ok(None) };
        if self.inner.table.is_open(session) {
            return Ok(Some(opened.head));
        }
        let Some(inbox) = self.inner.table.start(session) else { return Ok(Some(opened.head)) };
        let mut actor =
            Actor::new(self.inner.shared.clone(), session.clone(), opened.map(|opened| opened.state), inbox);
        match actor.resume(route, metadata).await {
            Ok(head) => {
                self.inner.table.open(session);
                self.run(session.clone(), actor);
                Ok(Some(head))
            }
            Err(error) => {
                self.inner.table.forget(session);
                Err(error)
            }
        }
    }

    async fn load(&self, session: &SessionId) -> Result<Option<Committed<OpenedSession>>, HostError> {
        let shared = &self.inner.shared;
        Ok(shared.journal.open_session(&shared.tenant, session).await?)
    }

    /// Runs an actor to its end, and again when a request came while it was ending.
    fn run(&self, session: SessionId, actor: Actor) {
        let host = self.clone();
        self.spawn(async move {
            let mut next = Some(actor);
            while let Some(actor) = next.take() {
                match actor.run().await {
                    End::Closed => {}
                    End::Idle(inbox) => {
                        if let Some(inbox) = host.inner.table.retire(&session, inbox) {
                            next = host.revive(&session, inbox).await;
                        }
                    }
                    End::Stopped(stop) => {
                        tracing::error!(%session, "the session stops: {stop}");
                        host.inner.table.stop(&session, stop.to_string());
                    }
                }
            }
        });
    }

    async fn revive(&self, session: &SessionId, inbox: mpsc::Receiver<Request>) -> Option<Actor> {
        match self.load(session).await {
            Ok(Some(opened)) => {
                let shared = self.inner.shared.clone();
                return Some(Actor::new(shared, session.clone(), opened.map(|opened| opened.state), inbox));
            }
            Ok(None) => self.inner.table.forget(session),
            Err(error) => self.inner.table.stop(session, error.to_string()),
        }
        None
    }

    /// Sends an op to a session and waits until it is durable, or refused. Without an id the host makes one; with one, the
    /// same op twice is accepted once.
    ///
    /// # Errors
    /// A typed refusal; nothing has changed then.
    pub async fn op(&self, session: &SessionId, submission: Option<SubmissionId>, op: Op) -> Result<Accepted, Refusal> {
        let unknown = || Refusal::UnknownSession { session: session.to_string() };
        if !self.inner.table.is_open(session) {
            let taken_up = self.take_up(session, None, None).await;
            taken_up.map_err(|error| Refusal::Stopped { reason: error.to_string() })?.ok_or_else(unknown)?;
        }
        let (reply, answer) = oneshot::channel();
        let chosen = submission.is_some();
        let submission = submission.unwrap_or_else(clock::new_submission);
        self.send(session, Request::Op(OpRequest { submission, chosen, op, reply })).await?;
        let ended = || Refusal::Stopped { reason: "the session ended while the op was waiting".to_owned() };
        answer.await.map_err(|_| ended())?
    }

    async fn send(&self, session: &SessionId, request: Request) -> Result<(), Refusal> {
        match self.inner.table.send(session, request) {
            Sent::Yes => Ok(()),
            Sent::No(refusal) => Err(refusal),
            Sent::Start(inbox) => {
                if let Some(actor) = self.revive(session, inbox).await {
                    self.run(session.clone(), actor);
                }
                Ok(())
            }
        }
    }

    /// Watches a session: news from now on. Subscribe first, then read what is in the journal; what overlaps has the same
    /// ordinals.
    pub fn follow(&self, session: &SessionId) -> broadcast::Receiver<News> {
        self.inner.shared.hub.follow(session)
    }

    /// Waits until a session owes nothing: it is idle, parked, waits for a person, or its driver has stopped.
    pub async fn quiesced(&self, session: &SessionId) {
        let (reply, quiesced) = oneshot::channel();
        if self.send(session, Request::Quiesced(reply)).await.is_ok() {
            let _ = quiesced.await;
        }
    }

    /// Lets parked sessions try again: the code that failed may be another now.
    pub(crate) fn unpark_all(&self) {
        for session in self.inner.table.running() {
            let _ = self.inner.table.send(&session, Request::Unpark);
        }
    }
}

/// Bytes that a session's metadata, or its labels together, may have.
const MAX_DESCRIPTION: usize = 64 << 10;

fn check_description(request: &OpenSession) -> Result<(), OpenError> {
    let is_object = |text: &str| serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).is_ok();
    if request.metadata.as_deref().is_some_and(|text| text.len() > MAX_DESCRIPTION || !is_object(text)) {
        return Err(OpenError::Metadata);
    }
    let labels: usize = request.labels.0.iter().map(|(name, value)| name.len() + value.len()).sum();
    if labels > MAX_DESCRIPTION {
        return Err(OpenError::Labels);
    }
    Ok(())
}

fn refused(refused: Refused) -> OpenError {
    OpenError::Refused(match refused {
        Refused::Op(refusal) => refusal,
        Refused::Stale(why) => Refusal::Stopped { reason: why.to_owned() },
    })
}
