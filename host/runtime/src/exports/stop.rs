//! `stop`: decides whether a turn whose model is done may end.

use std::sync::Arc;

use mainstay_protocol::{content::Message, failure::CallFailure};
use wasmtime::{Store, component::Instance};

use super::{interrupted, not_served, wit::stop as wit};
use crate::{
    bindings::mainstay::plugin::outcomes,
    call::{self, Work},
    called::Called,
    check,
    generation::Generation,
    hook::{Export, Hook},
    invocation::Invocation,
    limits::Limits,
    store::CallState,
};

/// What a hook decides over the end of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopDecision {
    /// Let it end.
    Finish,
    /// Add this message and do one more step.
    GoOn(Message),
}

impl Generation {
    /// Asks whether a turn may end. `last_message` is the text of the assistant's last message.
    pub async fn check_stop(
        self: &Arc<Self>,
        invocation: Invocation,
        last_message: Option<String>,
        stop_hook_active: bool,
    ) -> Called<StopDecision> {
        let export = Export::Hook(Hook::Stop);
        let Some(indices) = &self.subscriptions.stop else {
            return Called::not_started(not_served(self.name(), export));
        };
        let turn = wit::EndingTurn { last_message, stop_hook_active };
        call::run(self, invocation, export, CheckStop { indices, turn }).await
    }
}

struct CheckStop<'a> {
    indices: &'a wit::GuestIndices,
    turn: wit::EndingTurn,
}

impl Work for CheckStop<'_> {
    type Raw = Result<wit::StopDecision, outcomes::Interruption>;
    type Output = StopDecision;

    async fn call(self, store: &mut Store<CallState>, instance: &Instance) -> wasmtime::Result<Self::Raw> {
        let guest = self.indices.load(&mut *store, instance)?;
        guest.call_check_stop(store, &self.turn).await
    }

    fn check(raw: Self::Raw, limits: &Limits) -> Result<StopDecision, CallFailure> {
        match raw.map_err(interrupted)? {
            wit::StopDecision::Finish => Ok(StopDecision::Finish),
            wit::StopDecision::GoOn(message) => {
                let message: Message = message.into();
                check::size(check::bytes_of(&message.content), limits)?;
                check::or_bad_output(check::message(&message))?;
                Ok(StopDecision::GoOn(message))
            }
        }
    }
}
