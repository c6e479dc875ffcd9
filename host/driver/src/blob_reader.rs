//! What a session keeps beside its items, as the runtime reads it.

use std::sync::Arc;

use futures::{FutureExt as _, TryFutureExt as _, future::BoxFuture};
use mainstay_journal::Journal;
use mainstay_protocol::{
    SessionId, TenantId,
    blob::{BlobInfo, BlobReference},
};
use mainstay_runtime::{BlobReader, ReadFailure};

pub(crate) struct SessionBlobReader {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) tenant: TenantId,
    pub(crate) session: SessionId,
}

impl BlobReader for SessionBlobReader {
    fn stat<'a>(&'a self, blob: &'a BlobReference) -> BoxFuture<'a, Result<Option<BlobInfo>, ReadFailure>> {
        let info = self.journal.blob_info(&self.tenant, &self.session, blob);
        info.map_err(|error| ReadFailure(error.to_string())).boxed()
    }

    fn read<'a>(
        &'a self,
        blob: &'a BlobReference,
        offset: u64,
        max: usize,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, ReadFailure>> {
        let bytes = self.journal.blob_read(&self.tenant, &self.session, blob, offset, max);
        bytes.map_err(|error| ReadFailure(error.to_string())).boxed()
    }
}
