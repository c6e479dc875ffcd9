//! What one call's store holds, and how a store is made. A store serves one call or one completion and is never reused.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use wasmtime::{Store, UpdateDeadline, component::ResourceTable};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::{
    called::{LogLevel, LogLine, Logs},
    capture::Capture,
    generation::Generation,
    grant::Grant,
    hook::{Capability, Export},
    invocation::{Invocation, StateUsage},
    limiter::Limiter,
    limits::to_usize,
    outcome::Stop,
    staged::StagedState,
};

/// The data of a store: what host functions work on.
pub(crate) struct CallState {
    pub(crate) generation: Arc<Generation>,
    pub(crate) invocation: Invocation,
    pub(crate) serving: Export,
    pub(crate) table: ResourceTable,
    pub(crate) limiter: Limiter,
    pub(crate) capture: Capture,
    pub(crate) logs: Logs,
    pub(crate) log_budget: usize,
    pub(crate) staged: StagedState,
    pub(crate) session_usage: Option<StateUsage>,
    pub(crate) plugin_usage: Option<StateUsage>,
    pub(crate) deadline: Instant,
    wasi: WasiCtx,
}

impl CallState {
    pub(crate) fn new(generation: &Arc<Generation>, mut invocation: Invocation, serving: Export) -> Self {
        let limits = generation.limits();
        let capture = Capture::default();
        let mut table = ResourceTable::new();
        table.set_max_capacity(usize::try_from(limits.handles.get()).unwrap_or(usize::MAX));
        Self {
            staged: std::mem::take(&mut invocation.staged),
            invocation,
            serving,
            table,
            limiter: Limiter::new(limits),
            logs: Logs::default(),
            log_budget: to_usize(limits.log),
            session_usage: None,
            plugin_usage: None,
            deadline: Instant::now() + limits.call(),
            wasi: generation.wasi.context(&capture),
            capture,
            generation: Arc::clone(generation),
        }
    }

    pub(crate) fn grant(&self) -> &Grant {
        &self.generation.grant
    }

    /// Whether the guest may use a granted import.
    pub(crate) fn allows(&self, capability: Capability) -> bool {
        self.grant().allows(capability)
    }

    /// Time left until the call is ended.
    pub(crate) fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Takes a log line if its bytes fit into what is left of the budget.
    pub(crate) fn log(&mut self, level: LogLevel, message: String, fields: Option<String>) {
        let bytes = message.len() + fields.as_ref().map_or(0, String::len);
        let Some(left) = self.log_budget.checked_sub(bytes.max(1)) else {
            self.logs.dropped += 1;
            return;
        };
        self.log_budget = left;
        self.logs.lines.push(LogLine { level, message, fields });
    }
}

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// A store with all limits set.
pub(crate) fn new(state: CallState) -> Store<CallState> {
    let engine = state.generation.shared.engine.clone();
    let hostcall = to_usize(state.generation.limits().hostcall);
    let handles = usize::try_from(state.generation.limits().handles.get()).unwrap_or(usize::MAX);
    let mut store = Store::new(&engine, state);
    store.limiter(|state| &mut state.limiter);
    store.set_hostcall_fuel(hostcall);
    store.set_max_component_handles(handles);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|context| match context.data().remaining() {
        Duration::ZERO => Err(Stop::TimedOut.into()),
        _ => Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now()))),
    });
    store
}
