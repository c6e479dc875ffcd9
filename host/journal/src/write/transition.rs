//! The job that commits a transition: compare the head, append everything, swap the head.

use mainstay_protocol::{Ordinal, op::Accepted, record::StoredRecord};
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::{
    Failure, Job, Lane, Prepared, items, plugin_state, queue, records,
    sessions::{self, Head},
    submissions,
};
use crate::{Commit, CommitError, Committed};

type Answer = Result<Committed<Commit>, CommitError>;

pub(crate) struct CommitTransition {
    prepared: Prepared,
    applied: Option<(Vec<StoredRecord>, Option<Accepted>)>,
    reply: oneshot::Sender<Answer>,
    /// A test plants a state: whatever head the session has is taken as the expected one.
    compare: bool,
}

impl CommitTransition {
    pub(crate) fn new(prepared: Prepared, reply: oneshot::Sender<Answer>) -> Self {
        Self { prepared, applied: None, reply, compare: true }
    }

    pub(crate) fn without_comparison(prepared: Prepared, reply: oneshot::Sender<Answer>) -> Self {
        Self { prepared, applied: None, reply, compare: false }
    }

    /// The session's head, when it is the one that the transition was decided at.
    fn compare(&self, connection: &Connection) -> Result<Head, Failure> {
        let expected = self.prepared.expected;
        let found = sessions::find(connection, &self.prepared.lane)?;
        let at = found.as_ref().map_or(Ordinal(0), |head| head.ordinal);
        if self.compare && at != expected {
            return Err(CommitError::Conflict { expected, found: at }.into());
        }
        match found {
            Some(head) => Ok(head),
            None => Ok(sessions::create(connection, &self.prepared.lane, self.prepared.records[0].at)?),
        }
    }
}

impl Job for CommitTransition {
    fn lane(&self) -> Option<&Lane> {
        Some(&self.prepared.lane)
    }

    fn apply(&mut self, connection: &Connection) -> Result<(), Failure> {
        let mut head = self.compare(connection)?;
        let (key, prepared) = (head.key, &self.prepared);
        if let Some(submission) = &prepared.submission {
            submissions::refuse_known(connection, key, &submission.submission)?;
        }
        let stored = records::append(connection, &prepared.lane, &mut head, &prepared.records)?;
        items::append(connection, key, &prepared.items)?;
        queue::put(connection, key, &prepared.queued)?;
        queue::take(connection, key, &prepared.unqueued)?;
        plugin_state::store(connection, key, head.ordinal, &prepared.plugin_state)?;
        let accepted = match &prepared.submission {
            Some(submission) => Some(submissions::store(connection, key, submission, &stored[submission.record])?),
            None => None,
        };
        sessions::store_facts(connection, key, &prepared.facts)?;
        sessions::advance_with_state(connection, &head, &prepared.snapshot)?;
        self.applied = Some((stored, accepted));
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), CommitError>) {
        let Self { prepared, applied, reply, .. } = *self;
        let answer = outcome.map(|()| {
            let (records, accepted) = applied.expect("what is committed was applied");
            Committed::new(Commit { state: prepared.state, records, accepted })
        });
        // Whoever asked may have gone; the journal has the answer for the next one.
        let _ = reply.send(answer);
    }
}
