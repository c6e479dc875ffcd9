//! What the host calls: one module for each export that this build serves. A module has the work of its functions and the
//! methods of [`Generation`] that start it.
//!
//! [`Generation`]: crate::Generation

mod input;
pub(crate) mod lifecycle;
mod model;
pub(crate) mod order;
mod stop;
mod tool_gate;
mod tools;

use mainstay_protocol::failure::CallFailure;
use wasmtime::{
    Store,
    component::{Instance, InstancePre},
};

pub use self::{
    input::{Delivery, InputChange, InputDecision},
    model::{Completion, ModelInfo},
    stop::StopDecision,
    tool_gate::{Grounds, Verdict},
    tools::ToolOutput,
};
pub(crate) use self::{model::ListModels, tools::ListTools};
use crate::{
    bindings::{exports::mainstay::plugin as wit, mainstay::plugin::outcomes},
    generation::Exports,
    hook::{Export, Hook},
    outcome,
    store::CallState,
};

/// The exports of a component that this build calls, looked up once.
#[derive(Default)]
pub(crate) struct Subscriptions {
    pub(crate) tools: Option<wit::tools::GuestIndices>,
    pub(crate) model: Option<wit::model::GuestIndices>,
    pub(crate) input: Option<wit::input::GuestIndices>,
    pub(crate) tool_gate: Option<wit::tool_gate::GuestIndices>,
    pub(crate) stop: Option<wit::stop::GuestIndices>,
    pub(crate) state_migration: Option<wit::state_migration::GuestIndices>,
    pub(crate) self_check: Option<wit::self_check::GuestIndices>,
}

/// An export that lacks a function, or has one of another type.
pub(crate) struct Misfit {
    pub(crate) export: Export,
    pub(crate) why: wasmtime::Error,
}

/// The exports that a build calls: which field, which interface.
macro_rules! for_each_subscription {
    ($macro:ident) => {
        $macro! {
            tools => Export::Tools;
            model => Export::Model;
            input => Export::Hook(Hook::Input);
            tool_gate => Export::Hook(Hook::ToolGate);
            stop => Export::Hook(Hook::Stop);
            state_migration => Export::StateMigration;
            self_check => Export::SelfCheck;
        }
    };
}

macro_rules! subscriptions {
    ($($field:ident => $export:expr;)+) => {
        impl Subscriptions {
            /// Looks up the functions of everything that is exported.
            pub(crate) fn find(pre: &InstancePre<CallState>, exports: &Exports) -> Result<Self, Misfit> {
                let mut found = Self::default();
                $(if exports.has($export) {
                    let indices = wit::$field::GuestIndices::new(pre);
                    found.$field = Some(indices.map_err(|why| Misfit { export: $export, why })?);
                })+
                Ok(found)
            }

            /// Compares the types of all functions with the WIT package. Only an instance has them.
            pub(crate) fn check_types(&self, store: &mut Store<CallState>, instance: &Instance) -> Result<(), Misfit> {
                $(if let Some(indices) = &self.$field {
                    indices.load(&mut *store, instance).map_err(|why| Misfit { export: $export, why })?;
                })+
                Ok(())
            }
        }
    };
}

for_each_subscription!(subscriptions);

/// The failure of a call to something that a generation does not serve.
pub(crate) fn not_served(plugin: &impl std::fmt::Display, export: Export) -> CallFailure {
    outcome::refused(format!("the plugin `{plugin}` does not serve `{export}`"))
}

/// The failure that an interruption stands for. Waiting is not served by this build, and a wait that nobody ends would
/// hang the turn: it is bad output.
pub(crate) fn interrupted(interruption: outcomes::Interruption) -> CallFailure {
    match interruption {
        outcomes::Interruption::Failed(error) => guest_error(error),
        outcomes::Interruption::NeedInput(_) => suspended("need-input"),
        outcomes::Interruption::Wait(_) => suspended("wait"),
    }
}

/// An error that the guest returned, as long as it keeps the contract.
pub(crate) fn guest_error(error: crate::bindings::mainstay::plugin::errors::Error) -> CallFailure {
    let checked = crate::check::short("the code of an error", &error.code)
        .and_then(|()| crate::check::extras("an error", error.extras.as_ref()));
    match checked {
        Ok(()) => CallFailure::Guest(error.into()),
        Err(reason) => outcome::bad_output(reason),
    }
}

fn suspended(kind: &str) -> CallFailure {
    outcome::bad_output(format!("the plugin returned `{kind}`, and this version of the host can not suspend calls"))
}
