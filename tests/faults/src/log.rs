//! What was done to the files of a folder, in order, with a test's marks in between.

use std::sync::Arc;

/// A file, from when it was made until it is gone. Another file under the same name has another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub(crate) u64);

/// Something that was done, and succeeded unless it says otherwise.
#[derive(Clone, Debug)]
pub enum Event {
    /// A file came into sight. What it held counts as durable; one without content may have been made just now, so its name
    /// does not.
    Opened {
        /// The file.
        file: FileId,
        /// Its name in the folder.
        name: String,
        /// What it held.
        content: Arc<[u8]>,
    },
    /// Bytes were written.
    Write {
        /// The file.
        file: FileId,
        /// Where, in bytes from the start.
        offset: u64,
        /// What.
        bytes: Arc<[u8]>,
    },
    /// A file was cut, or extended with zeros.
    Truncate {
        /// The file.
        file: FileId,
        /// To how many bytes.
        size: u64,
    },
    /// A file was synced.
    Sync {
        /// The file.
        file: FileId,
        /// The position in the log when it began: it covers nothing that was written later.
        covers: usize,
        /// Whether its folder was synced with it.
        folder: bool,
    },
    /// A sync failed: what it should have covered is no longer covered by any.
    SyncFailed {
        /// The file.
        file: FileId,
    },
    /// A sync was reported as done and was not: a fault.
    SyncSwallowed {
        /// The file.
        file: FileId,
    },
    /// All of a file was written once more as it was, and synced, by somebody else than SQLite.
    Renewed {
        /// The file.
        file: FileId,
    },
    /// A file was deleted.
    Delete {
        /// Its name in the folder.
        name: String,
        /// Whether the folder was synced with it.
        folder: bool,
    },
    /// A test's mark.
    Mark(String),
}

/// What was done, in order. A position is a number of events: at position 0 nothing has happened.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub(crate) events: Vec<Event>,
}

impl Log {
    /// How many events there are, which is also the last position.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The events.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The test's marks before a position, in order.
    pub fn marks(&self, before: usize) -> impl Iterator<Item = &str> {
        self.events[..before].iter().filter_map(|event| match event {
            Event::Mark(mark) => Some(mark.as_str()),
            _ => None,
        })
    }

    /// The positions just before and just after each sync, whether it was done, failed or swallowed, and each deletion.
    pub fn barriers(&self) -> Vec<usize> {
        let barrier = |event: &Event| {
            !matches!(event, Event::Write { .. } | Event::Opened { .. } | Event::Mark(_) | Event::Truncate { .. })
        };
        let at = self.events.iter().enumerate().filter(|(_, event)| barrier(event));
        let mut positions: Vec<_> = at.flat_map(|(index, _)| [index, index + 1]).collect();
        positions.dedup();
        positions
    }

    /// The part before a position.
    #[must_use]
    pub fn until(&self, position: usize) -> Self {
        Self { events: self.events[..position].to_vec() }
    }
}
