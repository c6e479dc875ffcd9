//! The main road of a session: what is owed -> decide -> commit -> effect -> plugin -> decide -> commit -> news.

use std::{collections::VecDeque, pin::pin, sync::Arc};

use futures::{FutureExt as _, StreamExt as _};
use mainstay_journal::{Commit, CommitError, Committed, NewSubmission, ReadError};
use mainstay_protocol::{Ordinal, SessionId, news::News, op::Refusal, record::RecordBody};
use mainstay_runtime::{Hook, Snapshot};
use mainstay_session::{Command, Effect, Phase, Refused, State, Turn, pending};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::{
    Reconfiguration, Request, barrier,
    history::History,
    proposal::{Proposal, Staged},
    required::{MissingBuild, missing},
    results::{Ready, Results},
};
use crate::{
    clock,
    effects::{self, Context, Outcome, Work},
    errors::{HostError, OpenError},
    hub::public_item,
    shared::Shared,
};

/// A running session.
pub(crate) struct Actor {
    pub(super) shared: Arc<Shared>,
    pub(super) session: SessionId,
    pub(super) base: Committed<State>,
    pub(super) proposal: Proposal,
    history: History,
    pinned: Option<Arc<Snapshot>>,
    results: Results,
    inbox: mpsc::Receiver<Request>,
    waiting: Vec<oneshot::Sender<()>>,
}

