//! A session on the journal alone. Each transition is decided by the session core, as everywhere.

use std::{sync::Arc, time::SystemTime};

use anyhow::{Context as _, Result};
use mainstay_journal::{Journal as _, NewSubmission, SqliteJournal, Transition};
use mainstay_protocol::{
    Digest, PluginName, RouteName, SessionId, StepIndex, SubmissionId, TenantId, Timestamp, TurnId,
    content::{ItemBody, Message, Part, Role},
    model::{Finish, FinishReason, Usage},
    op::{Delivery, Op},
    record::v1::{Activity, Attempt, Build, ContextOwner, HookNotes},
};
use mainstay_session::{Command, Decision, InputRuling, Output, OutputItem, State, decide};

/// One session, and the state that its last commit left.
pub(crate) struct Session {
    pub(crate) journal: Arc<SqliteJournal>,
    pub(crate) tenant: TenantId,
    pub(crate) id: SessionId,
    pub(crate) state: State,
    turn: u64,
}

impl Session {
    /// B0.
    pub(crate) async fn create(journal: &Arc<SqliteJournal>, id: &str) -> Result<Self> {
        let (journal, id) = (journal.clone(), SessionId::new(id)?);
        let mut session = Self { journal, id, tenant: TenantId::default_tenant(), state: State::default(), turn: 0 };
        let labels = Default::default();
        session.commit(vec![Command::Create { route: route(), labels, metadata: None, requires: None }], None).await?;
        Ok(session)
    }

    /// The session as it stands, after so many turns.
    pub(crate) async fn take_up(journal: &Arc<SqliteJournal>, id: &str, turn: u64) -> Result<Self> {
        let (tenant, id) = (TenantId::default_tenant(), SessionId::new(id)?);
        let opened = journal.open_session(&tenant, &id).await?.context("the session is there")?;
        Ok(Self { journal: journal.clone(), id, tenant, state: opened.state.clone(), turn })
    }

    /// One record of about as many bytes, which is a feed event too.
    pub(crate) async fn record(&mut self, bytes: usize) -> Result<()> {
        self.turn += 1;
        let details = Some(text("activity", self.turn, bytes));
        self.commit(vec![Command::RecordActivity { activity: Activity::Working, details }], None).await
    }

    /// B1, B2, B3 with B7: a turn without tools.
    pub(crate) async fn turn(&mut self, question: String, answer: String) -> Result<()> {
        self.turn += 1;
        let (turn, step) = (TurnId::new(&self.uuid(1))?, StepIndex(0));
        let submission = SubmissionId::new(&self.uuid(2))?;
        let (content, hooks) = (vec![Part::Text(question)], HookNotes::default());
        let op = Op::Submit { content: content.clone(), delivery: Delivery::Queue };
        let submit =
            Command::Submit { submission: submission.clone(), content: content.clone(), delivery: Delivery::Queue };
        self.commit(vec![submit], Some((submission.clone(), op.digest()))).await?;

        let ruling = InputRuling::Accept { message: Message::user(content), annotations: Vec::new() };
        let start = Command::StartTurn { turn: turn.clone(), submission, ruling, hooks: hooks.clone() };
        self.commit(vec![start, Command::OpenStep { turn: turn.clone(), step }], None).await?;

        let accept = Command::AcceptOutput { turn: turn.clone(), step, output: output(answer)? };
        self.commit(vec![accept, Command::FinishTurn { turn, hooks }], None).await
    }

    /// Decides some commands and makes them durable in one transaction.
    async fn commit(&mut self, commands: Vec<Command>, answered: Option<(SubmissionId, Digest)>) -> Result<()> {
        let mut whole = Decision { state: self.state.clone(), ..Decision::default() };
        for command in commands {
            let decided = decide(&whole.state, command, now()?)?;
            whole.state = decided.state;
            whole.records.extend(decided.records);
            whole.items.extend(decided.items);
            whole.queued.extend(decided.queued);
            whole.unqueued.extend(decided.unqueued);
        }
        let accepted = whole.queued.first().map(|queued| queued.accepted);
        let (tenant, id, expected) = (self.tenant.clone(), self.id.clone(), self.state.head());
        let transition = Transition {
            items: whole.items,
            queued: whole.queued,
            unqueued: whole.unqueued,
            submission: answered.map(|(submission, digest)| NewSubmission { submission, digest, accepted, record: 0 }),
            ..Transition::new(tenant, id, expected, whole.records, whole.state)
        };
        self.state = self.journal.commit(transition).await?.into_inner().state;
        Ok(())
    }

    /// As long as the ids that a host draws, and as random where it counts: ids of several sessions do not sort together.
    fn uuid(&self, salt: u8) -> String {
        let digest = Digest::of_fields("bench", &[self.id.as_str().as_bytes(), &self.turn.to_le_bytes(), &[salt]]);
        let hex = digest.to_string();
        format!("0189{}-{}-7{}-8{}-{}", &hex[4..8], &hex[8..12], &hex[12..15], &hex[15..18], &hex[18..30])
    }
}

fn output(answer: String) -> Result<Output> {
    let body = ItemBody::Message(Message { role: Role::Assistant, content: vec![Part::Text(answer)] });
    let build = Build { plugin: PluginName::new("rehearsal")?, sha256: Digest::of(b"rehearsal") };
    let attempt = Attempt { route: route(), build: Some(build), usage: Some(Usage::default()), error: None, ms: 1 };
    let finish = Finish { reason: FinishReason::Complete, detail: String::new(), model: None, response_id: None };
    Ok(Output {
        items: vec![OutputItem { body, private_part: None }],
        attempts: vec![attempt],
        context_owner: ContextOwner { route: route(), context_group: "rehearsal".to_owned() },
        finish,
    })
}

fn route() -> RouteName {
    RouteName::new("default").expect("a legal name")
}

fn now() -> Result<Timestamp> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(Timestamp(u64::try_from(since.as_millis())?))
}

/// A text of so many bytes, unlike any other of the session; `compare` writes the same on its other side.
pub(crate) fn text(what: &str, number: u64, bytes: usize) -> String {
    let mut text = format!("{what} {number:06} ");
    text.extend(std::iter::repeat_n('x', bytes.saturating_sub(text.len())));
    text
}
