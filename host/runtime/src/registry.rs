//! Which generations are active: an immutable snapshot behind an atomic pointer. A step pins the snapshot that it began
//! with, and a swap replaces the pointer; nobody waits for anybody.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::ArcSwap;
use mainstay_protocol::{
    PluginName,
    tool::{Approval, Effect, Execution, ToolDefinition},
};

use crate::{generation::Generation, hook::Hook};

/// The operator's word over a plugin's claims about one tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolOverride {
    /// What may be done after a crash; none believes the plugin.
    pub effect: Option<Effect>,
    /// Whether calls may overlap; none believes the plugin.
    pub execution: Option<Execution>,
    /// Whether a person should allow a call. None asks, whatever the plugin claims.
    pub approval: Option<Approval>,
}

/// The operator's overrides, by tool name.
pub type ToolOverrides = BTreeMap<String, ToolOverride>;

/// A tool that can be called.
#[derive(Clone, Debug)]
pub struct CatalogTool {
    /// Who serves it.
    pub generation: Arc<Generation>,
    /// Its definition with the operator's overrides applied.
    pub definition: ToolDefinition,
}

/// Why a set of generations can not be active together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// Two plugins serve one tool name.
    #[error(
        "the plugins `{first}` and `{second}` both serve a tool called `{tool}`; a model could not tell them apart. Remove one of them"
    )]
    ToolTwice {
        /// The tool.
        tool: String,
        /// One plugin.
        first: PluginName,
        /// The other.
        second: PluginName,
    },
    /// Another change became active first.
    #[error("another change of the plugins became active first; look at the new state and try again")]
    Outdated,
}

/// The active generations at one moment. Immutable.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// By (order, name).
    generations: Vec<Arc<Generation>>,
    by_name: BTreeMap<PluginName, Arc<Generation>>,
    tools: BTreeMap<String, CatalogTool>,
    hooks: BTreeMap<Hook, Vec<Arc<Generation>>>,
    unused_overrides: Vec<String>,
}

impl Snapshot {
    /// Puts generations together. Of two with one name the last counts.
    ///
    /// # Errors
    /// Two plugins serve one tool name.
    pub fn new(
        generations: impl IntoIterator<Item = Arc<Generation>>,
        overrides: &ToolOverrides,
    ) -> Result<Self, SnapshotError> {
        let by_name: BTreeMap<_, _> =
            generations.into_iter().map(|generation| (generation.name().clone(), generation)).collect();
        let mut generations: Vec<_> = by_name.values().cloned().collect();
        generations.sort_by_key(|generation| generation.order());
        let tools = collect_tools(&generations, overrides)?;
        let unused_overrides = overrides.keys().filter(|name| !tools.contains_key(*name)).cloned().collect();
        let hooks = Hook::ALL.iter().map(|&hook| (hook, subscribers(&generations, hook))).collect();
        Ok(Self { generations, by_name, tools, hooks, unused_overrides })
    }

    /// All active generations, by order and name.
    pub fn generations(&self) -> &[Arc<Generation>] {
        &self.generations
    }

    /// The active generation of a plugin.
    pub fn generation(&self, name: &PluginName) -> Option<&Arc<Generation>> {
        self.by_name.get(name)
    }

    /// The model adapter that a plugin is; none when there is no such plugin, or it exports no `model`.
    pub fn model_adapter(&self, name: &PluginName) -> Option<&Arc<Generation>> {
        self.generation(name).filter(|generation| generation.exports().model())
    }

    /// A tool by its name.
    pub fn find_tool(&self, name: &str) -> Option<&CatalogTool> {
        self.tools.get(name)
    }

    /// All tools, sorted by name.
    pub fn tools(&self) -> impl Iterator<Item = &CatalogTool> + '_ {
        self.tools.values()
    }

    /// Who decides at a hook, in the order in which they are asked.
    pub fn hooks(&self, hook: Hook) -> &[Arc<Generation>] {
        self.hooks.get(&hook).map_or(&[], Vec::as_slice)
    }

    /// Overrides for tools that nobody serves: probably misspelt.
    pub fn unused_overrides(&self) -> &[String] {
        &self.unused_overrides
    }
}

