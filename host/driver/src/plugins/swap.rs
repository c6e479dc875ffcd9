//! Hot swap: verify -> compile -> check -> link -> self-check -> one transaction -> flip. Sessions go on meanwhile; a step keeps
//! the code that it began with.

use std::{path::Path, sync::Arc};

use mainstay_journal::{GenerationChange, GenerationOrigin};
use mainstay_protocol::{
    Digest, PluginName,
    record::{
        NewRecord, RecordBody,
        v1::{PluginLifecycle, Reason},
    },
};
use mainstay_runtime::{Generation, PreparedChange};

use super::{
    assemble,
    package::{PackageFiles, read_package},
    startup,
};
use crate::{clock, errors::SwapError, host::Host, view::SwapView};

impl Host {
    /// Replaces a plugin's code by another build, from the next step of each session on. What the manifest grants stays what
    /// it is. The override lasts until the manifest's entry changes.
    ///
    /// # Errors
    /// The build can't be read, does not fit, or may not: the old one stays, and the refusal is recorded.
    pub async fn swap(&self, plugin: &PluginName, package: &Path) -> Result<SwapView, SwapError> {
        let _one_at_a_time = self.inner.swapping.lock().await;
        let files = read_package(package)?;
        let sha256 = Digest::of(&files.component);
        let version = files.manifest.version().to_string();
        match self.try_swap(plugin, package, files).await {
            Ok(view) => {
                self.unpark_all();
                Ok(view)
            }
            Err(error) => {
                self.record_refusal(plugin, sha256, version, &error).await;
                Err(error)
            }
        }
    }

    async fn try_swap(&self, plugin: &PluginName, path: &Path, files: PackageFiles) -> Result<SwapView, SwapError> {
        let inner = &self.inner;
        let manifest = &inner.options.manifest;
        let entry = manifest.plugin(plugin.as_str()).filter(|entry| entry.enabled()).ok_or_else(|| {
            let known = manifest.plugins().map(|entry| entry.name().to_string()).collect::<Vec<_>>().join(", ");
            SwapError::UnknownPlugin { plugin: plugin.clone(), known }
        })?;
        let sha256 = Digest::of(&files.component);
        inner.components.keep(&sha256, &files, path).map_err(SwapError::DataFolder)?;
        inner.shared.pass("swap.verified");
        let generation = startup::load(&inner.options, &inner.runtime, entry, files, Some(sha256)).await?;
        inner.shared.pass("swap.loaded");
        let change = inner.shared.registry.prepare([Arc::clone(&generation)], &[])?;
        self.keeps_routes(&generation)?;
        let replaced = change.retired().iter().map(|old| old.receipt().sha256).next();
        let origin = GenerationOrigin::Override { entry: assemble::entry_digest(entry) };
        self.record_swap(&generation, origin, replaced).await?;
        inner.shared.pass("swap.recorded");
        self.flip(change)?;
        inner.set_overridden(plugin);
        inner.shared.pass("swap.done");
        let receipt = generation.receipt();
        Ok(SwapView {
            plugin: receipt.plugin.clone(),
            sha256,
            version: receipt.version.clone(),
            replaced,
            warnings: generation.warnings().to_vec(),
        })
    }

    /// A build that is no model adapter must not take the place of one that a route needs.
    fn keeps_routes(&self, generation: &Generation) -> Result<(), SwapError> {
        match self.inner.shared.routes.through(generation.name()) {
            Some(route) if !generation.exports().model() => Err(SwapError::NoAdapter { route: route.clone() }),
            _ => Ok(()),
        }
    }

    async fn record_swap(
        &self,
        generation: &Generation,
        origin: GenerationOrigin,
        replaced: Option<Digest>,
    ) -> Result<(), SwapError> {
        let body = RecordBody::PluginSwapped(startup::lifecycle(generation, replaced));
        let records = vec![NewRecord { at: clock::now(), body }];
        let change = GenerationChange::Activate(startup::row_of(generation, origin));
        self.inner.shared.journal.append_host_records(records, vec![change]).await?;
        Ok(())
    }

    /// Makes the change active, and watches what it replaced until its last call has ended.
    fn flip(&self, change: PreparedChange) -> Result<(), SwapError> {
        for old in self.inner.shared.registry.activate(change)? {
            let body = startup::lifecycle(&old, None);
            let (drained, inner) = (old.drained(), Arc::downgrade(&self.inner));
            self.inner.draining(body.sha256, &body.plugin);
            drop(old);
            self.spawn(async move {
                drained.await;
                let Some(inner) = inner.upgrade() else { return };
                inner.drained(&body.sha256);
                let records = vec![NewRecord { at: clock::now(), body: RecordBody::PluginDrained(body) }];
                if let Err(error) = inner.shared.journal.append_host_records(records, Vec::new()).await {
                    tracing::warn!("a drained build could not be recorded: {error}");
                }
            });
        }
        Ok(())
    }

    async fn record_refusal(&self, plugin: &PluginName, sha256: Digest, version: String, error: &SwapError) {
        let reason = Some(Reason::new("refused", error.to_string()));
        let body = PluginLifecycle { plugin: plugin.clone(), sha256, version, replaces: None, reason };
        let records = vec![NewRecord { at: clock::now(), body: RecordBody::PluginRefused(body) }];
        if let Err(error) = self.inner.shared.journal.append_host_records(records, Vec::new()).await {
            tracing::warn!("a refused build could not be recorded: {error}");
        }
    }
}
