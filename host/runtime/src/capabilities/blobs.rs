//! `blobs`: what the session keeps beside its items, such as whole tool outputs, by reference. Who has a reference of another session
//! has nothing here.

use std::sync::Arc;

use mainstay_protocol::blob::BlobReference;

use super::{
    Answer, denied, not_found,
    wit::{blobs as wit, errors},
};
use crate::{hook::Capability, invocation::BlobReader, outcome::Stop, store::CallState};

/// Bytes that one read gives at most.
const MOST_READ: u32 = 1 << 20;

impl wit::Host for CallState {
    async fn stat(&mut self, blob: String) -> Answer<wit::BlobInfo> {
        let (reader, blob) = match self.blob(&blob) {
            Ok(found) => found,
            Err(error) => return Ok(Err(error)),
        };
        let found = reader.stat(&blob).await.map_err(Stop::from)?;
        // A blob has 64 MiB at most.
        let info = |found: mainstay_protocol::blob::BlobInfo| wit::BlobInfo {
            media_type: found.media_type,
            size: u32::try_from(found.size).unwrap_or(u32::MAX),
        };
        Ok(found.map(info).ok_or_else(unknown))
    }

    async fn read(&mut self, blob: String, offset: u32, max: u32) -> Answer<Vec<u8>> {
        let (reader, blob) = match self.blob(&blob) {
            Ok(found) => found,
            Err(error) => return Ok(Err(error)),
        };
        let max = usize::try_from(max.min(MOST_READ)).unwrap_or(usize::MAX);
        let found = reader.read(&blob, offset.into(), max).await.map_err(Stop::from)?;
        Ok(found.ok_or_else(unknown))
    }
}

impl CallState {
    fn blob(&self, text: &str) -> Result<(Arc<dyn BlobReader>, BlobReference), errors::Error> {
        if !self.allows(Capability::Blobs) {
            return Err(denied(Capability::Blobs));
        }
        let reader = self.invocation.blobs.clone().ok_or_else(|| not_found("this call runs outside a session"))?;
        Ok((reader, text.parse().map_err(|_| unknown())?))
    }
}

/// The same whether the bytes exist elsewhere or not.
fn unknown() -> errors::Error {
    not_found("the session holds no such blob")
}
