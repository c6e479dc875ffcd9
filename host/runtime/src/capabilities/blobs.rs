//! `blobs`: not served by this build yet.

use super::{Answer, wit::blobs as wit};
use crate::{hook::Capability, store::CallState};

impl wit::Host for CallState {
    fn stat(&mut self, _blob: String) -> Answer<wit::BlobInfo> {
        Ok(Err(self.not_served(Capability::Blobs)))
    }

    fn read(&mut self, _blob: String, _offset: u32, _max: u32) -> Answer<Vec<u8>> {
        Ok(Err(self.not_served(Capability::Blobs)))
    }
}
