//! `input`: decides over a message before its turn starts.

use std::sync::Arc;

use mainstay_protocol::{
    content::{Message, Part},
    failure::CallFailure,
};
use wasmtime::{Store, component::Instance};

use super::{Grounds, interrupted, not_served, tool_gate, wit::input as wit};
use crate::{
    bindings::mainstay::plugin::{content, outcomes},
    call::{self, Work},
    called::Called,
    check, convert,
    generation::Generation,
    hook::{Export, Hook},
    invocation::Invocation,
    limits::Limits,
    outcome,
    store::CallState,
};

/// How a message came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It starts a turn of its own.
    Queue,
    /// It joins the running turn.
    Steer,
}

/// A change to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputChange {
    /// Replaces the content.
    Rewrite(Vec<Part>),
    /// Adds a message after it.
    Annotate(Message),
}

/// What a hook decides over a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputDecision {
    /// Go on, with these changes in order.
    Accept(Vec<InputChange>),
    /// Consume it without asking the model.
    Reject(Grounds),
}

impl Generation {
    /// Asks what is to be done with a message, on the content as earlier hooks left it.
    pub async fn check_input(
        self: &Arc<Self>,
        invocation: Invocation,
        content: Vec<Part>,
        delivery: Delivery,
    ) -> Called<InputDecision> {
        let export = Export::Hook(Hook::Input);
        let Some(indices) = &self.subscriptions.input else {
            return Called::not_started(not_served(self.name(), export));
        };
        let delivery = match delivery {
            Delivery::Queue => wit::Delivery::Queue,
            Delivery::Steer => wit::Delivery::Steer,
        };
        call::run(self, invocation, export, CheckInput { indices, content: convert::all(content), delivery }).await
    }
}

struct CheckInput<'a> {
    indices: &'a wit::GuestIndices,
    content: Vec<content::Part>,
    delivery: wit::Delivery,
}

impl Work for CheckInput<'_> {
    type Raw = Result<wit::InputDecision, outcomes::Interruption>;
    type Output = InputDecision;

    async fn call(self, store: &mut Store<CallState>, instance: &Instance) -> wasmtime::Result<Self::Raw> {
        let guest = self.indices.load(&mut *store, instance)?;
        guest.call_check_input(store, &self.content, self.delivery).await
    }

    fn check(raw: Self::Raw, limits: &Limits) -> Result<InputDecision, CallFailure> {
        match raw.map_err(interrupted)? {
            wit::InputDecision::Reject(grounds) => tool_gate::grounds(grounds, limits).map(InputDecision::Reject),
            wit::InputDecision::Accept(changes) => {
                let changes = changes.into_iter().map(change).collect::<Result<Vec<_>, _>>()?;
                check::size(changes.iter().map(bytes).sum(), limits)?;
                Ok(InputDecision::Accept(changes))
            }
        }
    }
}

fn change(change: wit::InputChange) -> Result<InputChange, CallFailure> {
    match change {
        wit::InputChange::Rewrite(content) => {
            let content = convert::all(content);
            check::or_bad_output(check::parts(&content))?;
            Ok(InputChange::Rewrite(content))
        }
        wit::InputChange::Annotate(message) => {
            let message = message.into();
            check::or_bad_output(check::message(&message))?;
            Ok(InputChange::Annotate(message))
        }
        wit::InputChange::Other(extension) => Err(unknown_change(&extension.kind)),
    }
}

fn bytes(change: &InputChange) -> usize {
    match change {
        InputChange::Rewrite(content) => check::bytes_of(content),
        InputChange::Annotate(message) => check::bytes_of(&message.content),
    }
}

fn unknown_change(kind: &str) -> CallFailure {
    outcome::bad_output(format!("the host does not know the change `{}`", check::clipped(kind)))
}
