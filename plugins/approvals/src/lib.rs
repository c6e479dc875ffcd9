//! A gate over tool calls: rules about arguments, then lists of tools, then a default.
//!
//! It narrows what the operator's policy allows and never widens it: its `allow` is "no objection". What it can't
//! understand it denies.

mod pattern;
mod policy;
#[cfg(test)]
mod tests;

use mainstay_sdk::prelude::*;

use policy::Policy;

/// The plugin.
#[derive(Debug)]
pub struct Approvals;

impl ToolGate for Approvals {
    fn gate_call(call: ToolCall) -> Result<Verdict, Interruption> {
        // A refusal, not a failure: the operator may have chosen that a failing gate is passed over.
        Ok(match Policy::load() {
            Ok(policy) => policy.judge(&call),
            Err(error) => {
                Verdict::deny_because("approvals-misconfigured", format!("nothing may run: {}", error.message))
            }
        })
    }
}

impl SelfCheck for Approvals {
    fn check_self() -> Result<Vec<String>, Error> {
        Ok(Policy::load()?.warnings())
    }
}

mainstay_sdk::export!(Approvals: tool_gate, self_check);
