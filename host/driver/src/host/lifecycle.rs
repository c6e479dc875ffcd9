//! A host opens: it takes the folder's lock, loads the plugins, and takes up the sessions that have work. A host shuts down.

use std::sync::{Arc, Mutex, PoisonError};

use mainstay_journal::{Journal, OpenError as JournalOpenError, Options, SqliteJournal};
use mainstay_manifest::{OpenStepRecovery, Timespan};
use mainstay_protocol::TenantId;
use mainstay_runtime::{Registry, Runtime};
use tokio::task::JoinSet;

use super::{Host, HostOptions, Inner, recover_operations};
use crate::{
    clock,
    errors::{HostError, OpenError},
    hub::Hub,
    plugins::{
        assemble,
        components::Components,
        startup::{self, Starting},
    },
    routes::Routes,
    session::{Reconfiguration, table::Table},
    shared::Shared,
};

impl Host {
    /// Opens a host on a data folder.
    ///
    /// # Errors
    /// Another host has the folder, a plugin can't be loaded, or the journal can't be opened.
    pub async fn open(options: HostOptions) -> Result<Self, HostError> {
        let tenant = TenantId::new(options.manifest.host().tenant().as_str())?;
        let routes = Routes::from_manifest(&options.manifest)?;
        let journal = open_journal(&options).await?;
        let runtime = Runtime::new(assemble::engine_options(&options.manifest, startup::cache_dir(&options)))?;
        let components = Components::of(&options.data_dir);
        let starting = startup::load_all(&options, &runtime, &*journal, &components).await?;
        let registry = activate(&options, &*journal, &starting).await?;
        let overridden = starting.iter().filter(|one| one.is_override()).map(|one| one.generation.name().clone());
        let overridden = overridden.collect();
        let shared = Shared {
            tenant,
            journal,
            registry,
            routes,
            hub: Hub::default(),
            failpoint: options.failpoint.clone(),
            linger: options.linger,
            gate_bound: options.manifest.host().gate_bound().map(Timespan::as_duration),
            retry_open_step: options.manifest.host().open_step() == OpenStepRecovery::Retry,
        };
        let host = Self {
            inner: Arc::new(Inner {
                options,
                runtime,
                shared: Arc::new(shared),
                components,
                swapping: tokio::sync::Mutex::default(),
                opening: tokio::sync::Mutex::default(),
                table: Table::default(),
                tasks: Mutex::new(JoinSet::new()),
                draining: Mutex::default(),
                overridden: Mutex::new(overridden),
            }),
        };
        host.end_interrupted_operations().await;
        host.take_up_sessions_with_work().await?;
        Ok(host)
    }

    /// Ends what the host before this one owned. An operation that can't be ended now is when its session is taken up.
    async fn end_interrupted_operations(&self) {
        match recover_operations(&*self.inner.shared.journal, clock::now()).await {
            Ok(0) => {}
            Ok(ended) => tracing::info!(ended, "operations that the last host left were ended"),
            Err(error) => tracing::error!("not all operations that the last host left could be ended: {error}"),
        }
    }

    /// Takes up what a host before this one left. Sessions that can't be taken up are left as they are.
    async fn take_up_sessions_with_work(&self) -> Result<(), HostError> {
        let rows = self.inner.shared.journal.sessions_with_work().await?;
        for row in rows.into_iter().filter(|row| row.tenant == self.inner.shared.tenant) {
            if let Err(error) = self.take_up(&row.session, Reconfiguration::default()).await {
                tracing::error!(session = %row.session, "the session can't be taken up: {error}");
                // A swap may bring what it requires: then it is taken up.
                if !matches!(error, OpenError::RequiredBuildMissing(_)) {
                    self.inner.table.stop(&row.session, error.to_string());
                }
            }
        }
        Ok(())
    }

    /// Ends all work where it stands. What is durable is taken up by the next host.
    pub async fn shutdown(&self) {
        self.inner.table.close();
        // A task can start another one just before it ends: until none did, there are more.
        loop {
            let mut tasks = self.take_tasks();
            if tasks.is_empty() {
                break;
            }
            tasks.shutdown().await;
        }
    }

    fn take_tasks(&self) -> JoinSet<()> {
        let mut tasks = self.inner.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *tasks)
    }
}

async fn open_journal(options: &HostOptions) -> Result<Arc<dyn Journal>, HostError> {
    let mut settings = Options::default();
    if let Some(failpoint) = options.failpoint.clone() {
        settings.probe = Some(Arc::new(move |point| failpoint.pass(point)));
    }
    let folder = options.data_dir.clone();
    let opened = tokio::task::spawn_blocking(move || SqliteJournal::open(&folder, settings)).await;
    match opened {
        Ok(Ok(journal)) => Ok(Arc::new(journal)),
        Ok(Err(locked @ JournalOpenError::Locked { .. })) => Err(HostError::Locked(locked)),
        Ok(Err(error)) => Err(HostError::Journal(error)),
        Err(panicked) => Err(HostError::DataFolder(std::io::Error::other(panicked))),
    }
}

/// Checks that the builds fit together, records them, and makes them active.
async fn activate(options: &HostOptions, journal: &dyn Journal, starting: &[Starting]) -> Result<Registry, HostError> {
    let registry = Registry::new(assemble::tool_overrides(&options.manifest));
    let change = registry.prepare(starting.iter().map(|one| Arc::clone(&one.generation)), &[])?;
    startup::record(journal, starting).await?;
    registry.activate(change)?;
    Ok(registry)
}
