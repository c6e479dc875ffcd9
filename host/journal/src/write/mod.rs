//! Jobs of the writer: what each changes inside a transaction that others may share. A job is encoded before it reaches the
//! writer's thread, can be applied again after a rollback, and answers only after the commit.

mod blobs;
mod executions;
mod forget;
mod globals;
mod host;
mod items;
mod landed;
mod plugin_state;
mod prepare;
mod queue;
mod records;
mod rules;
mod sessions;
mod submissions;
mod transition;

use rusqlite::{Connection, ErrorCode};

pub(crate) use blobs::{PIECE, kept_checksum, piece_checksum, pieces};
pub(crate) use forget::{Forget, Leftovers, Sweep, is_forgotten};
pub(crate) use globals::{SetGlobal, global_checksum};
pub(crate) use host::{AppendHostRecords, GENERATION, is_sound_generation};
pub(crate) use items::{Large, item_checksum};
pub(crate) use plugin_state::value_checksum;
pub(crate) use prepare::{Prepared, state_checksum};
pub(crate) use queue::message_checksum;
pub(crate) use sessions::{SessionKey, session_checksum, tenant_checksum};
pub(crate) use submissions::op_checksum;
pub(crate) use transition::CommitTransition;

use crate::{CommitError, Priority, errors::code_of, feed::Gathering};

/// A unit of work of the writer: all of it is committed, or nothing.
pub(crate) trait Job: Send {
    /// By which jobs are dealt with fairly: a session, or nothing for the host's own.
    fn lane(&self) -> Option<&Lane>;

    /// Whether it is written even when room is short.
    fn priority(&self) -> Priority {
        Priority::Normal
    }

    /// Makes the job's changes in the open transaction and keeps its answer. After a rollback it is called again.
    fn apply(&mut self, connection: &Connection) -> Result<(), Failure>;

    /// Whether what `apply` did last is in the store, asked after a commit that reported an error. None when the job leaves nothing
    /// to tell by; it is then applied again, which must change nothing.
    fn landed(&self, _connection: &Connection) -> rusqlite::Result<Option<bool>> {
        Ok(None)
    }

    /// Adds what `apply` appended last to what the feed tells, once that is durable.
    fn tell(&self, _feed: &mut Gathering) {}

    /// What it has to do with the rows of forgotten sessions, which the writer removes piece by piece.
    fn leftovers(&self) -> Option<Leftovers> {
        None
    }

    /// Tells whoever waits. `Ok` means that what `apply` did last is durable.
    fn answer(self: Box<Self>, outcome: Result<(), CommitError>);
}

/// A session, as text: what the writer shares its groups among.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lane {
    pub(crate) tenant: mainstay_protocol::TenantId,
    pub(crate) session: mainstay_protocol::SessionId,
}

/// Why a job could not be applied.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The job itself is at fault: it is undone, and the group goes on.
    Refused(CommitError),
    /// The store is at fault: the group can't go on.
    Store(rusqlite::Error),
}

impl From<CommitError> for Failure {
    fn from(error: CommitError) -> Self {
        Self::Refused(error)
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        match code_of(&error) {
            Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig) => Self::Refused(CommitError::of(&error)),
            _ => Self::Store(error),
        }
    }
}

/// A rule that a transition breaks.
pub(crate) const fn integrity(rule: &'static str) -> CommitError {
    CommitError::Integrity { rule }
}
