//! `suspension`: this build suspends no call, so none is ever resumed.

use super::wit::suspension as wit;
use crate::store::CallState;

impl wit::Host for CallState {
    fn resumed(&mut self) -> wasmtime::Result<Option<wit::Resumption>> {
        Ok(None)
    }
}
