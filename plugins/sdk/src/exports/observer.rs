//! The export `observer`.

use crate::types::Error;

pub use crate::bindings::observer::exports::mainstay::plugin::observer::Event;

/// Sees what happened, after it is durable: at least once, in order within each session.
pub trait Observer {
    /// Takes a batch of events, oldest first. After an error the same events come again later.
    fn observe(events: Vec<Event>) -> Result<(), Error>;
}

serve!(observer, Observer {
    fn observe(events: Vec<Event>) -> Result<(), Error>;
});
