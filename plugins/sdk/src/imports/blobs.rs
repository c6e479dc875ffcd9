//! Stored bytes, read by the references that media parts and tool results (`whole_output` in their `extras`) of the current
//! session hold. Needs a grant.

use super::host::blobs as host;
use crate::types::Error;

pub use crate::bindings::imports::mainstay::plugin::blobs::BlobInfo;

/// What one `read` gives at most.
const CHUNK: u32 = 1 << 20;

/// What is known about a blob.
///
/// # Errors
/// `not-found` for a reference that this call may not use, `denied` without a grant.
pub fn stat(blob: &str) -> Result<BlobInfo, Error> {
    host::stat(blob)
}

/// Bytes from `offset`, at most `max` of them and at most 1 MiB. Empty at or past the end.
///
/// # Errors
/// As of [`stat`].
pub fn read(blob: &str, offset: u32, max: u32) -> Result<Vec<u8>, Error> {
    host::read(blob, offset, max)
}

/// All bytes of a blob of at most `limit` bytes.
///
/// # Errors
/// As of [`stat`], and `limit-exceeded` for a larger one.
pub fn read_all(blob: &str, limit: u32) -> Result<Vec<u8>, Error> {
    let size = stat(blob)?.size;
    if size > limit {
        return Err(Error::limit_exceeded(format!("the blob has {size} bytes, more than {limit}")));
    }
    let mut bytes = Vec::with_capacity(size as usize);
    while bytes.len() < size as usize {
        let offset = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let chunk = read(blob, offset, CHUNK)?;
        if chunk.is_empty() {
            return Err(Error::internal("the blob ended before its size"));
        }
        bytes.extend(chunk);
    }
    Ok(bytes)
}
