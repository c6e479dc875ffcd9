//! The session's history, read only and lazily. Needs a grant.

use super::host::transcript as host;
use crate::types::{Error, Item};

/// The history as it stood when the call began. Positions count from 0.
#[derive(Debug)]
pub struct View(host::View);

/// Opens the history.
///
/// # Errors
/// `denied` without a grant, `not-found` outside a session.
pub fn open() -> Result<View, Error> {
    host::open().map(View)
}

impl View {
    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items from position `start`, at most `max` of them and at most about 1 MiB in all.
    #[must_use]
    pub fn read(&self, start: u32, max: u32) -> Vec<Item> {
        self.0.read(start, max)
    }

    /// The same as the UTF-8 text of one JSON array, faster for many items.
    #[must_use]
    pub fn read_json(&self, start: u32, max: u32) -> Vec<u8> {
        self.0.read_json(start, max)
    }

    /// The last items, at most `max` of them and at most about 1 MiB in all, oldest first.
    #[must_use]
    pub fn tail(&self, max: u32) -> Vec<Item> {
        self.0.tail(max)
    }

    /// All items, oldest first, in as many reads as it takes.
    #[must_use]
    pub fn all(&self) -> Vec<Item> {
        let total = self.len();
        let mut items = Vec::with_capacity(total as usize);
        let mut next = 0;
        while next < total {
            let page = self.read(next, total - next);
            if page.is_empty() {
                break;
            }
            next += u32::try_from(page.len()).unwrap_or(u32::MAX);
            items.extend(page);
        }
        items
    }
}
