//! A test's own file system, and what the test tells it.

use std::sync::MutexGuard;

use crate::{
    Class, Event, Fault, Log, Role,
    shim::{self, Shared},
    state::State,
};

/// A file system for SQLite, registered under a name of its own for as long as the process lives. A copy is the same one.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    name: &'static str,
    shared: &'static Shared,
}

impl Faults {
    /// Registers a new one, without faults and without a recording.
    ///
    /// # Panics
    /// SQLite has no file system of the platform, or takes no other.
    pub fn register() -> Self {
        let (name, shared) = shim::register();
        Self { name, shared }
    }

    /// Its name among SQLite's file systems.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Lets something fail, beside what was injected before. It counts operations from now on.
    pub fn inject(&self, fault: Fault) {
        self.state().inject(fault);
    }

    /// Takes all faults out.
    pub fn heal(&self) {
        self.state().heal();
    }

    /// How many operations a fault has struck.
    pub fn struck(&self) -> u64 {
        self.state().struck
    }

    /// How many operations of a class there were, on files of one role or of any. Those that failed count too.
    pub fn count(&self, class: Class, role: Option<Role>) -> u64 {
        let state = self.state();
        let counts = state.counts.iter().filter(|((of, on), _)| *of == class && role.is_none_or(|role| role == *on));
        counts.map(|(_, count)| count).sum()
    }

    /// Whether syncs are counted, recorded and struck by faults as always, and cost nothing: the platform is not asked.
    pub fn skip_syncs(&self, skip: bool) {
        self.state().skip_syncs = skip;
    }

    /// Whether SQLite's waits for locks pass at once. A busy timeout of seconds is then a few dozen tries.
    pub fn skip_sleeps(&self, skip: bool) {
        self.state().skip_sleeps = skip;
    }

    /// Starts a recording in place of the one before, if there was one. Files that come into sight later count as durable as
    /// they are then.
    pub fn record(&self) {
        self.state().record(Log::default());
    }

    /// Starts a recording that goes on from another: its files are in this one's folder, as a process left them that was
    /// killed at its end.
    pub fn record_after(&self, before: Log) {
        self.state().record(before);
    }

    /// Tells the recording that somebody wrote all of a file once more as it was, past SQLite, and synced it.
    pub fn renewed(&self, name: &str) {
        let mut state = self.state();
        if let Some(file) = state.known(name) {
            state.tell(Event::Renewed { file });
        }
    }

    /// Puts a mark into the recording.
    pub fn mark(&self, mark: impl Into<String>) {
        self.state().tell(Event::Mark(mark.into()));
    }

    /// The recording until now.
    pub fn log(&self) -> Log {
        self.state().log()
    }

    /// Ends the recording.
    pub fn take_log(&self) -> Log {
        self.state().take_log()
    }

    fn state(&self) -> MutexGuard<'static, State> {
        self.shared.state()
    }
}
