//! Plays a story on a journal: what is submitted and what is acknowledged goes into the file system's recording.

use std::{cell::RefCell, num::NonZeroU64, path::Path, rc::Rc};

use futures::future::join_all;
use mainstay_faults::{Faults, Log};
use mainstay_journal::{CommitError, Journal, OpenError, ReadError, SqliteJournal};
use mainstay_protocol::Ordinal;
use rusqlite::{Connection, OpenFlags};

use super::{
    SHORT_LOG,
    ledger::{Ledger, Stage, Step, VALUE, Work},
    open_with_log,
};

/// Plays all of a story on a disk that works, in a folder of its own, and stops the host.
pub(super) async fn play(faults: &Faults, folder: &Path, ledger: &Ledger, stages: &[Stage]) {
    let player = Player::new(faults, folder, ledger);
    for stage in stages {
        player.stage(stage).await;
    }
    assert!(player.met.borrow().is_empty(), "nothing fails on a disk that works");
}

/// Plays on through whatever fails. What is told of a failure is checked: that it has a type that fits, and that what it says
/// about the journal is so.
pub(super) struct Player<'a> {
    faults: &'a Faults,
    folder: &'a Path,
    ledger: &'a Ledger,
    /// The length that the log may have.
    pub(super) log: NonZeroU64,
    journal: RefCell<Option<Rc<SqliteJournal>>>,
    /// The failures of commits.
    pub(super) met: RefCell<Vec<CommitError>>,
    /// The failures of opening.
    pub(super) refused: RefCell<Vec<OpenError>>,
}

/// Tries before the faults are taken out, for something that needs it.
const PATIENCE: usize = 3;

impl<'a> Player<'a> {
    pub(super) fn new(faults: &'a Faults, folder: &'a Path, ledger: &'a Ledger) -> Self {
        let (journal, met, refused) = Default::default();
        Self { faults, folder, ledger, log: SHORT_LOG, journal, met, refused }
    }

    /// The journal, opened if need be; a fault that doesn't let it open is taken out.
    pub(super) fn journal(&self) -> Rc<SqliteJournal> {
        if let Some(journal) = &*self.journal.borrow() {
            return journal.clone();
        }
        let mut tries = 0;
        let journal = loop {
            match open_with_log(self.faults, self.folder, self.log) {
                Ok(journal) => break Rc::new(journal),
                Err(error) => {
                    assert!(tries < 2 * PATIENCE, "it does not open although the fault is gone: {error:?}");
                    self.refused.borrow_mut().push(error);
                }
            }
            tries += 1;
            if tries == PATIENCE {
                self.faults.heal();
            }
        };
        *self.journal.borrow_mut() = Some(journal.clone());
        journal
    }

    /// Stops the host.
    pub(super) fn stop(&self) {
        *self.journal.borrow_mut() = None;
    }

    pub(super) async fn stage(&self, stage: &Stage) {
        match stage {
            Stage::Together(works) => drop(join_all(works.iter().map(|work| self.work(*work))).await),
            Stage::Checkpoint => self.checkpoint(),
            Stage::Reopen => self.stop(),
        }
    }

    async fn work(&self, work: Work) {
        match work {
            Work::Commit(step) => self.commit(step).await,
            Work::Repeat(step) => self.repeat(step).await,
        }
    }

    /// Submits a step until it is in.
    async fn commit(&self, step: Step) {
        let Step { lane, step: number } = step;
        self.faults.mark(format!("submitted {lane} {number}"));
        for tries in 0.. {
            if tries == PATIENCE {
                self.faults.heal();
            }
            let Err(error) = self.submit(step).await else { break };
            assert!(tries < 2 * PATIENCE, "step {step:?} is not taken although the fault is gone: {error:?}");
            let arrived = self.has(step).await;
            match &error {
                CommitError::DiskFull | CommitError::Busy => assert!(!arrived, "{step:?}: {error} is retryable"),
                CommitError::Io { .. } => {}
                other => panic!("{step:?}: {other:?}"),
            }
            self.met.borrow_mut().push(error);
            if arrived {
                break;
            }
        }
        // Acknowledged, or found when the session was read again: both are facts.
        self.faults.mark(format!("acknowledged {lane} {number}"));
    }

