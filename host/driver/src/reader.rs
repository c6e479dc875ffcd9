//! Reading sessions: what can be asked without changing anything, of a host or of a data folder that no host has.

use std::{path::Path, sync::Arc};

use mainstay_journal::{
    Journal, OpenError, Options, Place, Range, ReadError, SessionCursor, SessionsQuery, SqliteJournal,
};
use mainstay_protocol::{
    ItemId, Ordinal, SessionId, TenantId, Timestamp,
    blob::{BlobInfo, BlobReference},
    content::{Item, ItemBody},
    record::{
        RecordBody, StoredRecord,
        v1::{ApprovalRequested, ElicitationRequested},
    },
};
use mainstay_session::{Phase, State, Turn};

use crate::{
    errors::{ForgetError, HostError},
    view::{ApprovalView, ElicitationView, QueuedView, SessionRow, SessionView, TurnView},
};

/// What a person sees in place of arguments whose item is damaged. It is JSON, as arguments are.
const UNREADABLE: &str = r#""these arguments can't be read: the journal is damaged here""#;

/// The journal's file. Without it no host ever had the folder, and opening would make one.
const JOURNAL: &str = "journal.sqlite";

/// Reads the sessions of a tenant.
#[derive(Clone)]
pub struct Reader {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) tenant: TenantId,
}

impl Reader {
    pub(crate) fn new(journal: Arc<dyn Journal>, tenant: TenantId) -> Self {
        Self { journal, tenant }
    }

    /// Opens the journal of a data folder that no host has, under the folder's lock: looking at sessions starts none of their
    /// work. None when no host ever had the folder.
    ///
    /// # Errors
    /// A host has the folder, or the journal can't be opened.
    pub fn open(data_dir: &Path, tenant: TenantId) -> Result<Option<Self>, HostError> {
        if !data_dir.join(JOURNAL).exists() && !mainstay_journal::restore::is_pending(data_dir) {
            return Ok(None);
        }
        match SqliteJournal::open(data_dir, Options::default()) {
            Ok(journal) => Ok(Some(Self::new(Arc::new(journal), tenant))),
            Err(locked @ OpenError::Locked { .. }) => Err(HostError::Locked(locked)),
            Err(error) => Err(HostError::Journal(error)),
        }
    }

    /// Forgets a session for good. No host has the folder, so no turn of it runs.
    ///
    /// # Errors
    /// There is no such session, it was forgotten before, or the journal fails. Nothing has changed then.
    pub async fn forget(&self, session: &SessionId) -> Result<(), ForgetError> {
        if let Err(ReadError::Gone) = self.journal.open_session(&self.tenant, session).await {
            return Err(ForgetError::Gone(session.clone()));
        }
        let forgotten = self.journal.forget(&self.tenant, session, crate::clock::now()).await;
        forgotten.map(drop).map_err(|error| ForgetError::of(error, session))
    }

    /// Sessions, newest activity first, with the token of the next page.
    ///
    /// # Errors
    /// The journal can't be read, or `before` is no token of this host.
    pub async fn sessions(
        &self,
        limit: usize,
        before: Option<String>,
    ) -> Result<(Vec<SessionRow>, Option<String>), HostError> {
        let before = before.map(|token| parse_token(&token).ok_or(HostError::PageToken(token))).transpose()?;
        let query = SessionsQuery { limit: u32::try_from(limit).unwrap_or(u32::MAX), before };
        let page = self.journal.sessions(&self.tenant, query).await?;
        if !page.damaged.is_empty() {
            tracing::error!(damaged = ?page.damaged, "rows of the list of sessions are damaged");
        }
        let next = page.reached().filter(|_| page.more).map(token);
        Ok((page.rows.into_iter().map(row).collect(), next))
    }

