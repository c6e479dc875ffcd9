//! Live news of a long call, for people who watch.

use super::host::progress as host;

/// Says what is going on and, if known, how many units of how many are done. Never fails.
pub fn report(text: &str, done: Option<u32>, total: Option<u32>) {
    host::report(text, done, total);
}
