//! The export `model`.

use std::cell::RefCell;

use crate::bindings::model::exports::mainstay::plugin::model as wit;
use crate::types::{Error, ModelRequest};

pub use wit::{CallStart, Delta, ModelInfo};

/// An adapter to a model provider. The host pulls, so back-pressure, deadline and cancellation need nothing here.
pub trait Model {
    /// A completion of this adapter.
    type Completion: Completion + 'static;

    /// The models on offer; empty when the adapter takes any id. Called when the plugin is activated.
    fn list_models() -> Result<Vec<ModelInfo>, Error>;

    /// Sends the request, with the history from [`transcript`](crate::transcript), and returns when the provider has
    /// accepted it.
    fn start(request: ModelRequest) -> Result<Self::Completion, Error>;
}

/// A running completion: a flat stream of deltas of which one item is open at a time.
pub trait Completion {
    /// Waits for the next deltas. Not called again after `finish` or an error.
    fn next(&mut self) -> Result<Vec<Delta>, Error>;
}

/// The resource behind the component's `completion`: the canonical ABI hands out shared references only.
#[derive(Debug)]
pub struct Pulled<C>(RefCell<C>);

impl<C: Completion + 'static> wit::GuestCompletion for Pulled<C> {
    fn next(&self) -> Result<Vec<Delta>, Error> {
        self.0.borrow_mut().next()
    }
}

impl<T: Model> wit::Guest for T {
    type Completion = Pulled<T::Completion>;

    fn list_models() -> Result<Vec<ModelInfo>, Error> {
        <T as Model>::list_models()
    }

    fn start(request: ModelRequest) -> Result<wit::Completion, Error> {
        let completion = <T as Model>::start(request)?;
        Ok(wit::Completion::new(Pulled(RefCell::new(completion))))
    }
}

impl ModelInfo {
    /// A model of which only the id is known.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), context_tokens: None, output_tokens: None, extras: None }
    }
}
