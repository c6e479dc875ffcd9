//! A session that these tests drive: commands are decided by the core and committed as one transition.

use std::sync::Arc;

use mainstay_journal::{
    Commit, CommitError, Committed, FeedFilter, FeedPage, FeedQuery, Journal, NewSubmission, SqliteJournal, Transition,
};
use mainstay_protocol::{
    Digest, PluginName, SessionId, StepIndex, SubmissionId, TenantId, Timestamp, TurnId,
    content::{ItemBody, Message, Part, Role},
    cursor::Cursor,
    feed::{FeedBody, FeedEvent, TurnEndedEvent},
    model::{Finish, FinishReason},
    op::{Delivery, Labels},
    record::v1::{Attempt, Build, ContextOwner, HookNotes},
};
use mainstay_session::{Command, Decision, InputRuling, Output, OutputItem, Refused, State, decide};

use crate::journal::script::{open, route};

/// One session, and the state that its last commit left.
pub(super) struct Session {
    pub(super) journal: Arc<SqliteJournal>,
    pub(super) tenant: TenantId,
    pub(super) id: SessionId,
    pub(super) state: State,
    now: Timestamp,
}

impl Session {
    /// A new session in a new store.
    pub(super) async fn create(folder: &std::path::Path) -> Self {
        Self::create_in(Arc::new(open(folder)), "session", Labels::default()).await
    }

    /// A new session with labels.
    pub(super) async fn create_in(journal: Arc<SqliteJournal>, id: &str, labels: Labels) -> Self {
        let (tenant, id) = (TenantId::default_tenant(), SessionId::new(id).unwrap());
        let mut session = Self { journal, tenant, id, state: State::default(), now: Timestamp(1_700_000_000_000) };
        session.commit([Command::Create { route: route(), labels, metadata: None, requires: None }]).await.unwrap();
        session
    }

    /// The same session, from a store that was opened anew.
    pub(super) async fn reopened(self, folder: &std::path::Path) -> Self {
        let Self { journal, tenant, id, now, .. } = self;
        drop(Arc::into_inner(journal).expect("nobody else has the journal"));
        let journal = Arc::new(open(folder));
        let opened = journal.open_session(&tenant, &id).await.unwrap().expect("it was created");
        Self { state: opened.state.clone(), journal, tenant, id, now }
    }

    /// Decides commands one after another, as one page.
    pub(super) fn decide(&mut self, commands: impl IntoIterator<Item = Command>) -> Result<Decision, Refused> {
        self.now.0 += 1;
        let mut whole = Decision { state: self.state.clone(), ..Decision::default() };
        for command in commands {
            let next = decide(&whole.state, command, self.now)?;
            whole.state = next.state;
            whole.records.extend(next.records);
            whole.items.extend(next.items);
            whole.queued.extend(next.queued);
            whole.unqueued.extend(next.unqueued);
        }
        Ok(whole)
    }

    /// The transition of a decision; with a key, it can be applied once.
    pub(super) fn transition(&self, decision: Decision, key: Option<&str>) -> Transition {
        let submission = key.map(|key| NewSubmission {
            submission: SubmissionId::new(key).unwrap(),
            digest: Digest::of(key.as_bytes()),
            accepted: None,
            record: 0,
        });
        Transition {
            queued: decision.queued,
            unqueued: decision.unqueued,
            items: decision.items,
            submission,
            ..Transition::new(self.tenant.clone(), self.id.clone(), self.state.head(), decision.records, decision.state)
        }
    }

    /// Commits commands as one page without a key.
    pub(super) async fn commit(
        &mut self,
        commands: impl IntoIterator<Item = Command>,
    ) -> Result<Committed<Commit>, CommitError> {
        let decision = self.decide(commands).expect("the core accepts it");
        assert!(!decision.records.is_empty(), "there is something to commit");
        self.apply(decision, None).await
    }

    /// Commits commands that may have nothing to say. Tells how many records they gave.
    pub(super) async fn report(&mut self, command: Command) -> usize {
        match self.decide([command]) {
            Err(Refused::Stale(_)) => 0,
            Err(Refused::Op(refusal)) => panic!("refused: {refusal}"),
            Ok(decision) if decision.records.is_empty() => 0,
            Ok(decision) => self.apply(decision, None).await.unwrap().records.len(),
        }
    }