    async fn submit(&self, Step { lane, step }: Step) -> Result<(), CommitError> {
        let journal = self.journal();
        if lane == self.ledger.host_lane() {
            let host = &self.ledger.host[step];
            return journal.append_host_records(host.records.clone(), host.changes()).await.map(drop);
        }
        if lane == self.ledger.value_lane() {
            return journal.set_global(VALUE.to_owned(), Some(self.ledger.values[step].clone())).await;
        }
        let transition = &self.ledger.sessions[lane][step];
        let committed = journal.commit(transition.clone()).await?;
        assert_eq!(committed.records.len(), transition.records.len());
        Ok(())
    }

    /// Whether a step is in, by what the journal says when it is asked.
    async fn has(&self, step: Step) -> bool {
        let journal = self.journal();
        for tries in 0.. {
            match self.read(&journal, step).await {
                Ok(found) => return found,
                Err(error) => {
                    assert!(matches!(error, ReadError::Io { .. } | ReadError::Busy), "{error:?}");
                    assert!(tries < PATIENCE, "nothing can be read although the fault is gone: {error:?}");
                }
            }
            if tries + 1 == PATIENCE {
                self.faults.heal();
            }
        }
        unreachable!("the last try decides")
    }

    async fn read(&self, journal: &SqliteJournal, Step { lane, step }: Step) -> Result<bool, ReadError> {
        if lane == self.ledger.host_lane() {
            let (tenant, session) = (mainstay_journal::host_tenant(), mainstay_journal::host_session());
            let page = journal.records(&tenant, &session, mainstay_journal::Range::forward(1_000)).await?;
            return Ok(page.rows.len() > step);
        }
        if lane == self.ledger.value_lane() {
            return Ok(journal.global(VALUE).await? == Some(self.ledger.values[step].clone()));
        }
        let transition = &self.ledger.sessions[lane][step];
        let opened = journal.open_session(&transition.tenant, &transition.session).await?;
        let head = opened.map_or(Ordinal(0), |opened| opened.head);
        assert!(
            head == transition.expected || head == transition.state.head(),
            "all of a step is there or nothing: {head:?}"
        );
        Ok(head == transition.state.head())
    }

    /// Sends a submission again: it is known, whatever fails meanwhile.
    async fn repeat(&self, step: Step) {
        for tries in 0.. {
            if tries == PATIENCE {
                self.faults.heal();
            }
            match self.journal().commit(self.ledger.repetition(step).clone()).await.unwrap_err() {
                CommitError::Duplicate { .. } => return,
                error => {
                    assert!(tries < 2 * PATIENCE, "{error:?} although the fault is gone");
                    assert!(matches!(error, CommitError::DiskFull | CommitError::Io { .. }), "{error:?}");
                }
            }
        }
    }

    /// Moves the log into the database as far as readers allow, over a connection of its own. It may fail; it never loses.
    fn checkpoint(&self) {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let file = self.folder.join("journal.sqlite");
        let _ = Connection::open_with_flags_and_vfs(file, flags, self.faults.name())
            .and_then(|connection| connection.pragma(None, "wal_checkpoint", "RESTART", |_| Ok(())));
    }
}

/// How far each lane was at a position of a recording: steps that were submitted, and steps that were acknowledged.
pub(super) fn known(log: &Log, position: usize, lanes: usize) -> (Vec<usize>, Vec<usize>) {
    let (mut submitted, mut acknowledged) = (vec![0; lanes], vec![0; lanes]);
    for mark in log.marks(position) {
        let mut words = mark.split(' ');
        let (word, lane, step) = (words.next(), words.next(), words.next());
        let number = |word: Option<&str>| word.and_then(|word| word.parse::<usize>().ok()).expect("a number");
        let counts = if word == Some("submitted") { &mut submitted } else { &mut acknowledged };
        let count = &mut counts[number(lane)];
        *count = (*count).max(number(step) + 1);
    }
    (submitted, acknowledged)
}
