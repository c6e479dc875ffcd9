//! Opening sessions and sending them ops. A session is taken up once by a host: then what a crash left is closed, before its
//! first op.

use std::collections::BTreeMap;

use mainstay_journal::{Committed, OpenedSession};
use mainstay_protocol::{
    Digest, Ordinal, PluginName, RouteName, SessionId, SubmissionId,
    news::News,
    op::{Accepted, Op, Refusal},
};
use mainstay_session::{Command, Refused, State};
use tokio::sync::{broadcast, mpsc, oneshot};

use super::{Host, OpenSession, Opened, description::check_description};
use crate::{
    clock,
    errors::{HostError, OpenError},
    session::{
        OpRequest, Reconfiguration, Request,
        actor::{Actor, End, Stop},
        proposal::Proposal,
        required,
        table::Sent,
    },
};

impl Host {
    /// Opens a session: takes up an old one, or creates a new one.
    ///
    /// # Errors
    /// There is none and it was not to be created, the route is unknown, a build that it requires is not the active one, or
    /// the journal fails.
    pub async fn open_session(&self, request: OpenSession) -> Result<Opened, OpenError> {
        check_description(&request)?;
        if let Some(route) = request.route.as_ref().filter(|route| self.inner.shared.routes.find(route).is_none()) {
            let known = self.inner.shared.routes.known();
            return Err(OpenError::UnknownRoute { route: route.clone(), known });
        }
        let host = self.clone();
        self.to_its_end(async move { host.take_up_or_create(request).await })
            .await
            .unwrap_or_else(|| Err(closing().into()))
    }

    async fn take_up_or_create(&self, request: OpenSession) -> Result<Opened, OpenError> {
        let Some(session) = request.session.clone() else {
            return self.create(clock::new_session(), request).await;
        };
        let OpenSession { route, metadata, requires, .. } = request.clone();
        let change = Reconfiguration { route, metadata, requires };
        match self.take_up(&session, change.clone()).await? {
            TakenUp::Now(head) => Ok(Opened { session, created: false, head }),
            TakenUp::Before(head) if change == Reconfiguration::default() => {
                Ok(Opened { session, created: false, head })
            }
            TakenUp::Before(_) => {
                let head = self.configure(&session, change).await?;
                Ok(Opened { session, created: false, head })
            }
            TakenUp::Missing if request.create => self.create(session, request).await,
            TakenUp::Missing => Err(OpenError::Unknown(session)),
        }
    }

    /// Changes a session that this host has taken up already.
    async fn configure(&self, session: &SessionId, change: Reconfiguration) -> Result<Ordinal, OpenError> {
        let (reply, answer) = oneshot::channel();
        self.send(session, Request::Configure { change, reply })?;
        Ok(answer.await.map_err(|_| closing())??)
    }