    /// A session as it stands; none when there is no such session.
    ///
    /// # Errors
    /// The journal can't be read.
    pub async fn session(&self, session: &SessionId) -> Result<Option<SessionView>, HostError> {
        let Some(opened) = self.journal.open_session(&self.tenant, session).await? else { return Ok(None) };
        let state = &opened.state;
        let summary = state.summary();
        let row = SessionRow {
            session: session.clone(),
            phase: summary.phase.to_owned(),
            route: summary.route,
            turns: summary.turns,
            head: opened.head,
            created_at: opened.created_at,
            updated_at: opened.active_at,
        };
        Ok(Some(SessionView {
            row,
            labels: state.labels().clone(),
            metadata: serde_json::from_str(state.metadata()).unwrap_or_default(),
            context_owner: state.context_owner().cloned(),
            context_epoch: state.context_epoch(),
            aborted_turns: state.run_counts().1,
            turn: state.turn().map(turn_view),
            last_item: state.last_item(),
            queue: queue_view(state),
            approvals: self.approvals(session, state).await?,
            elicitations: self.elicitations(session, state).await?,
            last_outcome: state.last_outcome(),
            activity: state.activity().cloned(),
            operation: state.operation().cloned(),
            archive: state.archive().cloned(),
            checkpoint_warning: state.checkpoint_warning().map(str::to_owned),
            requires: state.requires().clone(),
            stopped: None,
        }))
    }

    /// The pending approvals with what a person needs to decide: the final arguments, and who asks why.
    async fn approvals(&self, session: &SessionId, state: &State) -> Result<Vec<ApprovalView>, HostError> {
        let pending = state.pending_approvals();
        let (Some(turn), false) = (state.turn(), pending.is_empty()) else { return Ok(Vec::new()) };
        let is_pending = |asked: &ApprovalRequested| pending.iter().any(|one| one.approval == asked.approval);
        let asked = self.requests(session, pending.len(), |body| match body {
            RecordBody::ApprovalRequested(asked) if is_pending(asked) => Some(asked.clone()),
            _ => None,
        });
        let asked = asked.await?;
        let mut views = Vec::with_capacity(pending.len());
        for one in pending {
            let reasons = asked.iter().find(|asked| asked.approval == one.approval);
            views.push(ApprovalView {
                arguments: self.arguments(session, one.item).await?,
                reasons: reasons.map(|asked| asked.reasons.clone()).unwrap_or_default(),
                approval: one.approval,
                turn: turn.id.clone(),
                step: turn.step,
                call: one.index,
                tool: one.tool,
            });
        }
        Ok(views)
    }

    /// The pending forms with what they ask.
    async fn elicitations(&self, session: &SessionId, state: &State) -> Result<Vec<ElicitationView>, HostError> {
        let pending = state.pending_elicitations();
        let is_pending = |asked: &ElicitationRequested| pending.iter().any(|one| one.elicitation == asked.elicitation);
        let asked = self.requests(session, pending.len(), |body| match body {
            RecordBody::ElicitationRequested(asked) if is_pending(asked) => Some(asked.clone()),
            _ => None,
        });
        // The newest is read first.
        Ok(asked.await?.into_iter().rev().map(elicitation_view).collect())
    }

    /// The records that asked this many pending questions, newest first. They are near the end: hardly anything of the turn goes
    /// on meanwhile.
    async fn requests<T>(
        &self,
        session: &SessionId,
        count: usize,
        wanted: impl Fn(&RecordBody) -> Option<T>,
    ) -> Result<Vec<T>, HostError> {
        let mut found = Vec::new();
        let mut before = None;
        while found.len() < count {
            let page = self.records_before(session, before, 256).await?;
            let Some(last) = page.last() else { break };
            before = Some(last.ordinal);
            found.extend(page.iter().filter_map(|record| wanted(&record.body)));
            // What is pending was asked in the turn that runs.
            if page.iter().any(|record| matches!(&*record.body, RecordBody::TurnStarted(_))) {
                break;
            }
        }
        Ok(found)
    }

    async fn arguments(&self, session: &SessionId, item: ItemId) -> Result<String, HostError> {
        let items = self.items(session, ItemId(item.0.saturating_sub(1)), 1).await?;
        // A damaged item is passed over: what comes then belongs to another call.
        let this = items.into_iter().next().filter(|found| found.id == item);
        match this.map(|item| item.body) {
            Some(ItemBody::ToolCall(call)) => Ok(call.arguments),
            _ => Ok(UNREADABLE.to_owned()),
        }
    }

