//! This plugin's durable values across all sessions of one tenant: counters, and versioned values. Needs a grant.

use super::host::plugin_state as host;
use crate::types::Error;

pub use crate::bindings::imports::mainstay::plugin::plugin_state::Entry;

/// The value with its version; none when there is none.
///
/// # Errors
/// `invalid-argument` for a bad key, `denied` without a grant.
pub fn get(key: &str) -> Result<Option<Entry>, Error> {
    host::get(key)
}

/// Stores a value if its version still is `expected` (none: if there is no value), and returns the new version.
///
/// # Errors
/// `conflict` when the version differs, and those of [`get`].
pub fn put_if_version(key: &str, value: &[u8], expected: Option<u64>) -> Result<u64, Error> {
    host::put_if_version(key, value, expected)
}

/// Adds to a counter that starts at 0 and returns the sum as this call sees it. Adding 0 reads.
///
/// # Errors
/// Those of [`get`].
pub fn add(key: &str, amount: u64) -> Result<u64, Error> {
    host::add(key, amount)
}