fn subscribers(generations: &[Arc<Generation>], hook: Hook) -> Vec<Arc<Generation>> {
    generations.iter().filter(|generation| generation.exports().has_hook(hook)).cloned().collect()
}

fn collect_tools(
    generations: &[Arc<Generation>],
    overrides: &ToolOverrides,
) -> Result<BTreeMap<String, CatalogTool>, SnapshotError> {
    let mut tools: BTreeMap<String, CatalogTool> = BTreeMap::new();
    for generation in generations {
        for tool in generation.tools() {
            let definition = overridden(tool, overrides.get(&tool.name).copied().unwrap_or_default());
            let tool = CatalogTool { generation: Arc::clone(generation), definition };
            if let Some(other) = tools.insert(tool.definition.name.clone(), tool) {
                let (first, second) = (other.generation.name().clone(), generation.name().clone());
                return Err(SnapshotError::ToolTwice { tool: other.definition.name, first, second });
            }
        }
    }
    Ok(tools)
}

/// A plugin's word is not trusted: without the operator's, a tool asks.
fn overridden(tool: &ToolDefinition, word: ToolOverride) -> ToolDefinition {
    ToolDefinition {
        effect: word.effect.unwrap_or(tool.effect),
        execution: word.execution.unwrap_or(tool.execution),
        approval: word.approval.unwrap_or_else(|| tool.approval.max(Approval::Ask)),
        ..tool.clone()
    }
}

/// The pointer to the active snapshot, and the operator's overrides.
#[derive(Debug, Default)]
pub struct Registry {
    current: ArcSwap<Snapshot>,
    overrides: ToolOverrides,
    /// Held while the pointer moves, so that a change that was prepared on one snapshot is not put on another.
    moving: Mutex<()>,
}

/// A change that was checked and is not active yet. Journal it, then activate it.
#[derive(Debug)]
pub struct PreparedChange {
    base: Arc<Snapshot>,
    next: Arc<Snapshot>,
}

impl PreparedChange {
    /// What will be active.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.next
    }

    /// The generations that will be active no longer.
    pub fn retired(&self) -> Vec<Arc<Generation>> {
        let stays = |old: &&Arc<Generation>| self.next.generations.iter().any(|new| Arc::ptr_eq(old, new));
        self.base.generations.iter().filter(|old| !stays(old)).cloned().collect()
    }
}

impl Registry {
    /// A registry without plugins.
    pub fn new(overrides: ToolOverrides) -> Self {
        Self { overrides, ..Self::default() }
    }

    /// What is active now. Pin it for a step.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Checks a change: these generations come, in place of older ones of their names, and these plugins go.
    ///
    /// # Errors
    /// Two plugins would serve one tool name.
    pub fn prepare(
        &self,
        add: impl IntoIterator<Item = Arc<Generation>>,
        remove: &[PluginName],
    ) -> Result<PreparedChange, SnapshotError> {
        let base = self.snapshot();
        let gone: BTreeSet<_> = remove.iter().collect();
        let kept = base.generations.iter().filter(|generation| !gone.contains(generation.name())).cloned();
        let next = Snapshot::new(kept.chain(add), &self.overrides)?;
        Ok(PreparedChange { base: Arc::clone(&base), next: Arc::new(next) })
    }

    /// Makes a change active and gives the generations that are active no longer: they go when their last call ends
    /// ([`Generation::drained`]).
    ///
    /// # Errors
    /// Another change became active since this one was prepared.
    pub fn activate(&self, change: PreparedChange) -> Result<Vec<Arc<Generation>>, SnapshotError> {
        let _moving = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&self.current.load(), &change.base) {
            return Err(SnapshotError::Outdated);
        }
        let retired = change.retired();
        self.current.store(change.next);
        Ok(retired)
    }

    /// Prepares and activates one generation.
    ///
    /// # Errors
    /// As of [`Registry::prepare`] and [`Registry::activate`].
    pub fn replace(&self, generation: Arc<Generation>) -> Result<Vec<Arc<Generation>>, SnapshotError> {
        self.activate(self.prepare([generation], &[])?)
    }
}
