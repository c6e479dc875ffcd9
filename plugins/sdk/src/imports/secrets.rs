//! Secrets that a plugin can use and never see. Needs a grant.

use super::host::secrets as host;
use crate::types::Error;

/// A placeholder for a granted secret, to be put into the granted header of a request. Good for this call only.
///
/// # Errors
/// `denied` when the secret was not granted; `not-found` when it was, but the operator has not set it.
pub fn placeholder(name: &str) -> Result<String, Error> {
    host::placeholder(name)
}
