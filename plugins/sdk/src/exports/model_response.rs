//! The export `model-response`.

use crate::types::Interruption;

pub use crate::bindings::model_response::exports::mainstay::plugin::model_response::{
    ItemEdit, NextMove, Response, ResponseChange, ResponseDecision,
};

/// Middleware that decides over what the model said.
pub trait ModelResponse {
    /// Runs once for each step, on the response as earlier hooks left it.
    fn review_response(response: Response) -> Result<ResponseDecision, Interruption>;
}

serve!(model_response, ModelResponse {
    fn review_response(response: Response) -> Result<ResponseDecision, Interruption>;
});

impl ResponseDecision {
    /// Take the response as it is and go on as the model meant it.
    #[must_use]
    pub fn unchanged() -> Self {
        Self { changes: Vec::new(), next: NextMove::Proceed }
    }
}
