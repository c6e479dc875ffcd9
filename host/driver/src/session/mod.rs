//! Sessions with work: an actor each, that runs what is owed and takes ops in between. A session without work is a row in the
//! journal, not a task.

pub(crate) mod actor;
mod barrier;
mod forgetting;
pub(crate) mod history;
mod ops;
pub(crate) mod proposal;
pub(crate) mod required;
mod results;
pub(crate) mod table;

use std::collections::BTreeMap;

use mainstay_protocol::{
    Digest, Ordinal, PluginName, RouteName, SubmissionId,
    op::{Accepted, Op, Refusal},
};
use tokio::sync::oneshot;

use crate::errors::ForgetError;

/// What is sent to an actor.
#[derive(Debug)]
pub(crate) enum Request {
    /// An op of a client.
    Op(OpRequest),
    /// Gives the session another configuration.
    Configure {
        /// What changes.
        change: Reconfiguration,
        /// Where the last record's ordinal goes once it is durable.
        reply: oneshot::Sender<Result<Ordinal, Refusal>>,
    },
    /// Tries again if the session is parked: a plugin was swapped.
    Unpark,
    /// Answers once nothing is owed.
    Quiesced(oneshot::Sender<()>),
    /// Forgets the session, unless a turn runs.
    Forget(oneshot::Sender<Result<(), ForgetError>>),
}

/// What a session that exists is opened with: what is none stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reconfiguration {
    /// The route from here on.
    pub(crate) route: Option<RouteName>,
    /// Replaces the metadata.
    pub(crate) metadata: Option<String>,
    /// Replaces what the session requires.
    pub(crate) requires: Option<BTreeMap<PluginName, Digest>>,
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
