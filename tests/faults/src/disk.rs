//! What is on the disk at a position of a log: what is durable, and what still may or may not be.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    Event, FileId, Image, Log, Variant,
    image::{self, Change},
};

/// A disk, as of a position in a log.
#[derive(Clone, Debug)]
pub struct Disk<'a> {
    log: &'a Log,
    position: usize,
    files: BTreeMap<FileId, File>,
    names: BTreeMap<&'a str, Name>,
}

/// A file's content.
#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    pub(crate) durable: Vec<u8>,
    /// Written before a sync that failed: no sync covers it any more.
    pub(crate) doubtful: Vec<Change>,
    /// Written since the last sync.
    pub(crate) pending: Vec<Change>,
}

/// What a name stands for: durably, and after each change since its folder was synced.
#[derive(Clone, Debug, Default)]
pub(crate) struct Name {
    pub(crate) durable: Option<FileId>,
    pub(crate) pending: Vec<Option<FileId>>,
}

impl<'a> Disk<'a> {
    /// A disk before anything was done.
    pub const fn new(log: &'a Log) -> Self {
        Self { log, position: 0, files: BTreeMap::new(), names: BTreeMap::new() }
    }

    /// Where it stands in the log.
    pub const fn position(&self) -> usize {
        self.position
    }

    /// Moves on to a later position; an earlier one is where it stands already.
    pub fn advance(&mut self, position: usize) {
        let log = self.log;
        for index in self.position..position.min(log.len()) {
            self.apply(index, &log.events()[index]);
            self.position = index + 1;
        }
    }

    /// What one loss of power may leave.
    pub fn crash(&self, variant: Variant) -> Image {
        image::crash(&self.files, &self.names, variant)
    }

    /// What a kill of the process leaves: all that was written, for the system goes on.
    pub fn kill(&self) -> Image {
        self.crash(Variant::AllUnsynced)
    }

    fn apply(&mut self, at: usize, event: &'a Event) {
        match event {
            Event::Opened { file, name, content } => self.open(*file, name, content),
            Event::Write { file, offset, bytes } => {
                self.change(*file, Change::Write { at, offset: *offset, bytes: bytes.clone() });
            }
            Event::Truncate { file, size } => self.change(*file, Change::Truncate { at, size: *size }),
            Event::Sync { file, covers, folder } => {
                self.files.entry(*file).or_default().sync(*covers);
                if *folder {
                    self.sync_folder();
                }
            }
            Event::SyncFailed { file } => self.files.entry(*file).or_default().lose_grip(),
            Event::Renewed { file } => self.files.entry(*file).or_default().renew(),
            Event::Delete { name, folder } => {
                self.names.entry(name).or_default().pending.push(None);
                if *folder {
                    self.sync_folder();
                }
            }
            Event::SyncSwallowed { .. } | Event::Mark(_) => {}
        }
    }

    fn open(&mut self, file: FileId, name: &'a str, content: &Arc<[u8]>) {
        self.files.insert(file, File { durable: content.to_vec(), ..File::default() });
        let name = self.names.entry(name).or_default();
        if content.is_empty() {
            name.pending.push(Some(file));
        } else {
            *name = Name { durable: Some(file), pending: Vec::new() };
        }
    }

    fn change(&mut self, file: FileId, change: Change) {
        self.files.entry(file).or_default().pending.push(change);
    }

    fn sync_folder(&mut self) {
        for name in self.names.values_mut() {
            if let Some(last) = name.pending.pop() {
                *name = Name { durable: last, pending: Vec::new() };
            }
        }
    }
}

impl File {
    /// What was written before the sync began is durable, and what it wrote over is no longer in doubt.
    fn sync(&mut self, covers: usize) {
        let (covered, later) = std::mem::take(&mut self.pending).into_iter().partition(|change| change.at() < covers);
        self.pending = later;
        for change in covered {
            self.doubtful = self.doubtful.drain(..).flat_map(|doubtful| doubtful.without(&change)).collect();
            change.apply(&mut self.durable);
        }
    }

    /// All that was ever written is durable.
    fn renew(&mut self) {
        for change in self.doubtful.drain(..).chain(self.pending.drain(..)) {
            change.apply(&mut self.durable);
        }
    }

    /// What was written since the last sync is not covered by the next one. The size of a file is not subject to that: it is
    /// kept apart from its pages.
    fn lose_grip(&mut self) {
        let is_write = |change: &Change| matches!(change, Change::Write { .. });
        let (writes, others) = std::mem::take(&mut self.pending).into_iter().partition(is_write);
        for change in Vec::from_iter::<Vec<Change>>(writes) {
            self.doubtful = self.doubtful.drain(..).flat_map(|doubtful| doubtful.without(&change)).collect();
            self.doubtful.push(change);
        }
        self.pending = others;
    }
}
