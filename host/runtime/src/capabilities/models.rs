//! `models`: not served by this build yet.

use super::{Answer, wit::models as wit};
use crate::{hook::Capability, store::CallState};

impl wit::Host for CallState {
    fn generate(&mut self, _request: wit::GenerationRequest) -> Answer<wit::Generation> {
        Ok(Err(self.not_served(Capability::Models)))
    }
}
