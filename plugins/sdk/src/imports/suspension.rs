//! What a suspended call gets when it runs again. [`ask`](crate::ask) is the short way.

use super::host::suspension as host;
use crate::types::Resumption;

/// The last suspension of this invocation; none when it runs for the first time.
#[must_use]
pub fn resumed() -> Option<Resumption> {
    host::resumed()
}
