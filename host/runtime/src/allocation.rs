//! The engine and where its memory comes from: a pool sized to the options, a smaller one when the address space is
//! tight, and none at all when even that does not fit.

use std::num::NonZeroU32;

use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use crate::{
    engine::{EngineError, EngineOptions},
    limits::to_usize,
};

/// Where the memory of instances comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// A pool, as large as fits; without one when none fits.
    Auto,
    /// Fresh memory for each call. Slower, and needs the least address space.
    OnDemand,
}

/// What the probe settled on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocated {
    /// A pool with this many places.
    Pool {
        /// Calls that can run at once.
        calls: NonZeroU32,
        /// Whether it is smaller than the options asked for.
        shrunk: bool,
    },
    /// Fresh memory for each call; as many calls as the options say.
    OnDemand {
        /// Calls that can run at once.
        calls: NonZeroU32,
    },
}

impl Allocated {
    /// Calls that can run at once.
    pub const fn calls(self) -> NonZeroU32 {
        match self {
            Self::Pool { calls, .. } | Self::OnDemand { calls } => calls,
        }
    }
}

/// Core instances for each place: they are only counted, they take no address space before use.
pub(crate) const INSTANCES_PER_PLACE: u32 = 256;
/// Tables for each place. A guest of Rust or C has two.
pub(crate) const TABLES_PER_PLACE: u32 = 4;
/// Memories for each place. One of them is as large as `max_memory_per_call`; a component with more takes more places.
pub(crate) const MEMORIES_PER_PLACE: u32 = 1;

/// Address space that must stay free beside the pool: for compilers, threads and everything else.
const HEADROOM: usize = 256 << 20;
/// A pool with fewer places than this is not worth its address space.
const SMALLEST_POOL: u32 = 2;
const GUARD: u64 = 64 << 10;
/// Without a pool, a memory that outgrows its room is copied; this much room keeps that rare.
const ROOM_TO_GROW: u64 = 4 << 20;
const MEMORY_KEEP_RESIDENT: usize = 256 << 10;
const TABLE_AND_STACK_KEEP_RESIDENT: usize = 64 << 10;

/// Builds the engine, with the largest pool that fits.
pub(crate) fn build(options: &EngineOptions) -> Result<(Engine, Allocated), EngineError> {
    if options.allocation == Allocation::Auto
        && let Some(found) = largest_pool(options)
    {
        return Ok(found);
    }
    let mut config = common(options);
    config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
    config.memory_reservation(0).memory_reservation_for_growth(ROOM_TO_GROW).memory_guard_size(GUARD);
    let engine = Engine::new(&config).map_err(|error| EngineError::Engine(format!("{error:#}")))?;
    Ok((engine, Allocated::OnDemand { calls: options.calls }))
}

fn largest_pool(options: &EngineOptions) -> Option<(Engine, Allocated)> {
    let mut calls = options.calls;
    loop {
        match pool(options, calls) {
            Ok(engine) if has_headroom() => {
                let shrunk = calls < options.calls;
                return Some((engine, Allocated::Pool { calls, shrunk }));
            }
            Ok(_) => tracing::debug!(calls, "the pool leaves too little address space"),
            Err(error) => tracing::debug!(calls, "the pool does not fit: {error:#}"),
        }
        calls = NonZeroU32::new(calls.get() / 2).filter(|calls| calls.get() >= SMALLEST_POOL)?;
    }
}

fn pool(options: &EngineOptions, calls: NonZeroU32) -> wasmtime::Result<Engine> {
    let calls = calls.get();
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(calls)
        .total_core_instances(calls.saturating_mul(INSTANCES_PER_PLACE))
        .max_core_instances_per_component(INSTANCES_PER_PLACE)
        .total_memories(calls * MEMORIES_PER_PLACE)
        .total_tables(calls.saturating_mul(TABLES_PER_PLACE))
        .total_stacks(calls)
        .max_memory_size(to_usize(options.max_memory_per_call))
        .table_elements(usize::try_from(options.max_table_elements.get()).unwrap_or(usize::MAX))
        .max_component_instance_size(16 << 20)
        .max_core_instance_size(4 << 20)
        .max_memories_per_module(4)
        .max_tables_per_module(16)
        .linear_memory_keep_resident(MEMORY_KEEP_RESIDENT)
        .table_keep_resident(TABLE_AND_STACK_KEEP_RESIDENT)
        .async_stack_keep_resident(TABLE_AND_STACK_KEEP_RESIDENT)
        .pagemap_scan(Enabled::Auto);
    let mut config = common(options);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config.memory_reservation(options.max_memory_per_call.get()).memory_guard_size(GUARD);
    Engine::new(&config)
}

fn common(_options: &EngineOptions) -> Config {
    let mut config = Config::new();
    config
        .strategy(wasmtime::Strategy::Cranelift)
        .epoch_interruption(true)
        .memory_init_cow(true)
        .concurrency_support(false)
        .guard_before_linear_memory(false)
        .wasm_memory64(false)
        .wasm_gc(false)
        .shared_memory(false)
        .wasm_backtrace_max_frames(std::num::NonZeroUsize::new(16));
    config
}

/// Whether the rest of the process can still get address space. Nothing is touched, so nothing becomes resident.
fn has_headroom() -> bool {
    Vec::<u8>::new().try_reserve_exact(HEADROOM).is_ok()
}
