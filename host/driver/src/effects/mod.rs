//! Effects: what a session owes, carried out. Decisions of hooks run on a proposal; a model call and a run of calls take a
//! `Committed` effect, so that they can't run before their barrier. Each effect owns what it needs: dropping its stream
//! drops the stores of its calls, which is how it is called off.

mod assemble;
mod call_model;
mod check_stop;
mod decide_calls;
mod hooks;
mod output_bounds;
mod refuse_turn;
mod report;
mod run_calls;
mod start_turn;
mod whole_output;

use std::sync::Arc;

use futures::stream::BoxStream;
use mainstay_protocol::{SessionId, StepIndex, TurnId};
use mainstay_runtime::{Invocation, Snapshot};
use mainstay_session::{Command, FinishedCall, State};

pub(crate) use call_model::call_model;
pub(crate) use check_stop::check_stop;
pub(crate) use decide_calls::decide_calls;
pub(crate) use refuse_turn::refuse_turn;
pub(crate) use run_calls::run_calls;
pub(crate) use start_turn::start_turn;

use crate::{
    blob_reader::SessionBlobReader,
    session::{history::View, proposal::Staged},
    shared::Shared,
    state_reader::SessionStateReader,
};

/// What comes out of an effect.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Commands to decide, with what plugins staged for them.
    Decided(Vec<Command>, Staged),
    /// A call of the run ended.
    Ended(Box<FinishedCall>, Staged),
}

/// A running effect.
pub(crate) type Work = BoxStream<'static, Outcome>;

/// What an effect sees of its session.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) shared: Arc<Shared>,
    pub(crate) session: SessionId,
    pub(crate) state: Arc<State>,
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) view: View,
    pub(crate) staged: Staged,
}

impl Context {
    /// The invocation of a plugin: its place, and what the host serves to it.
    pub(crate) fn invocation(&self, place: &CallPlace<'_>, plugin: &mainstay_protocol::PluginName) -> Invocation {
        let tenant = &self.shared.tenant;
        let reader = SessionStateReader {
            journal: Arc::clone(&self.shared.journal),
            tenant: tenant.clone(),
            session: self.session.clone(),
            plugin: plugin.clone(),
        };
        let blobs = SessionBlobReader {
            journal: Arc::clone(&self.shared.journal),
            tenant: tenant.clone(),
            session: self.session.clone(),
        };
        Invocation {
            session: Some(self.session.clone()),
            turn: place.turn.cloned(),
            step: place.step,
            metadata: self.state.metadata().into(),
            labels: self.state.labels().0.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            route: self.state.route().map(ToString::to_string),
            transcript: Some(Arc::new(self.view.without_private_parts())),
            session_state: Some(Arc::new(reader)),
            blobs: Some(Arc::new(blobs)),
            staged: self.staged.get(plugin).cloned().unwrap_or_default(),
            snapshot: Some(Arc::clone(&self.snapshot)),
            ..Invocation::outside_sessions(tenant.clone(), format!("{}/{}", self.session, place.name))
        }
    }
}

/// Where in its session a call belongs.
pub(crate) struct CallPlace<'a> {
    /// Names the piece of work inside the session: the same when it runs again after a crash.
    pub(crate) name: String,
    pub(crate) turn: Option<&'a TurnId>,
    pub(crate) step: Option<StepIndex>,
}
