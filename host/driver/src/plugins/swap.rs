//! Hot swap: verify -> compile -> check -> link -> self-check -> one transaction -> flip. Sessions go on meanwhile; a step keeps
//! the code that it began with.

use std::{path::Path, sync::Arc};

use mainstay_journal::{GenerationChange, GenerationOrigin, GenerationRow};
use mainstay_manifest::PluginEntry;
use mainstay_protocol::{
    PluginName,
    record::{
        NewRecord, RecordBody,
        v1::{PluginLifecycle, Reason},
    },
};
use mainstay_runtime::{Generation, PreparedChange};
use tokio::sync::oneshot;

use super::{
    entry::entry_digest,
    package::{PackageFiles, read_package_off_thread},
    startup,
};
use crate::{clock, errors::SwapError, host::Host, view::SwapView};

impl Host {
    /// Replaces a plugin's code by another build, from the next step of each session on. What the manifest grants stays what
    /// it is. The override lasts until the manifest's entry changes. A swap that has begun goes on when the caller leaves.
    ///
    /// # Errors
    /// The build can't be read, does not fit, or may not: the old one stays, and the refusal is recorded.
    pub async fn swap(&self, plugin: &PluginName, package: &Path) -> Result<SwapView, SwapError> {
        let (answer, answered) = oneshot::channel();
        let (host, plugin, package) = (self.clone(), plugin.clone(), package.to_owned());
        self.spawn(async move {
            // The caller may be gone: then nobody hears the answer.
            let _unheard = answer.send(host.swap_in_turn(&plugin, &package).await);
        });
        answered.await.unwrap_or(Err(SwapError::Ended))
    }

    async fn swap_in_turn(&self, plugin: &PluginName, package: &Path) -> Result<SwapView, SwapError> {
        let _one_at_a_time = self.inner.swapping.lock().await;
        let package = read_package_off_thread(package).await?;
        match self.try_swap(plugin, &package).await {
            Ok(view) => {
                self.unpark_all().await;
                Ok(view)
            }
            Err(error) => {
                self.record_refusal(plugin, &package, &error).await;
                Err(error)
            }
        }
    }

    async fn try_swap(&self, plugin: &PluginName, package: &PackageFiles) -> Result<SwapView, SwapError> {
        let inner = &self.inner;
        let entry = self.enabled_entry(plugin)?;
        inner.shared.pass("swap.verified");
        let sha256 = package.id.sha256;
        let generation = startup::load(&inner.options, &inner.runtime, entry, package, Some(sha256)).await?;
        inner.shared.pass("swap.loaded");
        let change = inner.shared.registry.prepare([Arc::clone(&generation)], &[])?;
        self.keeps_routes(&generation)?;
        let replaced = change.retired().iter().map(|old| old.receipt().sha256).next();
        inner.components.keep(package).await.map_err(SwapError::DataFolder)?;
        let origin = GenerationOrigin::Override { entry: entry_digest(entry) };
        let row = startup::row_of(&generation, package.id.package, origin);
        self.record_swap(startup::lifecycle(&generation, replaced), row).await?;
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

    fn enabled_entry(&self, plugin: &PluginName) -> Result<&PluginEntry, SwapError> {
        let manifest = &self.inner.options.manifest;
        manifest.plugin(plugin.as_str()).filter(|entry| entry.enabled()).ok_or_else(|| {
            let known = manifest.plugins().map(|entry| entry.name().to_string()).collect::<Vec<_>>().join(", ");
            SwapError::UnknownPlugin { plugin: plugin.clone(), known }
        })
    }

    /// A build that is no model adapter must not take the place of one that a route needs.
    fn keeps_routes(&self, generation: &Generation) -> Result<(), SwapError> {
        match self.inner.shared.routes.through(generation.name()) {
            Some(route) if !generation.exports().model() => Err(SwapError::NoAdapter { route: route.clone() }),
            _ => Ok(()),
        }
    }

    async fn record_swap(&self, body: PluginLifecycle, row: GenerationRow) -> Result<(), SwapError> {
        let records = vec![NewRecord { at: clock::now(), body: RecordBody::PluginSwapped(body) }];
        let changes = vec![GenerationChange::Activate(row)];
        self.inner.shared.journal.append_host_records(records, changes).await?;
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

    async fn record_refusal(&self, plugin: &PluginName, package: &PackageFiles, error: &SwapError) {
        let (sha256, version) = (package.id.sha256, package.manifest.version().to_string());
        let reason = Some(Reason::new("refused", error.to_string()));
        let body = PluginLifecycle { plugin: plugin.clone(), sha256, version, replaces: None, reason };
        let records = vec![NewRecord { at: clock::now(), body: RecordBody::PluginRefused(body) }];
        if let Err(error) = self.inner.shared.journal.append_host_records(records, Vec::new()).await {
            tracing::warn!("a refused build could not be recorded: {error}");
        }
    }
}
