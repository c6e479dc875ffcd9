//! A gate whose newest build exports `prepare` as well, which its manifest does not ask for: a host has to refuse that hook
//! by name.

use mainstay_sdk::prelude::*;

/// The plugin.
#[derive(Debug)]
pub struct Ungranted;

impl ToolGate for Ungranted {
    fn gate_call(_call: ToolCall) -> Result<Verdict, Interruption> {
        Ok(Verdict::Allow)
    }
}

impl Prepare for Ungranted {
    fn prepare_step() -> Result<Vec<StepChange>, Interruption> {
        Ok(vec![StepChange::AddReminder(Message::system("this must never reach a model"))])
    }
}

mainstay_sdk::export!(Ungranted: tool_gate, prepare);
