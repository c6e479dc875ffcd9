//! `secrets`: placeholders need the egress, which this build does not have yet.

use super::{Answer, wit::secrets as wit};
use crate::{hook::Capability, store::CallState};

impl wit::Host for CallState {
    fn placeholder(&mut self, _name: String) -> Answer<String> {
        Ok(Err(self.not_served(Capability::Secrets)))
    }
}
