//! What the shim asks before and tells after each operation: faults, counts and the log, behind one lock.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::{Class, Effect, Event, Fault, FileId, Log, Role, fault::Armed};

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) counts: BTreeMap<(Class, Role), u64>,
    armed: Vec<Armed>,
    pub(crate) struck: u64,
    pub(crate) skip_syncs: bool,
    pub(crate) skip_sleeps: bool,
    /// None while nothing is recorded.
    log: Option<Log>,
    names: HashMap<String, FileId>,
    files: u64,
}

impl State {
    /// Counts an operation; what happens instead of it, if anything does.
    pub(crate) fn begin(&mut self, class: Class, role: Role) -> Option<Effect> {
        *self.counts.entry((class, role)).or_default() += 1;
        let mut effect = None;
        for armed in &mut self.armed {
            effect = armed.strike(class, role).or(effect);
        }
        self.struck += u64::from(effect.is_some());
        effect
    }

    pub(crate) fn inject(&mut self, fault: Fault) {
        self.armed.push(Armed::new(fault));
    }

    pub(crate) fn heal(&mut self) {
        self.armed.clear();
    }

    /// Starts a new log, with what is said to have happened before.
    pub(crate) fn record(&mut self, before: Log) {
        self.names.clear();
        for event in &before.events {
            match event {
                Event::Opened { file, name, .. } => {
                    self.files = self.files.max(file.0 + 1);
                    self.names.insert(name.clone(), *file);
                }
                Event::Delete { name, .. } => {
                    self.names.remove(name);
                }
                _ => {}
            }
        }
        self.log = Some(before);
    }

    /// The log until now.
    pub(crate) fn log(&self) -> Log {
        self.log.clone().unwrap_or_default()
    }

    /// The log until now; nothing is recorded any more.
    pub(crate) fn take_log(&mut self) -> Log {
        self.log.take().unwrap_or_default()
    }

    /// The number of a file that is opened; none when it comes into sight with this, and is to be told with its content.
    pub(crate) fn known(&self, name: &str) -> Option<FileId> {
        self.names.get(name).copied()
    }

    pub(crate) fn opened(&mut self, name: String, content: Arc<[u8]>) -> FileId {
        let file = FileId(self.files);
        self.files += 1;
        self.names.insert(name.clone(), file);
        self.tell(Event::Opened { file, name, content });
        file
    }

    pub(crate) fn deleted(&mut self, name: String, folder: bool) {
        self.names.remove(&name);
        self.tell(Event::Delete { name, folder });
    }

    pub(crate) fn is_recording(&self) -> bool {
        self.log.is_some()
    }

    pub(crate) fn tell(&mut self, event: Event) {
        if let Some(log) = &mut self.log {
            log.events.push(event);
        }
    }

    /// The position of the log.
    pub(crate) fn position(&self) -> usize {
        self.log.as_ref().map_or(0, Log::len)
    }
}
