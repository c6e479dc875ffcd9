//! What a guest may import: one module for each capability. All are linked into every plugin, because some toolchains
//! import the whole world; what was not granted answers `denied`.

mod blobs;
mod catalog;
mod context;
mod current_step;
mod keys;
mod log;
mod models;
mod plugin_state;
mod progress;
mod secrets;
mod session_state;
mod suspension;
pub(crate) mod transcript;

use wasmtime::{
    Engine,
    component::{HasSelf, Linker},
};

use crate::{
    bindings::mainstay::plugin as wit, hook::Capability, invocation::ReadFailure, outcome::Stop, store::CallState,
};

/// A linker with everything that this build serves: the imports of the package, and WASI 0.2.
pub(crate) fn linker(engine: &Engine) -> wasmtime::Result<Linker<CallState>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    let l = &mut linker;
    // Interfaces with types only: some toolchains import them by name.
    wit::content::add_to_linker::<_, HasSelf<_>>(l, |state: &mut CallState| state)?;
    wit::errors::add_to_linker::<_, HasSelf<_>>(l, |state: &mut CallState| state)?;
    wit::items::add_to_linker::<_, HasSelf<_>>(l, |state: &mut CallState| state)?;
    wit::model_data::add_to_linker::<_, HasSelf<_>>(l, |state: &mut CallState| state)?;
    wit::outcomes::add_to_linker::<_, HasSelf<_>>(l, |state: &mut CallState| state)?;
    wit::tool_definitions::add_to_linker::<_, HasSelf<_>>(l, |state: &mut CallState| state)?;
    // Functions.
    wit::blobs::add_to_linker::<_, HasSelf<_>>(l, |state: &mut CallState| state)?;
    wit::catalog::add_to_linker::<_, HasSelf<_>>(l, |state: &mut CallState| state)?;
    wit::context::add_to_linker::<_, HasSelf<_>>(l, |state: &mut CallState| state)?;
    wit::current_step::add_to_linker::<_, HasSelf<_>>(l, |state: &mut CallState| state)?;
    wit::log::add_to_linker::<_, HasSelf<_>>(l, |state: &mut CallState| state)?;
    wit::models::add_to_linker::<_, HasSelf<_>>(l, |state: &mut CallState| state)?;
    wit::plugin_state::add_to_linker::<_, HasSelf<_>>(l, |state: &mut CallState| state)?;
    wit::progress::add_to_linker::<_, HasSelf<_>>(l, |state: &mut CallState| state)?;
    wit::secrets::add_to_linker::<_, HasSelf<_>>(l, |state: &mut CallState| state)?;
    wit::session_state::add_to_linker::<_, HasSelf<_>>(l, |state: &mut CallState| state)?;
    wit::suspension::add_to_linker::<_, HasSelf<_>>(l, |state: &mut CallState| state)?;
    wit::transcript::add_to_linker::<_, HasSelf<_>>(l, |state: &mut CallState| state)?;
    Ok(linker)
}

impl wit::content::Host for CallState {}
impl wit::errors::Host for CallState {}
impl wit::items::Host for CallState {}
impl wit::model_data::Host for CallState {}
impl wit::outcomes::Host for CallState {}
impl wit::tool_definitions::Host for CallState {}

/// What a host function gives to the guest: a result that the guest sees, or a reason to end the call.
type Answer<T> = wasmtime::Result<Result<T, wit::errors::Error>>;

fn error(kind: wit::errors::ErrorKind, code: &str, message: impl Into<String>) -> wit::errors::Error {
    wit::errors::Error { kind, code: code.to_owned(), message: message.into(), retry_after_ms: None, extras: None }
}

/// The answer of an import that the operator did not grant.
fn denied(capability: Capability) -> wit::errors::Error {
    let message = format!("the operator did not grant `{capability}` to this plugin");
    error(wit::errors::ErrorKind::Denied, "not-granted", message)
}

/// The answer of an import that is granted and that this build does not serve yet.
fn unsupported(capability: Capability) -> wit::errors::Error {
    let message = format!("this version of the host does not serve `{capability}` yet");
    error(wit::errors::ErrorKind::Unsupported, "", message)
}

fn not_found(message: &str) -> wit::errors::Error {
    error(wit::errors::ErrorKind::NotFound, "", message)
}

fn invalid(message: impl Into<String>) -> wit::errors::Error {
    error(wit::errors::ErrorKind::InvalidArgument, "", message)
}

impl CallState {
    /// The answer of an import that this build serves to nobody.
    fn not_served(&self, capability: Capability) -> wit::errors::Error {
        if self.allows(capability) { unsupported(capability) } else { denied(capability) }
    }
}

impl From<ReadFailure> for Stop {
    fn from(failure: ReadFailure) -> Self {
        Self::Host(failure.0)
    }
}
