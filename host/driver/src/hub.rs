//! News for those who watch: one bounded channel a watched session. A watcher that is too slow misses news and reads the
//! journal instead; it never slows a session down.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use mainstay_protocol::{SessionId, content::Item, news::News};
use tokio::sync::broadcast;

/// News that a watcher may be behind before it misses some.
const BACKLOG: usize = 1_024;

/// The channels of watched sessions. A session that nobody watches has none.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    channels: Mutex<HashMap<SessionId, broadcast::Sender<News>>>,
}

impl Hub {
    /// Watches a session from now on.
    pub(crate) fn follow(&self, session: &SessionId) -> broadcast::Receiver<News> {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.retain(|_, sender| sender.receiver_count() > 0);
        channels.entry(session.clone()).or_insert_with(|| broadcast::channel(BACKLOG).0).subscribe()
    }

    /// Ends the news of a session that is no more.
    pub(crate) fn close(&self, session: &SessionId) {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
    }

    /// Tells those who watch. `make` runs only when there are any.
    pub(crate) fn tell<I: IntoIterator<Item = News>>(&self, session: &SessionId, make: impl FnOnce() -> I) {
        let sender = {
            let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
            channels.get(session).cloned()
        };
        if let Some(sender) = sender.filter(|sender| sender.receiver_count() > 0) {
            for news in make() {
                // Nobody is left to hear it: not an error.
                let _ = sender.send(news);
            }
        }
    }
}

/// An item as outsiders see it: without its private part.
pub(crate) fn public_item(item: &Item) -> Arc<Item> {
    Arc::new(Item { private_part: None, ..item.clone() })
}
