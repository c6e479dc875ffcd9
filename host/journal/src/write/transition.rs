//! The job that commits a transition: compare the head, append everything, swap the head.

use mainstay_protocol::{Ordinal, op::Accepted, record::StoredRecord};
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::{
    Failure, Job, Lane, Prepared, blobs, executions, forget, items,
    landed::Mark,
    plugin_state, queue, records, rules,
    sessions::{self, Head},
    submissions,
};
use crate::{
    Commit, CommitError, Committed, Priority,
    feed::{Gathering, WORKSPACE},
};

type Answer = Result<Committed<Commit>, CommitError>;

pub(crate) struct CommitTransition {
    prepared: Prepared,
    applied: Option<Applied>,
    reply: oneshot::Sender<Answer>,
    /// A test plants a state: whatever head the session has is taken as the expected one, and rules don't count.
    compare: bool,
}

/// What the transition did when it was applied last.
struct Applied {
    records: Vec<StoredRecord>,
    accepted: Option<Accepted>,
    mark: Mark,
}

impl CommitTransition {
    pub(crate) fn new(prepared: Prepared, reply: oneshot::Sender<Answer>) -> Self {
        Self { prepared, applied: None, reply, compare: true }
    }

    pub(crate) fn without_comparison(prepared: Prepared, reply: oneshot::Sender<Answer>) -> Self {
        Self { prepared, applied: None, reply, compare: false }
    }

    /// The session's head, when it is the one that the transition was decided at. A transition that answers an op which the
    /// session has accepted already is a repetition, wherever it was decided.
    fn compare(&self, connection: &Connection) -> Result<Head, Failure> {
        let (lane, expected) = (&self.prepared.lane, self.prepared.expected);
        let found = sessions::find(connection, lane)?;
        if let (Some(head), Some(submission)) = (&found, &self.prepared.submission) {
            submissions::refuse_known(connection, head.key, &submission.submission)?;
        }
        if found.is_none() && forget::is_forgotten(connection, lane)? {
            return Err(CommitError::Gone.into());
        }
        let at = found.as_ref().map_or(Ordinal(0), |head| head.ordinal);
        if self.compare && at != expected {
            return Err(CommitError::Conflict { expected, found: at }.into());
        }
        match found {
            Some(head) => Ok(head),
            None => Ok(sessions::create(connection, lane, self.prepared.records[0].at)?),
        }
    }
}

impl Job for CommitTransition {
    fn lane(&self) -> Option<&Lane> {
        Some(&self.prepared.lane)
    }

    fn priority(&self) -> Priority {
        self.prepared.priority
    }

    fn apply(&mut self, connection: &Connection) -> Result<(), Failure> {
        let mut head = self.compare(connection)?;
        let (key, prepared) = (head.key, &self.prepared);
        if self.compare {
            rules::check(&head, prepared)?;
        }
        let records = records::append(connection, &prepared.lane, &mut head, &prepared.records)?;
        executions::follow(connection, &head, &records)?;
        items::append(connection, key, &prepared.items)?;
        queue::put(connection, key, &prepared.queued)?;
        queue::take(connection, key, &prepared.unqueued)?;
        blobs::keep(connection, key, &prepared.blobs)?;
        plugin_state::store(connection, key, head.ordinal, &prepared.plugin_state)?;
        let accepted = match &prepared.submission {
            Some(submission) => {
                Some(submissions::store(connection, &mut head, submission, &records[submission.record])?)
            }
            None => None,
        };
        sessions::store_facts(connection, key, &prepared.facts)?;
        sessions::advance_with_state(connection, &head, &prepared.snapshot)?;
        self.applied = Some(Applied { records, accepted, mark: Mark::of(&head) });
        Ok(())
    }

    fn landed(&self, connection: &Connection) -> rusqlite::Result<Option<bool>> {
        self.applied.as_ref().map_or(Ok(None), |applied| applied.mark.is_in(connection, &self.prepared.lane))
    }

    fn tell(&self, feed: &mut Gathering) {
        if let Some(Applied { records, .. }) = &self.applied {
            let workspace = self.prepared.state.labels().0.get(WORKSPACE);
            feed.take(records::sizes(records, &self.prepared.records), workspace.map(String::as_str));
        }
    }

    fn answer(self: Box<Self>, outcome: Result<(), CommitError>) {
        let Self { prepared, applied, reply, .. } = *self;
        let answer = outcome.map(|()| {
            let Applied { records, accepted, .. } = applied.expect("what is committed was applied");
            Committed::new(Commit { state: prepared.state, records, accepted })
        });
        // Whoever asked may have gone; the journal has the answer for the next one.
        let _ = reply.send(answer);
    }
}
