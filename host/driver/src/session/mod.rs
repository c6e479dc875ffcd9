//! Sessions with work: an actor each, that runs what is owed and takes ops in between. A session without work is a row in the
//! journal, not a task.

pub(crate) mod actor;
mod barrier;
pub(crate) mod history;
mod ops;
pub(crate) mod proposal;
pub(crate) mod table;

use mainstay_protocol::{
    SubmissionId,
    op::{Accepted, Op, Refusal},
};
use tokio::sync::oneshot;

/// What is sent to an actor.
#[derive(Debug)]
pub(crate) enum Request {
    /// An op of a client.
    Op(OpRequest),
    /// Tries again if the session is parked: a plugin was swapped.
    Unpark,
    /// Answers once nothing is owed.
    Quiesced(oneshot::Sender<()>),
}

/// An op on its way.
#[derive(Debug)]
pub(crate) struct OpRequest {
    /// Its id.
    pub(crate) submission: SubmissionId,
    /// Whether the client chose the id: then it may have come before.
    pub(crate) chosen: bool,
    /// What is asked.
    pub(crate) op: Op,
    /// Where the answer goes.
    pub(crate) reply: oneshot::Sender<Result<Accepted, Refusal>>,
}
