//! Reading sessions when no host runs. The journal is opened under the folder's lock and without the driver: looking at
//! sessions must not start their work.

use std::path::Path;

use mainstay_driver::view::{ApprovalView, QueuedView, SessionRow, SessionView, TurnView};
use mainstay_journal::{Journal, OpenError, Options, Range, ReadError, SessionsQuery, SqliteJournal};
use mainstay_protocol::{
    ItemId, Ordinal, SessionId, TenantId,
    content::{Item, ItemBody},
    record::{
        RecordBody, StoredRecord,
        v1::{ApprovalRequested, Reason},
    },
};
use mainstay_session::{Phase, State, Turn};

use crate::{
    exit::{Exit, Failure},
    manifest::Place,
};

/// The journal's file. Without it nothing ever ran there, and opening would make one.
const FILE: &str = "journal.sqlite";
/// Rows of a page.
const PAGE: u32 = 256;

/// The journal of a data folder that no host has.
#[derive(Debug)]
pub(crate) struct Offline {
    journal: SqliteJournal,
    tenant: TenantId,
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::new(Exit::Unavailable, format!("could not read the journal: {error}"))
    }
}

impl Offline {
    /// Opens the journal; none when nothing ever ran in the folder.
    pub(crate) fn open(place: &Place) -> Result<Option<Self>, Failure> {
        if !has_journal(&place.data_dir) {
            return Ok(None);
        }
        let opened = SqliteJournal::open(&place.data_dir, Options::default());
        let journal = opened.map_err(|error| {
            let locked = matches!(error, OpenError::Locked { .. });
            let failure = Failure::new(Exit::Unavailable, format!("could not open the journal: {error}"));
            if locked {
                failure.hint("that host does not answer on its control socket; it may be starting: try again")
            } else {
                failure
            }
        })?;
        Ok(Some(Self { journal, tenant: place.tenant()? }))
    }

    pub(crate) async fn sessions(&self, limit: u32) -> Result<Vec<SessionRow>, Failure> {
        let page = self.journal.sessions(&self.tenant, SessionsQuery { limit, before: None }).await?;
        Ok(page.rows.into_iter().map(row).collect())
    }

    pub(crate) async fn session(&self, session: &SessionId) -> Result<Option<SessionView>, Failure> {
        let Some(opened) = self.journal.open_session(&self.tenant, session).await? else { return Ok(None) };
        let state = &opened.state;
        let summary = state.summary();
        Ok(Some(SessionView {
            row: SessionRow {
                session: session.clone(),
                phase: summary.phase.to_owned(),
                route: summary.route,
                turns: summary.turns,
                head: opened.head,
                created_at: opened.created_at,
                updated_at: opened.active_at,
            },
            labels: state.labels().clone(),
            metadata: serde_json::from_str(state.metadata()).unwrap_or_default(),
            context_owner: state.context_owner().cloned(),
            context_epoch: state.context_epoch(),
            aborted_turns: state.run_counts().1,
            turn: state.turn().map(turn_view),
            queue: state.queue().map(queued_view).collect(),
            approvals: self.approvals(session, state).await?,
            stopped: None,
        }))
    }

    pub(crate) async fn records(&self, session: &SessionId, after: Ordinal) -> Result<Vec<StoredRecord>, Failure> {
        let page = self.journal.records(&self.tenant, session, Range::forward(PAGE).after(after)).await?;
        for damaged in &page.damaged {
            tracing::error!(%session, ?damaged, "a record of the journal is damaged");
        }
        Ok(page.rows)
    }

    pub(crate) async fn items(&self, session: &SessionId, after: ItemId) -> Result<Vec<Item>, Failure> {
        let page = self.journal.items(&self.tenant, session, Range::forward(16).after(after)).await?;
        Ok(page.rows.into_iter().map(|item| Item { private_part: None, ..item }).collect())
    }

    /// What a person needs to decide. The questions are near the end: nothing of the turn went on after them.
    async fn approvals(&self, session: &SessionId, state: &State) -> Result<Vec<ApprovalView>, Failure> {
        let pending = state.pending_approvals();
        let Some(turn) = state.turn().filter(|_| !pending.is_empty()) else { return Ok(Vec::new()) };
        let asked = self.journal.records(&self.tenant, session, Range::backward(mainstay_journal::MAX_PAGE)).await?;
        let mut views = Vec::with_capacity(pending.len());
        for one in pending {
            let request =
                asked.rows.iter().find_map(|record| request(record).filter(|asked| asked.approval == one.approval));
            views.push(ApprovalView {
                reasons: request.map(reasons).unwrap_or_default(),
                arguments: self.arguments(session, one.item).await?,
                approval: one.approval,
                turn: turn.id.clone(),
                step: turn.step,
                call: one.index,
                tool: one.tool,
            });
        }
        Ok(views)
    }

    async fn arguments(&self, session: &SessionId, item: ItemId) -> Result<String, Failure> {
        let range = Range::forward(1).after(ItemId(item.0.saturating_sub(1)));
        let page = self.journal.items(&self.tenant, session, range).await?;
        Ok(match page.rows.into_iter().next().map(|item| item.body) {
            Some(ItemBody::ToolCall(call)) => call.arguments,
            _ => String::new(),
        })
    }
}

fn has_journal(data_dir: &Path) -> bool {
    data_dir.join(FILE).exists()
}

fn request(record: &StoredRecord) -> Option<&ApprovalRequested> {
    match &*record.body {
        RecordBody::ApprovalRequested(asked) => Some(asked),
        _ => None,
    }
}

fn reasons(asked: &ApprovalRequested) -> Vec<Reason> {
    asked.reasons.clone()
}

fn row(row: mainstay_journal::SessionRow) -> SessionRow {
    SessionRow {
        session: row.session,
        phase: row.phase,
        route: row.route,
        turns: row.turns,
        head: row.head,
        created_at: row.created_at,
        updated_at: row.active_at,
    }
}

fn turn_view(turn: &Turn) -> TurnView {
    let phase = match turn.phase {
        Phase::Ready => "ready",
        Phase::Model => "model",
        Phase::Calls(_) => "calls",
        Phase::Completion => "completion",
    };
    TurnView { turn: turn.id.clone(), submission: turn.submission.clone(), step: turn.step, phase: phase.to_owned() }
}

fn queued_view(queued: &mainstay_session::Queued) -> QueuedView {
    QueuedView { submission: queued.submission.clone(), accepted: queued.accepted, bytes: queued.bytes }
}
