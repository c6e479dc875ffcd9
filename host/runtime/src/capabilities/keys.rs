//! Keys and quotas of durable state, the same for both scopes.

use super::{error, invalid, wit};
use crate::{invocation::StateUsage, limits::Limits};

/// The longest key, in bytes.
const LONGEST_KEY: usize = 256;
/// The most keys of one plugin in one scope.
const MOST_KEYS: u64 = 10_000;

/// A key has 1 to 256 bytes.
pub(super) fn check(key: &str) -> Result<(), wit::errors::Error> {
    if (1..=LONGEST_KEY).contains(&key.len()) {
        return Ok(());
    }
    Err(invalid(format!("a key has 1 to {LONGEST_KEY} bytes, not {}", key.len())))
}

/// What a write does to the usage: `old` and `new` are the sizes of the value before and after, if there is one.
pub(super) fn after(usage: StateUsage, key: &str, old: Option<usize>, new: Option<usize>) -> StateUsage {
    let size = |value: Option<usize>| value.map_or(0, |bytes| (bytes + key.len()) as u64);
    StateUsage {
        keys: (usage.keys + u64::from(new.is_some())).saturating_sub(u64::from(old.is_some())),
        bytes: (usage.bytes + size(new)).saturating_sub(size(old)),
    }
}

/// Refuses a usage past the quota. One that shrinks is never refused.
pub(super) fn within_quota(before: StateUsage, after: StateUsage, limits: &Limits) -> Result<(), wit::errors::Error> {
    let exceeded = |message| Err(error(wit::errors::ErrorKind::LimitExceeded, "", message));
    if after.bytes > before.bytes && after.bytes > limits.state.get() {
        return exceeded(format!("the plugin's state would have {} bytes; {} are allowed", after.bytes, limits.state));
    }
    if after.keys > before.keys && after.keys > MOST_KEYS {
        return exceeded(format!("the plugin's state would have {} keys; {MOST_KEYS} are allowed", after.keys));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_count_keys_and_values_and_let_state_shrink() {
        let limits = Limits { state: 10.try_into().unwrap(), ..Limits::default() };
        let base = StateUsage { keys: 1, bytes: 8 };
        let grown = after(base, "ab", None, Some(1));
        assert_eq!(grown, StateUsage { keys: 2, bytes: 11 });
        assert!(within_quota(base, grown, &limits).is_err());
        let full = StateUsage { keys: 3, bytes: 100 };
        let shrunk = after(full, "ab", Some(20), Some(3));
        assert_eq!(shrunk, StateUsage { keys: 3, bytes: 83 });
        assert!(within_quota(full, shrunk, &limits).is_ok());
        assert_eq!(after(full, "ab", Some(20), None), StateUsage { keys: 2, bytes: 78 });
    }

    #[test]
    fn keys_are_bounded() {
        assert!(check("a").is_ok());
        assert!(check("").is_err());
        assert!(check(&"k".repeat(257)).is_err());
    }
}
