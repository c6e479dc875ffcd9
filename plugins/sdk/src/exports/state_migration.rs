//! The export `state-migration`.

use crate::types::Error;

/// Carries durable state from one build's layout to another's.
pub trait StateMigration {
    /// The version of the layout that this build reads and writes.
    fn schema_version() -> u32;

    /// Rewrites state in place: that of the session in [`context`](crate::context), or else the plugin-wide state.
    fn migrate_state(from_version: u32, to_version: u32) -> Result<(), Error>;
}

serve!(state_migration, StateMigration {
    fn schema_version() -> u32;
    fn migrate_state(from_version: u32, to_version: u32) -> Result<(), Error>;
});
