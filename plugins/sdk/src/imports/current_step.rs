//! What the current step sends, read lazily. Needs a grant.

use super::host::current_step as host;
use crate::types::{Error, ModelRequest};

/// The model request: in `prepare` as earlier hooks left it, in `model-response` and `model-error` as it was sent.
///
/// # Errors
/// `not-found` in any other call, `denied` without a grant.
pub fn request() -> Result<ModelRequest, Error> {
    host::request()
}
