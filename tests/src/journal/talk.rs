//! Sessions as the core decides them, with a row in every table: turns with tools, payloads that are stored once, what plugins keep,
//! messages that wait.

use std::path::Path;

use mainstay_journal::{
    GenerationChange, GenerationOrigin, GenerationRow, Journal, NewSubmission, SqliteJournal, StateWrite, Transition,
};
use mainstay_protocol::{
    AcceptedOrdinal, CallIndex, Digest, PluginName, SessionId, StepIndex, SubmissionId, TenantId, Timestamp, TurnId,
    blob::NewBlob,
    content::{ItemBody, Message, Part, PrivatePart, Role, ToolCall},
    model::{Finish, FinishReason},
    op::{Delivery, Labels},
    record::{
        NewRecord, RecordBody,
        v1::{Attempt, Build, CallOutcome, ContextOwner, HookNotes, PluginLifecycle},
    },
    tool::{Effect, Execution},
};
use mainstay_session::{
    Command, FinishedCall, InputRuling, Output, OutputItem, RuledCall, Ruling, State, ToolFacts, decide,
};

use super::script::{commit_all, open, route};

/// A session in the making.
#[derive(Clone, Debug)]
pub(super) struct Talk {
    pub(super) tenant: TenantId,
    pub(super) session: SessionId,
    pub(super) state: State,
    now: Timestamp,
    accepted: u64,
}

impl Talk {
    pub(super) fn new(tenant: &str, session: &str) -> Self {
        let (tenant, session) = (TenantId::new(tenant).unwrap(), SessionId::new(session).unwrap());
        Self { tenant, session, state: State::default(), now: Timestamp(1_700_000_000_000), accepted: 0 }
    }

    /// Decides commands one after the other, as one transition.
    fn decide(&mut self, commands: impl IntoIterator<Item = Command>) -> Transition {
        let expected = self.state.head();
        self.now.0 += 40_000;
        let (tenant, session) = (self.tenant.clone(), self.session.clone());
        let mut whole = Transition::new(tenant, session, expected, Vec::new(), self.state.clone());
        for command in commands {
            let next = decide(&whole.state, command, self.now).unwrap_or_else(|refused| panic!("{refused:?}"));
            whole.state = next.state;
            whole.records.extend(next.records);
            whole.items.extend(next.items);
            whole.queued.extend(next.queued);
            whole.unqueued.extend(next.unqueued);
        }
        self.state = whole.state.clone();
        whole
    }

