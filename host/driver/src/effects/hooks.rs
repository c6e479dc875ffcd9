//! What all hooks have in common: a failing one is recorded, and its plugin's policy says what follows.

use std::sync::Arc;

use mainstay_protocol::{
    CallIndex, TurnId,
    record::v1::{Build, HookDecision, HookNotes, Reason, SessionFault},
};
use mainstay_runtime::{Called, FailurePolicy, Generation};

use super::{
    output_bounds::{MAX_CODE, MAX_MESSAGE, clip},
    report::tail,
};

/// What hooks said at a barrier, and how they failed.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) notes: HookNotes,
    pub(crate) faults: Vec<SessionFault>,
}

/// A hook that failed, after its policy was looked at.
pub(crate) enum Failed {
    /// The plugin is to be skipped.
    Skip,
    /// The plugin's word counts although it failed.
    Closed(Reason),
}

/// Who decides where.
pub(crate) struct Asked<'a> {
    pub(crate) hook: &'static str,
    pub(crate) generation: &'a Arc<Generation>,
    pub(crate) turn: Option<&'a TurnId>,
    pub(crate) call: Option<CallIndex>,
}

/// The build of a generation.
pub(crate) fn build(generation: &Generation) -> Build {
    Build { plugin: generation.name().clone(), sha256: generation.receipt().sha256 }
}

impl Said {
    /// Notes that a hook had nothing to say.
    pub(crate) fn passed(&mut self, asked: &Asked<'_>) {
        self.notes.pass(&build(asked.generation));
    }

    /// Notes a decision.
    pub(crate) fn decided(&mut self, asked: &Asked<'_>, decision: &str, reason: Option<Reason>) {
        self.notes.decided.push(HookDecision {
            hook: asked.hook.to_owned(),
            build: build(asked.generation),
            call: asked.call,
            decision: decision.to_owned(),
            reason,
        });
    }

    /// Notes a failure, as a decision and as a fault, and says what follows from it.
    pub(crate) fn failed<T>(&mut self, asked: &Asked<'_>, called: &Called<T>) -> Failed {
        let Err(failure) = &called.result else { return Failed::Skip };
        let message = clip(failure.to_string(), MAX_MESSAGE);
        let (hook, plugin) = (asked.hook, asked.generation.name());
        let fault = format!("the `{hook}` hook of plugin `{plugin}` failed: {message}");
        let reason = Reason::new(failure.code(), message);
        self.decided(asked, "failed", Some(reason.clone()));
        self.faults.push(SessionFault {
            code: format!("{hook}-hook-failed"),
            message: fault,
            turn: asked.turn.cloned(),
            build: Some(build(asked.generation)),
            stderr: tail(&called.stderr_tail),
            parks: false,
        });
        match asked.generation.on_failure() {
            FailurePolicy::Open => Failed::Skip,
            FailurePolicy::Closed => Failed::Closed(reason),
        }
    }
}

/// The reason that a hook gave, as long as a record may have it.
pub(crate) fn reason(grounds: mainstay_runtime::Grounds) -> Reason {
    Reason { code: clip(grounds.code, MAX_CODE), message: clip(grounds.reason, MAX_MESSAGE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_bounded_at_a_character() {
        let grounds =
            |code: &str, reason: String| mainstay_runtime::Grounds { code: code.into(), reason, extras: None };
        assert_eq!(reason(grounds("late", "too late".into())), Reason::new("late", "too late"));
        let long = reason(grounds(&"c".repeat(200), format!("x{}", "ä".repeat(5_000))));
        assert_eq!((long.code.len(), long.message.len()), (MAX_CODE, MAX_MESSAGE - 1));
    }
}
