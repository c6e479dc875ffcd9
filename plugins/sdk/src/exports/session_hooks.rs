//! The export `session-hooks`.

use crate::types::{Grounds, Interruption};

pub use crate::bindings::session_hooks::exports::mainstay::plugin::session_hooks::{
    Opening, SessionChange, SessionDecision,
};

/// Middleware that decides when a session opens.
pub trait SessionHooks {
    /// Runs each time the session opens.
    fn open_session(opening: Opening) -> Result<SessionDecision, Interruption>;
}

serve!(session_hooks, SessionHooks {
    fn open_session(opening: Opening) -> Result<SessionDecision, Interruption>;
});

impl SessionDecision {
    /// Open the session as it is.
    #[must_use]
    pub fn unchanged() -> Self {
        Self::Accept(Vec::new())
    }

    /// Don't open it.
    pub fn refuse_because(code: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Refuse(Grounds::new(code, reason))
    }
}
