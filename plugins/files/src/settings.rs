//! The configuration: limits that every operator can lower or raise within the schema.

use mainstay_sdk::prelude::*;

/// The limits, all of them finite.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) root: String,
    pub(crate) max_read_bytes: usize,
    pub(crate) max_write_bytes: usize,
    pub(crate) max_file_bytes: u64,
    pub(crate) max_results: usize,
    pub(crate) max_depth: u32,
    pub(crate) skip: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            root: "/workspace".to_owned(),
            // Below the size at which the host cuts the output of a tool in the middle.
            max_read_bytes: 32_000,
            max_write_bytes: 2 << 20,
            max_file_bytes: 4 << 20,
            max_results: 500,
            max_depth: 24,
            skip: vec![".git".to_owned()],
        }
    }
}

impl Settings {
    pub(crate) fn load() -> Result<Self, Error> {
        config()
    }
}

/// Time that a walk leaves unused, so that what was found so far still gets back.
const RESERVE_MS: u32 = 500;

/// Whether the host is about to end this call.
pub(crate) fn out_of_time() -> bool {
    context::remaining_ms() < RESERVE_MS
}
