//! One activated build of a plugin: its code, its grant, its limits, and what it said about itself.

use std::{collections::BTreeSet, future::Future, num::NonZeroU32, sync::Arc};

use mainstay_protocol::{PluginName, receipt::Receipt, tool::ToolDefinition};
use tokio::sync::watch;
use wasmtime::component::InstancePre;

use crate::{
    engine::Shared,
    exports::{ModelInfo, Subscriptions},
    grant::Grant,
    hook::{Export, Hook},
    limits::Limits,
    store::CallState,
    wasi::Wasi,
};

/// What happens when a hook of the plugin fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailurePolicy {
    /// It denies.
    Closed,
    /// It is skipped, and the failure is recorded.
    Open,
}

/// What a generation serves: exported, and granted where that is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exports(pub(crate) BTreeSet<Export>);

impl Exports {
    /// Whether it serves an export.
    pub fn has(&self, export: Export) -> bool {
        self.0.contains(&export)
    }

    /// Whether it decides at a hook.
    pub fn has_hook(&self, hook: Hook) -> bool {
        self.has(Export::Hook(hook))
    }

    /// Whether it serves tools.
    pub fn tools(&self) -> bool {
        self.has(Export::Tools)
    }

    /// Whether it is a model adapter.
    pub fn model(&self) -> bool {
        self.has(Export::Model)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Export> + '_ {
        self.0.iter().copied()
    }
}

/// One activated build of a plugin. It lives while a snapshot or a call holds it; the compiled code goes with it.
pub struct Generation {
    pub(crate) pre: InstancePre<CallState>,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) wasi: Wasi,
    pub(crate) grant: Grant,
    pub(crate) shared: Arc<Shared>,
    pub(crate) places: NonZeroU32,
    pub(crate) config: String,
    pub(crate) facts: Facts,
    /// Dropped last: who waits for it knows that the code is gone.
    pub(crate) alive: watch::Sender<()>,
}

/// What is known about a generation.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) receipt: Receipt,
    pub(crate) exports: Exports,
    pub(crate) limits: Limits,
    pub(crate) order: i32,
    pub(crate) on_failure: FailurePolicy,
    pub(crate) state_schema: u32,
    pub(crate) tools: Vec<ToolDefinition>,
    pub(crate) models: Vec<ModelInfo>,
    pub(crate) warnings: Vec<String>,
}

impl Generation {
    /// The name under which the operator installed it.
    pub fn name(&self) -> &PluginName {
        &self.facts.receipt.plugin
    }

    /// Exactly which code this is.
    pub fn receipt(&self) -> &Receipt {
        &self.facts.receipt
    }

    /// What it serves.
    pub fn exports(&self) -> &Exports {
        &self.facts.exports
    }

    /// Its tools, as it describes them itself; the operator's overrides are applied in the [`Snapshot`].
    ///
    /// [`Snapshot`]: crate::Snapshot
    pub fn tools(&self) -> &[ToolDefinition] {
        &self.facts.tools
    }

    /// Its models; empty when it takes any.
    pub fn models(&self) -> &[ModelInfo] {
        &self.facts.models
    }

    /// What one of its calls may use.
    pub fn limits(&self) -> &Limits {
        &self.facts.limits
    }

    /// Hooks run in this order, and by name where it is equal.
    pub fn order(&self) -> i32 {
        self.facts.order
    }

    /// What happens when one of its hooks fails.
    pub fn on_failure(&self) -> FailurePolicy {
        self.facts.on_failure
    }

    /// The version of the layout of its durable state.
    pub fn state_schema(&self) -> u32 {
        self.facts.state_schema
    }

    /// What it warned of when it checked itself. Untrusted text.
    pub fn warnings(&self) -> &[String] {
        &self.facts.warnings
    }

    /// Waits until the generation is gone: no snapshot and no call holds it any more, and its code is unmapped. The future
    /// does not hold it.
    pub fn drained(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut alive = self.alive.subscribe();
        async move { while alive.changed().await.is_ok() {} }
    }
}

impl std::fmt::Debug for Generation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Generation").field("receipt", &self.facts.receipt).finish_non_exhaustive()
    }
}
