//! A model adapter that plays a script: rules that match the last message or tool result, and what is said then.
//!
//! It keeps no state. What it says follows from the request and the history alone, so a step that is asked again after a
//! crash gets the same answer.

mod play;
mod rules;
mod script;
mod situation;
mod source;
mod template;
#[cfg(test)]
mod tests;

use mainstay_sdk::prelude::*;

pub use play::Playing;
use script::Script;
use situation::Situation;

/// The id of the one model.
pub const MODEL: &str = "rehearsal";

/// The plugin.
#[derive(Debug)]
pub struct Rehearsal;

impl Model for Rehearsal {
    type Completion = Playing;

    fn list_models() -> Result<Vec<ModelInfo>, Error> {
        Ok(vec![ModelInfo::new(MODEL)])
    }

    fn start(request: ModelRequest) -> Result<Playing, Error> {
        if request.model != MODEL {
            let message = format!("there is no model `{}` here, only `{MODEL}`", request.model);
            return Err(Error::not_found(message).with_code("unknown-model"));
        }
        let (text, defaults) = source::for_request(&request)?;
        let script = Script::parse(&text, defaults)?;
        let history = transcript::open()?.all();
        let situation = Situation::of(&history, &request.system);
        play::start(&script, &situation)
    }
}

impl SelfCheck for Rehearsal {
    fn check_self() -> Result<Vec<String>, Error> {
        let (text, defaults) = source::configured()?;
        let script = Script::parse(&text, defaults)?;
        Ok(script.warnings())
    }
}

mainstay_sdk::export!(Rehearsal: model, self_check);
