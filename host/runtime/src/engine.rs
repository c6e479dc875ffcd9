//! The runtime: one engine, its places, its compile cache and one linker with everything that a guest may import.

use std::{
    num::{NonZeroU32, NonZeroU64},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use tokio::sync::Semaphore;
use wasmtime::{Engine, component::Linker};

use crate::{
    allocation::{self, Allocated, Allocation},
    cache::CompileCache,
    capabilities,
    places::Places,
    store::CallState,
    ticker,
};

/// How the engine is built.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Places for concurrent calls. A component with several memories takes several.
    pub calls: NonZeroU32,
    /// The largest `limits.memory` of any plugin, in bytes. Each place of the pool reserves as much address space.
    pub max_memory_per_call: NonZeroU64,
    /// The largest `limits.table_elements` of any plugin.
    pub max_table_elements: NonZeroU32,
    /// Where memory comes from.
    pub allocation: Allocation,
    /// Where compiled components are kept; none compiles at each start. Made private to this user.
    pub cache_dir: Option<PathBuf>,
    /// How long a call waits for a place before it is told that the host is busy.
    pub place_wait: Duration,
    /// How often running guests are looked at: they overrun their time by about as much.
    pub tick: Duration,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            calls: NonZeroU32::MIN.saturating_add(63),
            max_memory_per_call: NonZeroU64::MIN.saturating_add((64 << 20) - 1),
            max_table_elements: NonZeroU32::MIN.saturating_add(19_999),
            allocation: Allocation::Auto,
            cache_dir: None,
            place_wait: Duration::from_secs(5),
            tick: Duration::from_millis(5),
        }
    }
}

/// Why the engine can not be built.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The engine refuses its settings, or the machine has too little address space even without a pool.
    #[error(
        "the WebAssembly engine can not start: {0}; executable memory must be allowed, and `ulimit -v` leave some hundred megabytes"
    )]
    Engine(String),
    /// The ticker thread can not be started.
    #[error("the WebAssembly engine can not start its clock thread: {0}; check the limit on threads (`ulimit -u`)")]
    Ticker(std::io::Error),
}

/// The plugin runtime. A handle: clones share everything.
#[derive(Clone)]
pub struct Runtime {
    pub(crate) shared: Arc<Shared>,
}

/// What all generations of a runtime share.
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) linker: Linker<CallState>,
    pub(crate) places: Places,
    pub(crate) cache: Option<CompileCache>,
    /// Compilation uses a whole core: one at a time, so that sessions keep theirs.
    pub(crate) compiling: Arc<Semaphore>,
    pub(crate) options: EngineOptions,
    allocated: Allocated,
}

impl Runtime {
    /// Builds the engine: with a pool of the size asked for, a smaller one, or none, whatever fits this machine.
    ///
    /// A cache folder that can not be trusted is not used; that is logged, and components are compiled at each start.
    ///
    /// # Errors
    /// The engine or its clock thread can not start.
    pub fn new(options: EngineOptions) -> Result<Self, EngineError> {
        let (engine, allocated) = allocation::build(&options)?;
        ticker::start(&engine, options.tick).map_err(EngineError::Ticker)?;
        let linker = capabilities::linker(&engine).map_err(|error| EngineError::Engine(format!("{error:#}")))?;
        let places = Places::new(allocated.calls(), options.place_wait);
        let cache = open_cache(&options, &engine);
        if allocated != (Allocated::Pool { calls: options.calls, shrunk: false })
            && options.allocation == Allocation::Auto
        {
            tracing::warn!(
                ?allocated,
                "the address space is tight: the pool of plugin instances is smaller than asked for"
            );
        }
        let compiling = Arc::new(Semaphore::new(1));
        Ok(Self { shared: Arc::new(Shared { engine, linker, places, cache, compiling, options, allocated }) })
    }

    /// What the probe settled on.
    pub fn allocated(&self) -> Allocated {
        self.shared.allocated
    }

    /// Whether compiled components are kept on disk.
    pub fn has_cache(&self) -> bool {
        self.shared.cache.is_some()
    }
}

impl Shared {
    pub(crate) const fn allocated(&self) -> Allocated {
        self.allocated
    }
}

fn open_cache(options: &EngineOptions, engine: &Engine) -> Option<CompileCache> {
    let folder = options.cache_dir.as_ref()?;
    CompileCache::open(folder, engine)
        .inspect_err(|error| tracing::warn!(folder = %folder.display(), "the compile cache is not used: {error}"))
        .ok()
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").field("allocated", &self.shared.allocated).finish_non_exhaustive()
    }
}
