//! `current-step`: the model request, for hooks around a model call.

use super::{
    Answer, denied, not_found,
    wit::{current_step as wit, model_data::ModelRequest},
};
use crate::{hook::Capability, store::CallState};

impl wit::Host for CallState {
    fn request(&mut self) -> Answer<ModelRequest> {
        if !self.allows(Capability::CurrentStep) {
            return Ok(Err(denied(Capability::CurrentStep)));
        }
        let request = self.invocation.request.as_deref().cloned();
        Ok(request.map(Into::into).ok_or_else(|| not_found("this call is not about a model request")))
    }
}
