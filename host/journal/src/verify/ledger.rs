//! What a verification writes down while it goes: findings of the session that it looks at, counts, and how far it is.

use std::time::Instant;

use mainstay_protocol::{SessionId, TenantId};

use super::report::{Counts, Depth, Finding, Location, MAX_FINDINGS, Note, Report};
use crate::{Damage, ReadError, errors::code_of};

/// What is going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// SQLite checks the structure of its file.
    Pages,
    /// Sessions are checked, one after the other.
    Sessions,
    /// What belongs to no session: the feed as a whole, payloads, rows that belong to nothing.
    Store,
}

/// How far a verification is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What is going on.
    pub phase: Phase,
    /// What was looked at so far.
    pub counts: Counts,
    /// Records that there were when it began.
    pub records: u64,
    /// Findings so far.
    pub damaged: u64,
}

/// Rows after which it is told how far the verification is.
const TELL_EVERY: u64 = 1_000;

pub(super) struct Ledger<'a> {
    report: Report,
    tenant: Option<TenantId>,
    session: Option<SessionId>,
    phase: Phase,
    /// Records that there were when it began.
    records: u64,
    rows: u64,
    started: Instant,
    let_go: &'a dyn Fn(),
    tell: &'a mut dyn FnMut(Progress),
}

impl<'a> Ledger<'a> {
    pub(super) fn new(depth: Depth, format: u32, tell: &'a mut dyn FnMut(Progress)) -> Self {
        let report = Report {
            sound: true,
            depth,
            format,
            store_epoch: None,
            latest: mainstay_protocol::Seq(0),
            counts: Counts::default(),
            damaged: 0,
            findings: Vec::new(),
            notes: Vec::new(),
            elapsed: std::time::Duration::ZERO,
        };
        let (phase, started) = (Phase::Pages, Instant::now());
        Self { report, tenant: None, session: None, phase, records: 0, rows: 0, started, let_go: &|| {}, tell }
    }

    /// Calls this whenever nothing is held of the store.
    pub(super) fn letting_go(self, let_go: &'a dyn Fn()) -> Self {
        Self { let_go, ..self }
    }

    pub(super) fn let_go(&self) {
        (self.let_go)();
    }

    pub(super) fn depth(&self) -> Depth {
        self.report.depth
    }

    pub(super) fn report(&mut self) -> &mut Report {
        &mut self.report
    }

    pub(super) fn counts(&mut self) -> &mut Counts {
        &mut self.report.counts
    }

    pub(super) fn expect_records(&mut self, records: u64) {
        self.records = records;
    }

    /// Whose session is looked at from here on.
    pub(super) fn at_session(&mut self, tenant: Option<TenantId>, session: Option<SessionId>) {
        (self.tenant, self.session) = (tenant, session);
    }

    pub(super) fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.tell();
    }

    /// Counts a row that was looked at, and bytes of it.
    pub(super) fn row(&mut self, bytes: usize) {
        self.report.counts.bytes += bytes as u64;
        self.rows += 1;
        if self.rows.is_multiple_of(TELL_EVERY) {
            self.tell();
        }
    }

    pub(super) fn tell(&mut self) {
        let Report { counts, damaged, .. } = self.report;
        (self.tell)(Progress { phase: self.phase, counts, records: self.records, damaged });
    }

    pub(super) fn find(&mut self, place: Location, damage: Damage, message: impl Into<String>) {
        self.report.sound = false;
        self.report.damaged += 1;
        if self.report.findings.len() < MAX_FINDINGS {
            let (tenant, session) = (self.tenant.clone(), self.session.clone());
            self.report.findings.push(Finding { tenant, session, place, damage, message: message.into() });
        }
    }

    pub(super) fn note(&mut self, message: impl Into<String>) {
        if self.report.notes.len() < MAX_FINDINGS {
            let (tenant, session) = (self.tenant.clone(), self.session.clone());
            self.report.notes.push(Note { tenant, session, message: message.into() });
        }
    }

    /// Runs a check on a table. Where the file can't be read, or lacks what is asked for, that is a finding, and the verification
    /// goes on with the next check; the answer is then none.
    pub(super) fn check<T>(
        &mut self,
        table: &'static str,
        check: impl FnOnce(&mut Self) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, ReadError> {
        use rusqlite::ErrorCode::{DatabaseCorrupt, SystemIoFailure, Unknown};
        match check(self) {
            Ok(checked) => Ok(Some(checked)),
            Err(error) if matches!(code_of(&error), None | Some(DatabaseCorrupt | SystemIoFailure | Unknown)) => {
                tracing::warn!(%error, table, "a part of the journal can't be read");
                self.find(Location::Table { name: table }, Damage::Page, "a part of it can't be read");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn finish(self) -> Report {
        Report { elapsed: self.started.elapsed(), ..self.report }
    }
}