    pub(super) fn create(&mut self) -> Transition {
        let labels = Labels([("owner".to_owned(), "someone".to_owned())].into());
        let metadata = Some(r#"{"a":1}"#.to_owned());
        self.decide([Command::Create { route: route(), labels, metadata, requires: None }])
    }

    pub(super) fn submit(&mut self, text: &str) -> Transition {
        self.accepted += 1;
        let (submission, content) = (self.id(1), vec![Part::Text(text.to_owned())]);
        let submit = Command::Submit { submission: submission.clone(), content, delivery: Delivery::Queue };
        let accepted = Some(AcceptedOrdinal(self.accepted));
        let digest = Digest::of(text.as_bytes());
        let submission = Some(NewSubmission { submission, digest, accepted, record: 0 });
        Transition { submission, ..self.decide([submit]) }
    }

    pub(super) fn start(&mut self, text: &str) -> Transition {
        let message = Message::user(vec![Part::Text(text.to_owned())]);
        let ruling = InputRuling::Accept { message, annotations: Vec::new() };
        let (turn, submission, hooks) = (self.turn(), self.id(1), HookNotes::default());
        self.decide([Command::StartTurn { turn, submission, ruling, hooks }, self.open_step(0)])
    }

    /// The model plans two calls, which may both run.
    pub(super) fn plan(&mut self) -> Transition {
        let call = |name: &str| {
            ItemBody::ToolCall(ToolCall {
                call_id: format!("call-{name}"),
                name: name.to_owned(),
                arguments: r#"{"path":"a.txt"}"#.to_owned(),
            })
        };
        let reasoning = ItemBody::Reasoning("it has to be looked up".to_owned());
        let bodies = [reasoning, call("read"), call("list")];
        let output = output(bodies, FinishReason::ToolCalls);
        let facts = ToolFacts {
            build: build(),
            effect: Effect::Pure,
            execution: Execution::Parallel,
            definition: Digest::of(b"definition"),
            arguments: Digest::of(b"arguments"),
        };
        let ruled = |index| RuledCall { index: CallIndex(index), ruling: Ruling::Allow(facts.clone()) };
        let (turn, step) = (self.turn(), StepIndex(0));
        self.decide([
            Command::AcceptOutput { turn: turn.clone(), step, output },
            Command::DecideCalls { turn, step, calls: vec![ruled(0), ruled(1)], hooks: HookNotes::default() },
        ])
    }

    /// Both calls end, and the next step opens. A plugin keeps something, and the session keeps bytes.
    pub(super) fn results(&mut self, text: &str) -> Transition {
        let finished = |index| FinishedCall {
            index: CallIndex(index),
            content: vec![Part::Text(text.to_owned())],
            is_error: false,
            extras: None,
            outcome: CallOutcome::Returned,
            build: Some(build()),
            ms: 3,
            whole: None,
        };
        let results =
            Command::AcceptResults { turn: self.turn(), step: StepIndex(0), results: vec![finished(0), finished(1)] };
        let open_step = self.open_step(1);
        let value = Some(format!("value {}", self.accepted).into_bytes());
        let write = StateWrite { plugin: build().plugin, key: "last".to_owned(), value };
        let blob = NewBlob::new("text/plain", format!("kept of {text}").into_bytes());
        Transition { plugin_state: vec![write], blobs: vec![blob], ..self.decide([results, open_step]) }
    }

    pub(super) fn finish(&mut self, text: &str) -> Transition {
        let message = Message { role: Role::Assistant, content: vec![Part::Text(text.to_owned())] };
        let output = output([ItemBody::Message(message)], FinishReason::Complete);
        let (turn, step) = (self.turn(), StepIndex(1));
        self.decide([
            Command::AcceptOutput { turn: turn.clone(), step, output },
            Command::FinishTurn { turn, hooks: HookNotes::default() },
        ])
    }

    /// A whole turn with two calls: five transitions.
    pub(super) fn turn_with_tools(&mut self, text: &str) -> [Transition; 5] {
        [self.submit(text), self.start(text), self.plan(), self.results(text), self.finish(text)]
    }

    fn open_step(&self, step: u32) -> Command {
        Command::OpenStep { turn: self.turn(), step: StepIndex(step) }
    }

    fn turn(&self) -> TurnId {
        TurnId::new(self.id(2).as_str()).unwrap()
    }

    /// As the host's ids look: UUIDs.
    fn id(&self, salt: u8) -> SubmissionId {
        let fields: [&[u8]; 3] = [self.session.as_str().as_bytes(), &self.accepted.to_le_bytes(), &[salt]];
        let hex = Digest::of_fields("test", &fields).to_string();
        SubmissionId::new(&format!(
            "{}-{}-7{}-8{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[12..15],
            &hex[15..18],
            &hex[18..30]
        ))
        .unwrap()
    }
}

fn build() -> Build {
    Build { plugin: PluginName::new("files").unwrap(), sha256: Digest::of(b"files") }
}

fn output<const N: usize>(bodies: [ItemBody; N], reason: FinishReason) -> Output {
    let private = PrivatePart { context_group: "group".to_owned(), bytes: vec![0, 255, 7] };
    let items = bodies.into_iter().map(|body| OutputItem { body, private_part: Some(private.clone()) });
    Output {
        items: items.collect(),
        attempts: vec![Attempt { route: route(), build: Some(build()), usage: None, error: None, ms: 1 }],
        context_owner: ContextOwner { route: route(), context_group: "group".to_owned() },
        finish: Finish { reason, detail: String::new(), model: None, response_id: None },
    }
}

/// More than stays in a row.
pub(super) fn large(word: &str) -> String {
    format!("{word} ").repeat(2_000)
}

/// A store with a row in every table: session `notes` between two turns, `running` within one, of another tenant `other`; and the
/// host's own.
pub(super) async fn fill(journal: &SqliteJournal) -> [Talk; 3] {
    let mut notes = Talk::new("default", "notes");
    commit_all(journal, [notes.create()]).await;
    commit_all(journal, notes.turn_with_tools("hello")).await;
    commit_all(journal, notes.turn_with_tools(&large("again"))).await;
    commit_all(journal, [notes.submit(&large("waits"))]).await;
    let mut running = Talk::new("default", "running");
    commit_all(journal, [running.create(), running.submit("go"), running.start("go"), running.plan()]).await;
    let mut other = Talk::new("somebody", "other");
    commit_all(journal, [other.create()]).await;
    commit_all(journal, other.turn_with_tools(&large("again"))).await;
    append_host(journal).await;
    [notes, running, other]
}

/// A new store like that, closed.
pub(super) async fn filled(folder: &Path) -> [Talk; 3] {
    let journal = open(folder);
    let talks = fill(&journal).await;
    drop(journal);
    talks
}

async fn append_host(journal: &SqliteJournal) {
    let row = GenerationRow {
        plugin: build().plugin,
        sha256: build().sha256,
        package: Digest::of(b"package"),
        version: "0.1.0".to_owned(),
        activated_at: Timestamp(5),
        origin: GenerationOrigin::Manifest,
    };
    let body = PluginLifecycle {
        plugin: row.plugin.clone(),
        sha256: row.sha256,
        version: row.version.clone(),
        replaces: None,
        reason: None,
    };
    let record = NewRecord { at: row.activated_at, body: RecordBody::PluginActivated(body) };
    journal.append_host_records(vec![record], vec![GenerationChange::Activate(row)]).await.unwrap();
}
