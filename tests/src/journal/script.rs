//! A session as these tests write it: whole turns, transition by transition, with a state that follows its records.

use std::path::Path;

use mainstay_journal::{Commit, CommitError, Committed, Journal, NewSubmission, Options, SqliteJournal, Transition};
use mainstay_protocol::{
    AcceptedOrdinal, Digest, ItemId, Ordinal, PluginName, RouteName, SessionId, StepIndex, SubmissionId, TenantId,
    Timestamp, TurnId,
    content::{Item, ItemBody, Message, Part, PrivatePart, Role},
    op::{Delivery, Labels},
    record::{
        NewRecord, RecordBody,
        v1::{
            Attempt, Build, ContextOwner, MessageAccepted, Opening, SessionConfigured, Span, StepCompleted, StepOpened,
            StepOutcome, TurnEnded, TurnStarted,
        },
    },
};
use mainstay_session::{QueuedMessage, State, evolve};

/// A session in the making: each method gives the next transition and moves on.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) tenant: TenantId,
    pub(crate) session: SessionId,
    pub(crate) state: State,
    pub(crate) now: Timestamp,
    accepted: u64,
    item: u64,
}

impl Script {
    pub(crate) fn new(session: &str) -> Self {
        let session = SessionId::new(session).unwrap();
        let tenant = TenantId::default_tenant();
        Self { tenant, session, state: State::default(), now: Timestamp(1_700_000_000_000), accepted: 0, item: 0 }
    }

    /// Records after those before, with nothing else.
    pub(crate) fn records(&mut self, bodies: Vec<RecordBody>) -> Transition {
        let expected = self.state.head();
        self.now.0 += 1;
        bodies.iter().for_each(|body| evolve(&mut self.state, body));
        Transition {
            tenant: self.tenant.clone(),
            session: self.session.clone(),
            expected,
            records: bodies.into_iter().map(|body| NewRecord { at: self.now, body }).collect(),
            items: Vec::new(),
            queued: Vec::new(),
            unqueued: Vec::new(),
            submission: None,
            blobs: Vec::new(),
            plugin_state: Vec::new(),
            state: self.state.clone(),
            priority: mainstay_journal::Priority::Normal,
        }
    }

