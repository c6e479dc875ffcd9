//! `self-check` and `state-migration`: what a plugin says about itself when it is loaded.

use mainstay_protocol::failure::CallFailure;
use wasmtime::{Store, component::Instance};

use super::{guest_error, wit};
use crate::{bindings::mainstay::plugin::errors, call::Work, check, limits::Limits, store::CallState};

/// Lets the plugin refuse to be activated.
pub(crate) struct CheckSelf<'a>(pub(crate) &'a wit::self_check::GuestIndices);

impl Work for CheckSelf<'_> {
    type Raw = Result<Vec<String>, errors::Error>;
    type Output = Vec<String>;

    async fn call(self, store: &mut Store<CallState>, instance: &Instance) -> wasmtime::Result<Self::Raw> {
        let guest = self.0.load(&mut *store, instance)?;
        guest.call_check_self(store).await
    }

    fn check(raw: Self::Raw, limits: &Limits) -> Result<Self::Output, CallFailure> {
        let warnings = raw.map_err(guest_error)?;
        check::size(warnings.iter().map(String::len).sum(), limits)?;
        Ok(warnings)
    }
}

/// Asks for the version of the layout of the plugin's durable state.
pub(crate) struct SchemaVersion<'a>(pub(crate) &'a wit::state_migration::GuestIndices);

impl Work for SchemaVersion<'_> {
    type Raw = u32;
    type Output = u32;

    async fn call(self, store: &mut Store<CallState>, instance: &Instance) -> wasmtime::Result<Self::Raw> {
        let guest = self.0.load(&mut *store, instance)?;
        guest.call_schema_version(store).await
    }

    fn check(raw: Self::Raw, _: &Limits) -> Result<Self::Output, CallFailure> {
        Ok(raw)
    }
}