    /// Runs something to its end in a task of the host, also when the caller leaves in the middle.
    pub(crate) async fn to_its_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.spawn(async move {
            // The caller may have left.
            let _ = reply.send(work.await);
        });
        answer.await.ok()
    }

    async fn create(&self, session: SessionId, request: OpenSession) -> Result<Opened, OpenError> {
        let _one_at_a_time = self.inner.opening.lock().await;
        if let Some(opened) = self.load(&session).await? {
            return Ok(Opened { session, created: false, head: opened.head });
        }
        self.check_requires(request.requires.as_ref())?;
        let shared = &self.inner.shared;
        let route = request.route.unwrap_or_else(|| shared.routes.default_route().clone());
        let state = State::default();
        let mut proposal = Proposal::on(&state);
        let OpenSession { labels, metadata, requires, .. } = request;
        let command = Command::Create { route, labels, metadata, requires };
        proposal.apply(command, clock::now()).map_err(refused)?;
        let transition = proposal.into_transition(&shared.tenant, &session, &state, None);
        shared.pass_barriers(&["B0"], "before");
        let committed = shared.journal.commit(transition).await.map_err(HostError::from)?;
        shared.pass_barriers(&["B0"], "after");
        self.inner.table.open(&session);
        shared.hub.tell(&session, || committed.records.iter().cloned().map(News::Record).collect::<Vec<_>>());
        Ok(Opened { session, created: true, head: committed.state.head() })
    }

    /// Takes a session up, unless this host has done so. Not to be called from a future that may be dropped.
    pub(crate) async fn take_up(&self, session: &SessionId, change: Reconfiguration) -> Result<TakenUp, OpenError> {
        let _one_at_a_time = self.inner.opening.lock().await;
        let Some(opened) = self.load(session).await? else { return Ok(TakenUp::Missing) };
        self.check_requires(change.requires.as_ref().or(Some(opened.state.requires())))?;
        if self.inner.table.is_open(session) {
            return Ok(TakenUp::Before(opened.head));
        }
        self.check_route(change.route.as_ref().or(opened.state.route()))?;
        let Some(inbox) = self.inner.table.start(session) else { return Ok(TakenUp::Before(opened.head)) };
        let mut actor =
            Actor::new(self.inner.shared.clone(), session.clone(), opened.map(|opened| opened.state), inbox);
        match actor.resume(change).await {
            Ok(head) => {
                self.inner.table.open(session);
                self.run(session.clone(), actor);
                Ok(TakenUp::Now(head))
            }
            Err(error) => {
                self.inner.table.forget(session);
                Err(error)
            }
        }
    }

    /// The configured default never takes the place of a saved route that is gone.
    fn check_route(&self, route: Option<&RouteName>) -> Result<(), OpenError> {
        match route {
            Some(route) if self.inner.shared.routes.find(route).is_none() => {
                Err(OpenError::RouteGone { route: route.clone(), known: self.inner.shared.routes.known() })
            }
            _ => Ok(()),
        }
    }

    /// A session does not run without the builds that it requires.
    fn check_requires(&self, requires: Option<&BTreeMap<PluginName, Digest>>) -> Result<(), OpenError> {
        let snapshot = self.inner.shared.registry.snapshot();
        let missing = requires.and_then(|requires| required::missing(requires, &snapshot));
        missing.map_or(Ok(()), |missing| Err(missing.into()))
    }

    async fn load(&self, session: &SessionId) -> Result<Option<Committed<OpenedSession>>, HostError> {
        let shared = &self.inner.shared;
        Ok(shared.journal.open_session(&shared.tenant, session).await?)
    }

    /// Runs an actor to its end, and again when a request came while it was ending.
    fn run(&self, session: SessionId, actor: Actor) {
        let host = self.clone();
        self.spawn(async move { host.run_to_its_end(session, Some(actor)).await });
    }

    async fn run_to_its_end(&self, session: SessionId, actor: Option<Actor>) {
        let host = self;
        let mut next = actor;
        while let Some(actor) = next.take() {
            match actor.run().await {
                End::Closed => {}
                End::Idle(inbox) => {
                    if let Some(inbox) = host.inner.table.retire(&session, inbox) {
                        next = host.revive(&session, inbox).await;
                    }
                }
                // Whoever asked for it clears up.
                End::Stopped(Stop::Forgotten) => {}
                End::Stopped(stop) => {
                    tracing::error!(%session, "the session stops: {stop}");
                    host.inner.table.stop(&session, stop.to_string());
                }
            }
        }
    }

    async fn revive(&self, session: &SessionId, inbox: mpsc::Receiver<Request>) -> Option<Actor> {
        match self.load(session).await {
            Ok(Some(opened)) => {
                let shared = self.inner.shared.clone();
                return Some(Actor::new(shared, session.clone(), opened.map(|opened| opened.state), inbox));
            }
            Ok(None) => self.inner.table.forget(session),
            Err(error) if error.is_gone() => self.inner.table.erase(session),
            Err(error) => self.inner.table.stop(session, error.to_string()),
        }
        None
    }

    /// Sends an op to a session and waits until it is durable, or refused. Without an id the host makes one; with one, the
    /// same op twice is accepted once. A caller that leaves in the middle takes nothing back.
    ///
    /// # Errors
    /// A typed refusal; nothing has changed then.
    pub async fn op(&self, session: &SessionId, submission: Option<SubmissionId>, op: Op) -> Result<Accepted, Refusal> {
        self.ensure_taken_up(session).await?;
        let (reply, answer) = oneshot::channel();
        let chosen = submission.is_some();
        let submission = submission.unwrap_or_else(clock::new_submission);
        self.send(session, Request::Op(OpRequest { submission, chosen, op, reply }))?;
        answer.await.map_err(|_| closing())?
    }

    async fn ensure_taken_up(&self, session: &SessionId) -> Result<(), Refusal> {
        if self.inner.table.is_open(session) {
            return Ok(());
        }
        if let Some(reason) = self.inner.table.stopped(session) {
            return Err(Refusal::Stopped { reason });
        }
        let (host, id) = (self.clone(), session.clone());
        match self.to_its_end(async move { host.take_up(&id, Reconfiguration::default()).await }).await {
            Some(Ok(TakenUp::Now(_) | TakenUp::Before(_))) => Ok(()),
            Some(Ok(TakenUp::Missing)) => Err(Refusal::UnknownSession { session: session.to_string() }),
            Some(Err(OpenError::RequiredBuildMissing(missing))) => Err(missing.into()),
            Some(Err(OpenError::Host(error))) if error.is_gone() => {
                Err(Refusal::SessionGone { session: session.to_string() })
            }
            Some(Err(error)) => Err(Refusal::Stopped { reason: error.to_string() }),
            None => Err(closing()),
        }
    }

    /// Hands a request to the session's actor. When there is none, one is started beside: nothing here waits, so that a
    /// caller that leaves can't leave a session half started.
    pub(super) fn send(&self, session: &SessionId, request: Request) -> Result<(), Refusal> {
        match self.inner.table.send(session, request) {
            Sent::Yes => Ok(()),
            Sent::No(refusal) => Err(refusal),
            Sent::Start(inbox) => {
                let (host, session) = (self.clone(), session.clone());
                self.spawn(async move {
                    let actor = host.revive(&session, inbox).await;
                    host.run_to_its_end(session, actor).await;
                });
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
        if !self.inner.table.is_open(session) {
            return;
        }
        let (reply, quiesced) = oneshot::channel();
        if self.send(session, Request::Quiesced(reply)).is_ok() {
            let _ = quiesced.await;
        }
    }

    /// Lets parked sessions try again: the code that failed may be another now. Sessions that were not taken up for want of a
    /// build that they require are, if it is there now. Not to be called from a future that may be dropped.
    pub(crate) async fn unpark_all(&self) {
        let rows = match self.inner.shared.journal.sessions_with_work().await {
            Ok(rows) => rows,
            Err(error) => return tracing::warn!("parked sessions could not be looked for: {error}"),
        };
        for row in rows.into_iter().filter(|row| row.tenant == self.inner.shared.tenant) {
            let (session, table) = (&row.session, &self.inner.table);
            if table.is_open(session) {
                if row.phase == "parked" {
                    let _ = self.send(session, Request::Unpark);
                }
            } else if table.stopped(session).is_none()
                && let Err(error) = self.take_up(session, Reconfiguration::default()).await
            {
                tracing::warn!(%session, "the session still can't be taken up: {error}");
            }
        }
    }
}

/// What became of taking a session up.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TakenUp {
    /// It is taken up now; this is its last record.
    Now(Ordinal),
    /// This host had done so before.
    Before(Ordinal),
    /// There is no such session.
    Missing,
}

fn closing() -> Refusal {
    Refusal::Stopped { reason: "the session ended while the request was waiting".to_owned() }
}

fn refused(refused: Refused) -> OpenError {
    OpenError::Refused(match refused {
        Refused::Op(refusal) => refusal,
        Refused::Stale(why) => Refusal::Stopped { reason: why.to_owned() },
    })
}
