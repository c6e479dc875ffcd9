//! What all sessions of a host share.

use std::{sync::Arc, time::Duration};

use mainstay_journal::Journal;
use mainstay_protocol::TenantId;
use mainstay_runtime::Registry;

use crate::{failpoint::Failpoint, hub::Hub, routes::Routes};

pub(crate) struct Shared {
    pub(crate) tenant: TenantId,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) registry: Registry,
    pub(crate) routes: Routes,
    pub(crate) hub: Hub,
    pub(crate) failpoint: Option<Arc<Failpoint>>,
    /// How long an actor without work stays.
    pub(crate) linger: Duration,
    /// How long gates may hold up a model's output before it commits without them.
    pub(crate) gate_bound: Option<Duration>,
    /// Whether a step that was open when the host ended is opened again, instead of ending its turn.
    pub(crate) retry_open_step: bool,
}

impl Shared {
    /// Passes a named point at which tests kill the process.
    pub(crate) fn pass(&self, name: &str) {
        if let Some(failpoint) = &self.failpoint {
            failpoint.pass(name);
        }
    }

    /// Passes the points of several barriers: `B3.before`, `B4.before`.
    pub(crate) fn pass_barriers(&self, barriers: &[&str], side: &str) {
        if self.failpoint.is_some() {
            barriers.iter().for_each(|barrier| self.pass(&format!("{barrier}.{side}")));
        }
    }
}
