//! Why a call gave no result: trap, timeout, limit, refusal, guest error, bad output, busy and host failure are told apart
//! here and nowhere else.

use mainstay_protocol::failure::{CallFailure, Limit};
use wasmtime::{PoolConcurrencyLimitError, Trap, WasmBacktrace, component::ResourceTableError};
use wasmtime_wasi::I32Exit;

use crate::{limiter::LimitHit, limits::Limits};

/// Why the host itself ended a call from inside it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stop {
    /// The deadline passed while the guest was running.
    #[error("the deadline has passed")]
    TimedOut,
    /// A host function could not do its work.
    #[error("{0}")]
    Host(String),
}

/// Marks errors of an instantiation: what is no trap and no limit there is the host's own failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plugin can not be instantiated")]
pub(crate) struct Instantiating;

/// What a bound on a message's text keeps of it.
const LONGEST_MESSAGE: usize = 2000;

/// Tells what an error of a call means. `hit` is the limit that the store remembers.
pub(crate) fn classify(error: &wasmtime::Error, hit: Option<LimitHit>, limits: &Limits) -> CallFailure {
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return match stop {
            Stop::TimedOut => timeout(limits),
            Stop::Host(message) => CallFailure::Host { message: message.clone() },
        };
    }
    if let Some(hit) = hit.or_else(|| error.downcast_ref().copied()).or_else(|| limit_of(error, limits)) {
        return exceeded(hit);
    }
    if let Some(I32Exit(code)) = error.downcast_ref() {
        return CallFailure::Trap { message: format!("the guest called exit({code})") };
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return CallFailure::Busy { waited_ms: 0 };
    }
    let message = shortened(&error.root_cause().to_string());
    // An error without a trap or a frame of the guest comes from lifting its result: the bytes were no value of the type.
    if error.is::<Trap>() || error.is::<WasmBacktrace>() {
        CallFailure::Trap { message }
    } else if error.is::<Instantiating>() {
        CallFailure::Host { message }
    } else {
        CallFailure::BadOutput { reason: message }
    }
}

/// The failure of a call that took too long.
pub(crate) fn timeout(limits: &Limits) -> CallFailure {
    CallFailure::Timeout { allowed_ms: limits.call_ms.get() }
}

/// The failure of a call that ran into a limit.
pub(crate) fn exceeded(LimitHit { limit, allowed }: LimitHit) -> CallFailure {
    CallFailure::LimitExceeded { limit, allowed }
}

/// The failure of a call that the host does not make.
pub(crate) fn refused(reason: impl Into<String>) -> CallFailure {
    CallFailure::Refused { reason: reason.into() }
}

/// The failure of a call whose result breaks the contract.
pub(crate) fn bad_output(reason: impl Into<String>) -> CallFailure {
    CallFailure::BadOutput { reason: shortened(&reason.into()) }
}

/// Limits that the engine counts itself and reports as errors, some of them without a type.
fn limit_of(error: &wasmtime::Error, limits: &Limits) -> Option<LimitHit> {
    let handles = LimitHit { limit: Limit::Handles, allowed: limits.handles.get().into() };
    if matches!(error.downcast_ref(), Some(ResourceTableError::Full)) {
        return Some(handles);
    }
    let cause = error.root_cause().to_string();
    if cause.contains("store handle limit exceeded") {
        return Some(handles);
    }
    if cause.contains("fuel allocated for hostcalls") {
        return Some(LimitHit { limit: Limit::Hostcall, allowed: limits.hostcall.get() });
    }
    let pieces = cause.contains("resource limit exceeded:") && cause.contains("count too high");
    pieces.then_some(LimitHit { limit: Limit::Instances, allowed: limits.instances.get().into() })
}

fn shortened(text: &str) -> String {
    let end = text.floor_char_boundary(LONGEST_MESSAGE);
    if end == text.len() { text.to_owned() } else { format!("{}...", &text[..end]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(error: impl Into<wasmtime::Error>, hit: Option<LimitHit>) -> CallFailure {
        classify(&error.into(), hit, &Limits::default())
    }

    #[test]
    fn each_cause_has_its_own_outcome() {
        let memory = LimitHit { limit: Limit::Memory, allowed: 5 };
        assert_eq!(of(Stop::TimedOut, None), CallFailure::Timeout { allowed_ms: 60_000 });
        assert_eq!(of(Stop::Host("disk".into()), None).code(), "host");
        assert_eq!(of(memory, None), CallFailure::LimitExceeded { limit: Limit::Memory, allowed: 5 });
        assert_eq!(of(Trap::UnreachableCodeReached, None).code(), "trap");
        let exit = of(wasmtime::format_err!(I32Exit(3)), None);
        assert_eq!(exit, CallFailure::Trap { message: "the guest called exit(3)".into() });
        assert_eq!(of(wasmtime::Error::msg("unexpected discriminant: 9"), None).code(), "bad-output");
        let starved = wasmtime::Error::msg("no memory left").context(Instantiating);
        assert_eq!(of(starved, None), CallFailure::Host { message: "no memory left".into() });
        let handles = of(ResourceTableError::Full, None);
        assert_eq!(handles, CallFailure::LimitExceeded { limit: Limit::Handles, allowed: 1024 });
    }

    #[test]
    fn a_remembered_limit_beats_the_panic_that_the_guest_made_of_it() {
        let hit = LimitHit { limit: Limit::Memory, allowed: 5 };
        assert_eq!(of(Trap::UnreachableCodeReached, Some(hit)), exceeded(hit));
    }

    #[test]
    fn long_messages_are_cut_at_a_character() {
        let text = "é".repeat(LONGEST_MESSAGE);
        assert_eq!(shortened(&text).len(), LONGEST_MESSAGE + 3);
    }
}
