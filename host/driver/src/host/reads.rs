//! What can be asked of a running host: its sessions, through a [`Reader`], and its plugins.

use mainstay_protocol::{
    ItemId, Ordinal, SessionId,
    blob::{BlobInfo, BlobReference},
    content::Item,
    record::StoredRecord,
};

use super::Host;
use crate::{
    errors::HostError,
    reader::Reader,
    view::{PluginView, SessionRow, SessionView},
};

impl Host {
    pub(crate) fn reader(&self) -> Reader {
        Reader::new(self.inner.shared.journal.clone(), self.inner.shared.tenant.clone())
    }

    /// As [`Reader::sessions`].
    ///
    /// # Errors
    /// The journal can't be read, or `before` is no token of this host.
    pub async fn sessions(
        &self,
        limit: usize,
        before: Option<String>,
    ) -> Result<(Vec<SessionRow>, Option<String>), HostError> {
        self.reader().sessions(limit, before).await
    }

    /// As [`Reader::session`]; here it is known too whether the session's driver stopped.
    ///
    /// # Errors
    /// The journal can't be read.
    pub async fn session(&self, session: &SessionId) -> Result<Option<SessionView>, HostError> {
        let view = self.reader().session(session).await?;
        Ok(view.map(|view| SessionView { stopped: self.inner.table.stopped(session), ..view }))
    }

    /// As [`Reader::records`].
    ///
    /// # Errors
    /// The journal can't be read, or the limit is zero.
    pub async fn records(
        &self,
        session: &SessionId,
        after: Ordinal,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, HostError> {
        self.reader().records(session, after, limit).await
    }

    /// As [`Reader::records_before`].
    ///
    /// # Errors
    /// The journal can't be read, or the limit is zero.
    pub async fn records_before(
        &self,
        session: &SessionId,
        before: Option<Ordinal>,
        limit: usize,
    ) -> Result<Vec<StoredRecord>, HostError> {
        self.reader().records_before(session, before, limit).await
    }

    /// As [`Reader::items`].
    ///
    /// # Errors
    /// The journal can't be read, or the limit is zero.
    pub async fn items(&self, session: &SessionId, after: ItemId, limit: usize) -> Result<Vec<Item>, HostError> {
        self.reader().items(session, after, limit).await
    }

    /// As [`Reader::blob_info`].
    ///
    /// # Errors
    /// The journal can't be read.
    pub async fn blob_info(&self, session: &SessionId, blob: &BlobReference) -> Result<Option<BlobInfo>, HostError> {
        self.reader().blob_info(session, blob).await
    }

    /// As [`Reader::blob_read`].
    ///
    /// # Errors
    /// The journal can't be read, or the blob is damaged.
    pub async fn blob_read(
        &self,
        session: &SessionId,
        blob: &BlobReference,
        offset: u64,
    ) -> Result<Option<Vec<u8>>, HostError> {
        self.reader().blob_read(session, blob, offset).await
    }

    /// Counts and timings of the journal since the host was opened: `groups` counts its fsync barriers.
    pub fn journal_metrics(&self) -> mainstay_journal::Metrics {
        self.inner.shared.journal.metrics()
    }

    /// The active plugins, in the order of their hooks.
    pub fn plugins(&self) -> Vec<PluginView> {
        let snapshot = self.inner.shared.registry.snapshot();
        let view = |generation: &std::sync::Arc<mainstay_runtime::Generation>| {
            let receipt = generation.receipt();
            let own = |tool: &&mainstay_runtime::CatalogTool| tool.generation.name() == generation.name();
            PluginView {
                plugin: receipt.plugin.clone(),
                version: receipt.version.clone(),
                sha256: receipt.sha256,
                exports: generation.exports().iter().map(|export| export.to_string()).collect(),
                tools: snapshot.tools().filter(own).map(|tool| tool.definition.clone()).collect(),
                order: generation.order(),
                overridden: self.inner.is_overridden(&receipt.plugin),
                draining: self.inner.draining_of(&receipt.plugin),
            }
        };
        snapshot.generations().iter().map(view).collect()
    }
}
