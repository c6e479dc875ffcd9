//! What one call may use at most. No limit can be switched off: the types have no zero and no "unlimited".

use std::{
    num::{NonZeroU32, NonZeroU64},
    time::Duration,
};

/// The limits of one plugin. The names are those of `limits = { ... }` in the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all linear memories together.
    pub memory: NonZeroU64,
    /// Wall-clock milliseconds of one call, instantiation and awaited host calls included; for a model adapter, of one
    /// whole completion.
    pub call_ms: NonZeroU64,
    /// Elements of all tables together.
    pub table_elements: NonZeroU32,
    /// Core instances of the component; its memories and its tables are bounded by the same number.
    pub instances: NonZeroU32,
    /// Resource handles that the guest may hold at once.
    pub handles: NonZeroU32,
    /// Bytes that pass from the guest to the host in one call of either side.
    pub hostcall: NonZeroU64,
    /// Bytes of a result; for a model adapter, of one whole completion.
    pub output: NonZeroU64,
    /// Bytes of log lines.
    pub log: NonZeroU64,
    /// Bytes of durable state, keys included, in one session, and again across the sessions of one tenant.
    pub state: NonZeroU64,
}

impl Limits {
    /// The time allowed for one call.
    pub const fn call(&self) -> Duration {
        Duration::from_millis(self.call_ms.get())
    }

    /// A stable text: equal limits have equal texts.
    pub(crate) fn canonical(&self) -> String {
        format!("{self:?}")
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: mib(64),
            call_ms: large(60_000),
            table_elements: small(20_000),
            instances: small(32),
            handles: small(1024),
            hostcall: mib(8),
            output: mib(16),
            log: large(256 << 10),
            state: mib(16),
        }
    }
}

const fn mib(count: u64) -> NonZeroU64 {
    large(count << 20)
}

const fn large(value: u64) -> NonZeroU64 {
    NonZeroU64::MIN.saturating_add(value - 1)
}

const fn small(value: u32) -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(value - 1)
}

/// A byte count as an index type; more than the platform can address counts as all of it.
pub(crate) fn to_usize(bytes: NonZeroU64) -> usize {
    usize::try_from(bytes.get()).unwrap_or(usize::MAX)
}
