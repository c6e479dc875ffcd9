//! Writes of a call that become durable with its barrier, or not at all.

use std::collections::BTreeMap;

/// A staged write to `plugin-state`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedPut {
    /// The version that the value had when the call first wrote it; none when there was none. The barrier compares it.
    pub expected: Option<u64>,
    /// The version that it has now.
    pub version: u64,
    /// The value.
    pub value: Vec<u8>,
}

/// What a call wrote, in final form: the last write to a key counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagedState {
    /// `session-state`: the new value of a key, or none where it is removed.
    pub session: BTreeMap<String, Option<Vec<u8>>>,
    /// `plugin-state`: values.
    pub plugin: BTreeMap<String, StagedPut>,
    /// `plugin-state`: what is added to counters.
    pub counters: BTreeMap<String, u64>,
}

impl StagedState {
    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.session.is_empty() && self.plugin.is_empty() && self.counters.is_empty()
    }
}
