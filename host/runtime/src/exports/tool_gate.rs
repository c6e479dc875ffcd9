//! `tool-gate`: decides whether a planned call may run.

use std::sync::Arc;

use mainstay_protocol::{content::ToolCall, failure::CallFailure};
use wasmtime::{Store, component::Instance};

use super::{interrupted, not_served, wit::tool_gate as wit};
use crate::{
    bindings::mainstay::plugin::{items, outcomes},
    call::{self, Work},
    called::Called,
    check,
    generation::Generation,
    hook::{Export, Hook},
    invocation::Invocation,
    limits::Limits,
    store::CallState,
};

/// Why a decision was made. The reason is untrusted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grounds {
    /// A stable word for programs; may be empty.
    pub code: String,
    /// One sentence.
    pub reason: String,
    /// A JSON object.
    pub extras: Option<String>,
}

/// What a gate says about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No objection.
    Allow,
    /// Ask a person.
    Ask(Grounds),
    /// Don't run it.
    Deny(Grounds),
}

impl Generation {
    /// Asks whether a call may run.
    pub async fn gate_call(self: &Arc<Self>, invocation: Invocation, call: ToolCall) -> Called<Verdict> {
        let export = Export::Hook(Hook::ToolGate);
        let Some(indices) = &self.subscriptions.tool_gate else {
            return Called::not_started(not_served(self.name(), export));
        };
        call::run(self, invocation, export, GateCall { indices, call: call.into() }).await
    }
}

struct GateCall<'a> {
    indices: &'a wit::GuestIndices,
    call: items::ToolCall,
}

impl Work for GateCall<'_> {
    type Raw = Result<wit::Verdict, outcomes::Interruption>;
    type Output = Verdict;

    async fn call(self, store: &mut Store<CallState>, instance: &Instance) -> wasmtime::Result<Self::Raw> {
        let guest = self.indices.load(&mut *store, instance)?;
        guest.call_gate_call(store, &self.call).await
    }

    fn check(raw: Self::Raw, limits: &Limits) -> Result<Verdict, CallFailure> {
        match raw.map_err(interrupted)? {
            wit::Verdict::Allow => Ok(Verdict::Allow),
            wit::Verdict::Ask(why) => grounds(why, limits).map(Verdict::Ask),
            wit::Verdict::Deny(why) => grounds(why, limits).map(Verdict::Deny),
        }
    }
}

/// Checked grounds.
pub(super) fn grounds(grounds: outcomes::Grounds, limits: &Limits) -> Result<Grounds, CallFailure> {
    let outcomes::Grounds { code, reason, extras } = grounds;
    check::size(reason.len() + extras.as_ref().map_or(0, String::len), limits)?;
    check::or_bad_output(check::short("the code of a decision", &code))?;
    check::or_bad_output(check::extras("a decision", extras.as_ref()))?;
    Ok(Grounds { code, reason, extras })
}
