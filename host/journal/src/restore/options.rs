//! How to restore.

use std::fmt;

use mainstay_protocol::Timestamp;

use crate::Probe;

/// How to restore.
#[derive(Clone)]
#[non_exhaustive]
pub struct RestoreOptions {
    /// Whether a journal that is there is moved aside. Otherwise the folder has to be new or empty.
    pub replace: bool,
    /// When this is.
    pub now: Timestamp,
    /// Called at named points: `restore.staged`, `restore.decided`, `restore.aside`, `restore.placed`. Tests look at the folder there.
    pub probe: Option<Probe>,
}

impl RestoreOptions {
    /// Into a new or empty folder.
    pub fn new(now: Timestamp) -> Self {
        Self { replace: false, now, probe: None }
    }

    /// The same, and a journal that is there is moved aside.
    #[must_use]
    pub fn replacing(mut self, replace: bool) -> Self {
        self.replace = replace;
        self
    }

    pub(super) fn pass(&self, point: &'static str) {
        if let Some(probe) = &self.probe {
            probe(point);
        }
    }
}

impl fmt::Debug for RestoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { replace, now, probe } = self;
        let mut debug = f.debug_struct("RestoreOptions");
        debug.field("replace", replace).field("now", now).field("probe", &probe.as_ref().map(|_| "..")).finish()
    }
}