    /// Commits a decision and moves on when it is durable.
    pub(super) async fn apply(
        &mut self,
        decision: Decision,
        key: Option<&str>,
    ) -> Result<Committed<Commit>, CommitError> {
        let commit = self.journal.commit(self.transition(decision, key)).await?;
        self.state = commit.state.clone();
        Ok(commit)
    }

    /// All events that a filter lets through.
    pub(super) async fn events_of(&self, filter: FeedFilter) -> Vec<FeedEvent> {
        let after = Some(self.journal.feed_start());
        let page = self.page(FeedQuery { filter, after, limit: 1_000 }).await;
        assert!(page.damaged.is_empty() && !page.more, "{page:?}");
        page.events
    }

    /// All events.
    pub(super) async fn events(&self) -> Vec<FeedEvent> {
        self.events_of(FeedFilter::default()).await
    }

    /// The kinds of all events, in order.
    pub(super) async fn kinds(&self) -> Vec<&'static str> {
        self.events().await.iter().map(|event| event.body.kind().as_str()).collect()
    }

    /// A page of the feed.
    pub(super) async fn page(&self, query: FeedQuery) -> FeedPage {
        self.journal.feed(query).await.unwrap()
    }

    /// The global position of the last event that there ever was.
    pub(super) async fn latest(&self) -> u64 {
        let now: Option<Cursor> = None;
        self.page(FeedQuery { filter: FeedFilter::default(), after: now, limit: 1 }).await.latest.seq.0
    }

    /// The items of the transcript.
    pub(super) async fn items(&self) -> Vec<ItemBody> {
        let range = mainstay_journal::Range::forward(1_000);
        let page = self.journal.items(&self.tenant, &self.id, range).await.unwrap();
        page.rows.into_iter().map(|item| item.body).collect()
    }
}

pub(super) fn submission(text: &str) -> SubmissionId {
    SubmissionId::new(text).unwrap()
}

pub(super) fn turn() -> TurnId {
    TurnId::new("turn-1").unwrap()
}

pub(super) fn submit(id: &str) -> Command {
    Command::Submit {
        submission: submission(id),
        content: vec![Part::Text("hello".to_owned())],
        delivery: Delivery::Queue,
    }
}

/// The turn of a message starts, and its first step opens.
pub(super) fn start(id: &str) -> [Command; 2] {
    let message = Message::user(vec![Part::Text("hello".to_owned())]);
    let ruling = InputRuling::Accept { message, annotations: Vec::new() };
    let hooks = HookNotes::default();
    [
        Command::StartTurn { turn: turn(), submission: submission(id), ruling, hooks },
        Command::OpenStep { turn: turn(), step: StepIndex(0) },
    ]
}

/// The model answers, and the turn completes.
pub(super) fn finish() -> [Command; 2] {
    let message = Message { role: Role::Assistant, content: vec![Part::Text("hi".to_owned())] };
    let output = Output {
        items: vec![OutputItem { body: ItemBody::Message(message), private_part: None }],
        attempts: vec![attempt()],
        context_owner: ContextOwner { route: route(), context_group: "group".to_owned() },
        finish: Finish { reason: FinishReason::Complete, detail: String::new(), model: None, response_id: None },
    };
    [
        Command::AcceptOutput { turn: turn(), step: StepIndex(0), output },
        Command::FinishTurn { turn: turn(), hooks: HookNotes::default() },
    ]
}

/// A whole turn, as one page.
pub(super) fn whole_turn(id: &str) -> Vec<Command> {
    [submit(id)].into_iter().chain(start(id)).chain(finish()).collect()
}

pub(super) fn attempt() -> Attempt {
    let build = Build { plugin: PluginName::new("adapter").unwrap(), sha256: Digest::of(b"adapter") };
    Attempt { route: route(), build: Some(build), usage: None, error: None, ms: 1 }
}

/// What the feed says of the end of the one turn.
pub(super) fn ended(events: &[FeedEvent]) -> &TurnEndedEvent {
    let mut all = events.iter().filter_map(|event| match &event.body {
        FeedBody::TurnEnded(ended) => Some(ended),
        _ => None,
    });
    let one = all.next().expect("a turn ended");
    assert!(all.next().is_none(), "one end a turn");
    one
}
