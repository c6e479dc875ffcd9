//! Sessions with work: an actor each, that runs what is owed and takes ops in between. A session without work is a row in the
//! journal, not a task.

pub(crate) mod actor;
mod barrier;
pub(crate) mod history;
mod ops;
pub(crate) mod proposal;
mod results;
pub(crate) mod table;

use mainstay_protocol::{
    Ordinal, RouteName, SubmissionId,
    op::{Accepted, Op, Refusal},
};
use tokio::sync::oneshot;

/// What is sent to an actor.
#[derive(Debug)]
pub(crate) enum Request {
    /// An op of a client.
    Op(OpRequest),
    /// Gives the session another route, or other metadata.
    Configure {
        /// The route from here on.
        route: Option<RouteName>,
        /// Replaces the metadata.
        metadata: Option<String>,
        /// Where the last record's ordinal goes once it is durable.
        reply: oneshot::Sender<Result<Ordinal, Refusal>>,
    },
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