    /// Records after an ordinal, oldest first.
    ///
    /// # Errors
    /// The journal can't be read, or the limit is zero.
    pub async fn records(
        &self,
        session: &SessionId,
        after: Ordinal,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, HostError> {
        let range = Range::forward(u32::try_from(limit).unwrap_or(u32::MAX)).after(after);
        self.read_records(session, range).await
    }

    /// Records before an ordinal, or the last ones, newest first.
    ///
    /// # Errors
    /// The journal can't be read, or the limit is zero.
    pub async fn records_before(
        &self,
        session: &SessionId,
        before: Option<Ordinal>,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, HostError> {
        let range = Range { before, ..Range::backward(u32::try_from(limit).unwrap_or(u32::MAX)) };
        self.read_records(session, range).await
    }

    /// A page that is empty only at the end: one of nothing but damaged rows is passed.
    async fn read_records(
        &self,
        session: &SessionId,
        mut range: Range<Ordinal>,
    ) -> Result<Vec<StoredRecord>, HostError> {
        loop {
            let page = self.journal.records(&self.tenant, session, range).await?;
            let passed = page.damaged.last().and_then(|damaged| match damaged.at {
                Place::Record(ordinal) => Some(ordinal),
                _ => None,
            });
            for damaged in &page.damaged {
                tracing::error!(%session, ?damaged, "a record of the journal is damaged");
            }
            match passed.filter(|_| page.rows.is_empty() && page.more) {
                Some(ordinal) => range = range.past(ordinal),
                None => return Ok(page.rows),
            }
        }
    }

    /// Transcript items after an id, oldest first, without their private parts.
    ///
    /// # Errors
    /// The journal can't be read, or the limit is zero.
    pub async fn items(&self, session: &SessionId, after: ItemId, limit: usize) -> Result<Vec<Item>, HostError> {
        let mut range = Range::forward(u32::try_from(limit).unwrap_or(u32::MAX)).after(after);
        loop {
            let page = self.journal.items(&self.tenant, session, range).await?;
            let passed = page.damaged.last().and_then(|damaged| match damaged.at {
                Place::Item(item) => Some(item),
                _ => None,
            });
            for damaged in &page.damaged {
                tracing::error!(%session, ?damaged, "an item of the journal is damaged");
            }
            match passed.filter(|_| page.rows.is_empty() && page.more) {
                Some(item) => range = range.past(item),
                None => return Ok(page.rows.into_iter().map(|item| Item { private_part: None, ..item }).collect()),
            }
        }
    }
}

/// What a session keeps beside its items.
impl Reader {
    /// What is known of a blob; none when the session keeps none by this reference.
    ///
    /// # Errors
    /// The journal can't be read.
    pub async fn blob_info(&self, session: &SessionId, blob: &BlobReference) -> Result<Option<BlobInfo>, HostError> {
        Ok(self.journal.blob_info(&self.tenant, session, blob).await?)
    }

    /// Bytes of a blob from `offset`, at most 1 MiB of them, and none of them at or past its end; none when the session keeps none
    /// by this reference.
    ///
    /// # Errors
    /// The journal can't be read, or the blob is damaged.
    pub async fn blob_read(
        &self,
        session: &SessionId,
        blob: &BlobReference,
        offset: u64,
    ) -> Result<Option<Vec<u8>>, HostError> {
        Ok(self.journal.blob_read(&self.tenant, session, blob, offset, usize::MAX).await?)
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("tenant", &self.tenant).finish_non_exhaustive()
    }
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

fn elicitation_view(asked: ElicitationRequested) -> ElicitationView {
    let ElicitationRequested { elicitation, turn, step, call, request, build, .. } = asked;
    ElicitationView { elicitation, turn, step, call, request, build }
}

fn queue_view(state: &State) -> Vec<QueuedView> {
    let view = |queued: &mainstay_session::Queued| QueuedView {
        submission: queued.submission.clone(),
        accepted: queued.accepted,
        bytes: queued.bytes,
    };
    state.queue().map(view).collect()
}

fn token(cursor: SessionCursor) -> String {
    format!("{}-{}", cursor.active_at, cursor.number)
}

fn parse_token(token: &str) -> Option<SessionCursor> {
    let (active_at, number) = token.split_once('-')?;
    Some(SessionCursor { active_at: Timestamp(active_at.parse().ok()?), number: number.parse().ok()? })
}
