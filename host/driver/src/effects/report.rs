//! What a plugin call leaves besides its result, told to the operator: how many lines of its log were dropped, and why it failed
//! with the end of its standard error. The lines themselves are in the host's log already, written while the call ran.

use mainstay_protocol::{SessionId, failure::CallFailure};
use mainstay_runtime::{Called, Generation};

/// Bytes of a guest's standard error that a fault or a line of the log keeps.
const MAX_STDERR: usize = 4 << 10;

/// Tells the operator about a call that has ended. Everything that a guest wrote is escaped.
pub(super) fn report<T>(session: &SessionId, generation: &Generation, called: &Called<T>) {
    let plugin = generation.name();
    if called.logs.dropped > 0 {
        let dropped = called.logs.dropped;
        tracing::warn!(target: "mainstay::plugin", %plugin, %session, dropped, "lines did not fit into `limits.log`");
    }
    if let Err(failure) = &called.result
        && is_fault(failure)
    {
        let (code, why, stderr) = (failure.code(), failure.to_string(), tail(&called.stderr_tail));
        tracing::warn!(target: "mainstay::plugin", %plugin, %session, code, ?why, ?stderr, "a call failed");
    }
}

/// Whether the plugin or the host broke, which is more than an error that a guest returned or a call that was never made.
pub(super) const fn is_fault(failure: &CallFailure) -> bool {
    match failure {
        CallFailure::Trap { .. }
        | CallFailure::Timeout { .. }
        | CallFailure::LimitExceeded { .. }
        | CallFailure::BadOutput { .. }
        | CallFailure::Host { .. } => true,
        CallFailure::Guest(_) | CallFailure::Refused { .. } | CallFailure::Busy { .. } => false,
    }
}

/// The end of a guest's standard error, bounded.
pub(super) fn tail(stderr: &str) -> String {
    let start = stderr.len().saturating_sub(MAX_STDERR);
    stderr[stderr.ceil_char_boundary(start)..].to_owned()
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::failure::{ErrorKind, PluginError};

    use super::*;

    #[test]
    fn a_tail_is_bounded_at_a_character() {
        assert_eq!(tail("panicked"), "panicked");
        let long = format!("x{}", "\u{fffd}".repeat(MAX_STDERR));
        let kept = tail(&long);
        assert!(kept.len() <= MAX_STDERR && kept.len() > MAX_STDERR - 3 && long.ends_with(&kept));
    }

    #[test]
    fn what_a_guest_says_on_purpose_is_no_fault() {
        let guest = CallFailure::Guest(PluginError::new(ErrorKind::NotFound, "", "no such file"));
        assert!(!is_fault(&guest) && !is_fault(&CallFailure::Busy { waited_ms: 1 }));
        assert!(is_fault(&CallFailure::Trap { message: String::new() }));
        assert!(is_fault(&CallFailure::Timeout { allowed_ms: 1 }));
    }
}