    pub(crate) fn create(&mut self) -> Transition {
        self.records(vec![RecordBody::SessionConfigured(SessionConfigured {
            opening: Opening::Created,
            route: route(),
            labels: Labels([("owner".to_owned(), "someone".to_owned())].into()),
            metadata: Some(r#"{"a":1}"#.to_owned()),
            requires: None,
        })])
    }

    /// B1: a message is queued.
    pub(crate) fn submit(&mut self, text: &str) -> Transition {
        self.accepted += 1;
        let (accepted, submission) = (AcceptedOrdinal(self.accepted), self.submission());
        let digest = Digest::of(text.as_bytes());
        let body = MessageAccepted {
            submission: submission.clone(),
            accepted,
            delivery: Delivery::Queue,
            bytes: text.len() as u64,
            digest,
        };
        let mut transition = self.records(vec![RecordBody::MessageAccepted(body)]);
        let content = vec![Part::Text(text.to_owned())];
        let at = self.now;
        transition.queued.push(QueuedMessage {
            submission: submission.clone(),
            accepted,
            delivery: Delivery::Queue,
            at,
            content,
        });
        transition.submission = Some(NewSubmission { submission, digest, accepted: Some(accepted), record: 0 });
        transition
    }

    /// B2: the message's turn starts, and its first step opens.
    pub(crate) fn start(&mut self, text: &str) -> Transition {
        let item = self.item(Role::User, text, None);
        let started = TurnStarted {
            turn: self.turn(),
            submission: self.submission(),
            accepted: AcceptedOrdinal(self.accepted),
            items: Some(Span { first: item.id, count: 1 }),
            hooks: Default::default(),
        };
        let opened = StepOpened { turn: self.turn(), step: StepIndex(0), route: route() };
        let mut transition = self.records(vec![RecordBody::TurnStarted(started), RecordBody::StepOpened(opened)]);
        transition.items.push(item);
        transition.unqueued.push(AcceptedOrdinal(self.accepted));
        transition
    }

    /// B3 and B7 in one: the model's answer, and the end of the turn.
    pub(crate) fn finish(&mut self, text: &str) -> Transition {
        self.finish_with(&[text])
    }

    /// The same with an answer of several items.
    pub(crate) fn finish_with(&mut self, texts: &[&str]) -> Transition {
        let private = PrivatePart { context_group: "openai".to_owned(), bytes: vec![0, 255, 1] };
        let items: Vec<_> = texts.iter().map(|text| self.item(Role::Assistant, text, Some(private.clone()))).collect();
        let last = items[items.len() - 1].id;
        let build = Build { plugin: PluginName::new("rehearsal").unwrap(), sha256: Digest::of(b"rehearsal") };
        let usage = Some(mainstay_protocol::model::Usage::default());
        let completed = StepCompleted {
            turn: self.turn(),
            step: StepIndex(0),
            outcome: StepOutcome::Completed,
            attempts: vec![Attempt { route: route(), build: Some(build), usage, error: None, ms: 1_234 }],
            items: Some(Span { first: items[0].id, count: items.len() as u32 }),
            calls: Vec::new(),
            last_message: Some(last),
            context_owner: Some(ContextOwner { route: route(), context_group: "openai".to_owned() }),
            finish: None,
        };
        let ended = TurnEnded {
            turn: self.turn(),
            submission: self.submission(),
            accepted: AcceptedOrdinal(self.accepted),
            stop: None,
            reason: None,
            interrupted_by: None,
            steps: 1,
            tool_calls: 0,
            failed_tool_calls: 0,
            usage: Default::default(),
            last_message: Some(last),
            hooks: Default::default(),
        };
        let bodies = vec![RecordBody::StepCompleted(completed), RecordBody::TurnCompleted(ended)];
        let mut transition = self.records(bodies);
        transition.items.extend(items);
        transition
    }

    /// A whole turn without tools: three transitions, five records, two items.
    pub(crate) fn turn_without_tools(&mut self, question: &str, answer: &str) -> [Transition; 3] {
        [self.submit(question), self.start(question), self.finish(answer)]
    }

    pub(crate) fn submission(&self) -> SubmissionId {
        SubmissionId::new(&self.uuid(1)).unwrap()
    }

    fn turn(&self) -> TurnId {
        TurnId::new(&self.uuid(2)).unwrap()
    }

    /// As the host's ids look: UUIDs.
    fn uuid(&self, salt: u8) -> String {
        let digest =
            Digest::of_fields("test", &[self.session.as_str().as_bytes(), &self.accepted.to_le_bytes(), &[salt]]);
        let hex = digest.to_string();
        format!("{}-{}-7{}-8{}-{}", &hex[..8], &hex[8..12], &hex[12..15], &hex[15..18], &hex[18..30])
    }

    fn item(&mut self, role: Role, text: &str, private_part: Option<PrivatePart>) -> Item {
        self.item += 1;
        Item {
            id: ItemId(self.item),
            turn: Some(self.turn()),
            step: Some(StepIndex(0)),
            call: None,
            at: self.now,
            body: ItemBody::Message(Message { role, content: vec![Part::Text(text.to_owned())] }),
            private_part,
            extras: None,
        }
    }
}

pub(crate) fn route() -> RouteName {
    RouteName::new("default").unwrap()
}

pub(crate) fn open(folder: &Path) -> SqliteJournal {
    SqliteJournal::open(folder, Options::default()).unwrap()
}

/// Commits in order; each must succeed.
pub(crate) async fn commit_all(
    journal: &SqliteJournal,
    transitions: impl IntoIterator<Item = Transition>,
) -> Vec<Committed<Commit>> {
    let mut commits = Vec::new();
    for transition in transitions {
        commits.push(journal.commit(transition).await.unwrap());
    }
    commits
}

/// Commits and expects a refusal.
pub(crate) async fn refusal(journal: &SqliteJournal, transition: Transition) -> CommitError {
    journal.commit(transition).await.unwrap_err()
}

/// The ordinal of a session's last record, as stored.
pub(crate) async fn head(journal: &SqliteJournal, script: &Script) -> Ordinal {
    let opened = journal.open_session(&script.tenant, &script.session).await.unwrap();
    opened.map_or(Ordinal(0), |opened| opened.head)
}
