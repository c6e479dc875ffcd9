//! The export `self-check`.

use crate::types::Error;

/// Lets a plugin refuse to be activated.
pub trait SelfCheck {
    /// Runs before activation with the configuration and no session. Returns warnings for the operator; an error
    /// refuses the activation.
    fn check_self() -> Result<Vec<String>, Error>;
}

serve!(self_check, SelfCheck {
    fn check_self() -> Result<Vec<String>, Error>;
});