/// Why an actor stops before its time. What is durable stays as it is.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    /// A transition could not be made durable.
    #[error("the journal did not take a transition: {0}")]
    Commit(#[from] CommitError),
    /// The journal could not be read.
    #[error("the journal could not be read: {0}")]
    Read(#[from] ReadError),
    /// The session was forgotten.
    #[error("the session was forgotten")]
    Forgotten,
    /// The core refused what the driver computed.
    #[error("an internal error: {0}")]
    Bug(String),
}

impl Stop {
    /// Whether nothing was written and the same may work later: an op that met it is refused, and the session goes on.
    pub(super) fn left_all_as_it_was(&self) -> bool {
        match self {
            Self::Read(_) => true,
            Self::Commit(error) => error.is_retryable(),
            Self::Forgotten | Self::Bug(_) => false,
        }
    }
}

/// Why an actor ended.
pub(crate) enum End {
    /// It has no work. The requests that came in the meantime are handed back.
    Idle(mpsc::Receiver<Request>),
    /// All handles are gone: the host shuts down.
    Closed,
    /// Something failed.
    Stopped(Stop),
}

enum Flow {
    Go,
    Idle,
    Closed,
}

impl Actor {
    pub(crate) fn new(
        shared: Arc<Shared>,
        session: SessionId,
        base: Committed<State>,
        inbox: mpsc::Receiver<Request>,
    ) -> Self {
        let proposal = Proposal::on(base.get());
        let history = History::default();
        Self {
            shared,
            session,
            base,
            proposal,
            history,
            pinned: None,
            results: Results::default(),
            inbox,
            waiting: Vec::new(),
        }
    }

    /// B0: takes the session up after a restart, and closes what can't go on. Gives the last record.
    pub(crate) async fn resume(&mut self, change: Reconfiguration) -> Result<Ordinal, OpenError> {
        let Reconfiguration { route, metadata, requires } = change;
        let retry_open_step = self.shared.retry_open_step;
        let resume = Command::Resume { route, metadata, requires, retry_open_step };
        if let Err(refused) = self.proposal.apply(resume, clock::now()) {
            return Err(match refused {
                Refused::Op(_) => OpenError::NoRoute,
                Refused::Stale(why) => Refusal::Stopped { reason: why.to_owned() }.into(),
            });
        }
        match self.commit_proposal().await {
            Ok(()) => Ok(self.base.get().head()),
            Err(Stop::Commit(error)) => Err(HostError::from(error).into()),
            Err(stop) => Err(Refusal::Stopped { reason: stop.to_string() }.into()),
        }
    }

    /// Runs until there is no work, or something fails.
    pub(crate) async fn run(mut self) -> End {
        loop {
            match self.advance().await {
                Ok(Flow::Go) => {}
                Ok(Flow::Idle) => return End::Idle(self.inbox),
                Ok(Flow::Closed) => return End::Closed,
                Err(stop) => return End::Stopped(stop),
            }
        }
    }

    /// Does the one thing that is owed next.
    async fn advance(&mut self) -> Result<Flow, Stop> {
        let Some(effect) = pending(self.proposal.tip()) else {
            self.commit_proposal().await?;
            return self.wait().await;
        };
        if self.needs_commit(&effect) && !self.proposal.is_empty() {
            self.commit_proposal().await?;
            return Ok(Flow::Go);
        }
        let work = self.start(&effect).await?;
        self.carry_out(&effect, work).await
    }

    /// What reaches outside waits for its barrier. Stop hooks do too, when there are any: B6. So does the next turn: the
    /// end of the one before must not wait for its input hooks.
    fn needs_commit(&self, effect: &Effect) -> bool {
        match effect {
            Effect::CallModel { .. } | Effect::RunCalls { .. } | Effect::StartTurn(_) => true,
            Effect::CheckStop { .. } => !self.snapshot().hooks(Hook::Stop).is_empty(),
            Effect::OpenStep { .. } | Effect::DecideCalls { .. } => false,
        }
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        self.pinned.clone().unwrap_or_else(|| self.shared.registry.snapshot())
    }

    /// Starts an effect. Those that reach outside get the proof that what they follow from is committed.
    async fn start(&mut self, effect: &Effect) -> Result<Work, Stop> {
        if let Some(missing) = self.repin(effect)? {
            return Ok(effects::refuse_turn(self.context().await?, effect.clone(), clock::new_turn(), &missing));
        }
        let owed = self.base.project(pending).transpose();
        let work = match (effect.clone(), owed) {
            (Effect::OpenStep { turn, step }, _) => {
                let outcome = Outcome::Decided(vec![Command::OpenStep { turn, step }], Staged::new());
                futures::stream::iter([outcome]).boxed()
            }
            (Effect::StartTurn(queued), _) => effects::start_turn(self.context().await?, queued, clock::new_turn()),
            (Effect::DecideCalls { turn, step, calls }, _) => {
                effects::decide_calls(self.context().await?, turn, step, calls)
            }
            (Effect::CheckStop { turn, last_message, continued }, _) => {
                effects::check_stop(self.context().await?, turn, last_message, continued)
            }
            (Effect::CallModel { .. }, Some(owed)) => effects::call_model(self.context().await?, &owed),
            (Effect::RunCalls { .. }, Some(owed)) => effects::run_calls(&self.context().await?, &owed),
            (Effect::CallModel { .. } | Effect::RunCalls { .. }, None) => {
                return Err(Stop::Bug("an effect is owed by the proposal and not by what is committed".to_owned()));
            }
        };
        Ok(work)
    }

    /// A step pins the code that it begins with. Calls that were answered by a person are planned on the code that is active
    /// then. What serves for the first time is recorded before it does. Without a build that the session requires nothing is
    /// pinned.
    fn repin(&mut self, effect: &Effect) -> Result<Option<MissingBuild>, Stop> {
        let answered = || {
            let calls = self.proposal.tip().turn().into_iter().flat_map(Turn::calls);
            calls.into_iter().any(|call| call.answer.is_some() || call.suspended > 0)
        };
        let fresh = match effect {
            Effect::StartTurn(_) | Effect::OpenStep { .. } => true,
            Effect::DecideCalls { .. } => self.pinned.is_none() || answered(),
            Effect::CallModel { .. } | Effect::RunCalls { .. } | Effect::CheckStop { .. } => self.pinned.is_none(),
        };
        if !fresh {
            return Ok(None);
        }
        let snapshot = self.shared.registry.snapshot();
        if let Some(missing) = missing(self.proposal.tip().requires(), &snapshot) {
            self.pinned = None;
            return Ok(Some(missing));
        }
        let receipts = snapshot.generations().iter().map(|active| active.receipt().clone()).collect();
        self.pinned = Some(snapshot);
        self.apply(vec![Command::Serve { receipts }], Staged::new())?;
        Ok(None)
    }

    async fn context(&mut self) -> Result<Context, Stop> {
        self.history.load(&*self.shared.journal, &self.shared.tenant, &self.session).await?;
        Ok(Context {
            shared: Arc::clone(&self.shared),
            session: self.session.clone(),
            state: Arc::new(self.proposal.tip().clone()),
            snapshot: self.snapshot(),
            view: self.history.view(&self.proposal.decision().items),
            staged: self.proposal.staged().clone(),
        })
    }

    /// Runs an effect to its end, serving ops in between. An op that takes away what the effect is for drops it.
    async fn carry_out(&mut self, effect: &Effect, mut work: Work) -> Result<Flow, Stop> {
        self.results = Results::of(effect);
        let mut given = VecDeque::new();
        let mut patience = pin!(self.patience(effect).fuse());
        loop {
            tokio::select! {
                biased;
                request = self.inbox.recv() => {
                    let Some(request) = request else { return Ok(Flow::Closed) };
                    let goes_on = self.serve_beside(request, &mut work, &mut given).await?;
                    if !self.still_owes(effect) {
                        return Ok(Flow::Go);
                    }
                    while let Some(outcome) = given.pop_front() {
                        self.take(outcome).await?;
                    }
                    if !goes_on {
                        return Ok(Flow::Go);
                    }
                }
                outcome = work.next() => match outcome {
                    Some(outcome) => self.take(outcome).await?,
                    None => return Ok(Flow::Go),
                },
                () = &mut patience, if !self.proposal.is_empty() => self.commit_proposal().await?,
            }
        }
    }

    /// Serves a request while the effect goes on: ops can't starve a turn. What the effect gives meanwhile waits. Tells
    /// whether the effect goes on after that.
    async fn serve_beside(
        &mut self,
        request: Request,
        work: &mut Work,
        given: &mut VecDeque<Outcome>,
    ) -> Result<bool, Stop> {
        let mut serving = pin!(self.serve(request));
        let mut goes_on = true;
        loop {
            tokio::select! {
                biased;
                outcome = work.next(), if goes_on => match outcome {
                    Some(outcome) => given.push_back(outcome),
                    None => goes_on = false,
                },
                served = &mut serving => return served.map(|()| goes_on),
            }
        }
    }

    /// How long gates may hold up the output that they decide over: then B3 commits before B4. For ever, unless the operator
    /// set a bound.
    fn patience(&self, effect: &Effect) -> impl Future<Output = ()> + use<> {
        let bound = self.shared.gate_bound.filter(|_| matches!(effect, Effect::DecideCalls { .. }));
        async move {
            match bound {
                Some(bound) => tokio::time::sleep(bound).await,
                None => std::future::pending().await,
            }
        }
    }

    fn still_owes(&self, effect: &Effect) -> bool {
        let tip = self.proposal.tip();
        let running = tip.turn().map(|turn| &turn.id);
        match effect {
            Effect::StartTurn(queued) => {
                running.is_none() && !tip.is_parked() && tip.queue().next().is_some_and(|first| first == queued)
            }
            Effect::OpenStep { turn, .. }
            | Effect::DecideCalls { turn, .. }
            | Effect::CallModel { turn, .. }
            | Effect::RunCalls { turn, .. }
            | Effect::CheckStop { turn, .. } => running == Some(turn),
        }
    }

    /// Takes what an effect gave.
    async fn take(&mut self, outcome: Outcome) -> Result<(), Stop> {
        match outcome {
            Outcome::Decided(commands, staged) => self.apply(commands, staged),
            Outcome::Ended(finished, staged) => match self.results.add(*finished, staged, self.proposal.tip()) {
                Ready::Wait => Ok(()),
                Ready::Whole(command, staged) => self.apply(vec![command], staged),
                Ready::Early(command, staged) => {
                    self.apply(vec![command], staged)?;
                    self.commit_proposal().await
                }
            },
        }
    }

    fn apply(&mut self, commands: Vec<Command>, staged: Staged) -> Result<(), Stop> {
        let now = clock::now();
        for command in commands {
            self.proposal.apply(command, now).map_err(|refused| Stop::Bug(refused.to_string()))?;
        }
        self.proposal.stage(staged);
        Ok(())
    }

    /// What is decided and not committed, with the results of the calls that have returned while others of their run go on.
    pub(super) fn with_finished_results(&self) -> Proposal {
        let mut proposal = self.proposal.clone();
        if let Some((command, staged)) = self.results.so_far(proposal.tip())
            && proposal.apply(command, clock::now()).is_ok()
        {
            proposal.stage(staged);
        }
        proposal
    }

    async fn commit_proposal(&mut self) -> Result<(), Stop> {
        if self.proposal.is_empty() {
            return Ok(());
        }
        let proposal = std::mem::replace(&mut self.proposal, Proposal::on(self.base.get()));
        self.commit(proposal, None).await?;
        self.proposal = Proposal::on(self.base.get());
        Ok(())
    }

    /// The barrier: makes a proposal durable, then takes it as the new base and tells those who watch.
    pub(super) async fn commit(
        &mut self,
        proposal: Proposal,
        submission: Option<NewSubmission>,
    ) -> Result<Committed<Commit>, Stop> {
        let barriers = barrier::names(&proposal.decision().records);
        let items = proposal.decision().items.clone();
        let transition = proposal.into_transition(&self.shared.tenant, &self.session, self.base.get(), submission);
        self.shared.pass_barriers(&barriers, "before");
        let committed = self.shared.journal.commit(transition).await?;
        self.shared.pass_barriers(&barriers, "after");
        self.base = committed.project(|commit| commit.state.clone());
        self.shared.hub.tell(&self.session, || {
            let records = committed.records.iter().cloned().map(News::Record);
            items.iter().map(|item| News::Item(public_item(item))).chain(records).collect::<Vec<_>>()
        });
        self.history.append(items);
        if committed.records.iter().any(|record| matches!(&*record.body, RecordBody::ApprovalRequested(_))) {
            self.shared.pass("approval.pending");
        }
        Ok(committed)
    }

    /// Nothing is owed: says so to those who wait for it, then waits for a request.
    async fn wait(&mut self) -> Result<Flow, Stop> {
        if self.is_parked_on_replaced_code() {
            self.retry_on_new_code().await?;
            return Ok(Flow::Go);
        }
        if self.base.get().turn().is_none_or(|turn| !matches!(turn.phase, Phase::Calls(_))) {
            self.pinned = None;
        }
        for waiting in self.waiting.drain(..) {
            let _ = waiting.send(());
        }
        match timeout(self.shared.linger, self.inbox.recv()).await {
            Ok(Some(request)) => {
                self.serve(request).await?;
                Ok(Flow::Go)
            }
            Ok(None) => Ok(Flow::Closed),
            Err(_elapsed) => Ok(Flow::Idle),
        }
    }

    async fn serve(&mut self, request: Request) -> Result<(), Stop> {
        match request {
            Request::Op(request) => self.serve_op(request).await,
            Request::Configure { change, reply } => {
                let _ = reply.send(self.serve_configure(change).await?);
                Ok(())
            }
            Request::Unpark if self.base.get().is_parked() && self.proposal.is_empty() => {
                self.retry_on_new_code().await
            }
            Request::Unpark => Ok(()),
            Request::Quiesced(reply) => {
                self.waiting.push(reply);
                Ok(())
            }
            Request::Forget(reply) => self.serve_forget(reply).await,
        }
    }

    /// Whether what parked the session is no longer what would serve: it was swapped while its hook ran.
    fn is_parked_on_replaced_code(&self) -> bool {
        let replaced = |pinned: &Arc<Snapshot>| !Arc::ptr_eq(pinned, &self.shared.registry.snapshot());
        self.base.get().is_parked() && self.pinned.as_ref().is_some_and(replaced)
    }

    async fn retry_on_new_code(&mut self) -> Result<(), Stop> {
        self.pinned = None;
        self.apply(vec![Command::Retry { cause: "plugin-swapped".to_owned() }], Staged::new())?;
        self.commit_proposal().await
    }
}
