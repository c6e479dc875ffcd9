//! Bounds on what a session is opened with.

use super::OpenSession;
use crate::errors::OpenError;

/// Bytes that a session's metadata, or its labels together, may have.
const MAX_DESCRIPTION: usize = 64 << 10;
/// Builds that a session may require.
const MAX_REQUIRED: usize = 256;

/// Looks at what a session is to be opened with, before the session is looked for.
pub(super) fn check_description(request: &OpenSession) -> Result<(), OpenError> {
    let is_object = |text: &str| serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).is_ok();
    if request.metadata.as_deref().is_some_and(|text| text.len() > MAX_DESCRIPTION || !is_object(text)) {
        return Err(OpenError::Metadata);
    }
    let labels: usize = request.labels.0.iter().map(|(name, value)| name.len() + value.len()).sum();
    if labels > MAX_DESCRIPTION {
        return Err(OpenError::Labels);
    }
    if request.requires.as_ref().is_some_and(|requires| requires.len() > MAX_REQUIRED) {
        return Err(OpenError::TooManyRequired(MAX_REQUIRED));
    }
    Ok(())
}
