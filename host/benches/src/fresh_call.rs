//! `fresh_call_1k_json`: a tool call with 1 KiB of JSON in and out, from store built to store dropped, beside the same guest on
//! the same engine called with wasmtime alone.

use std::{sync::Arc, time::Instant};

use anyhow::{Result, ensure};
use mainstay_protocol::{PluginName, TenantId, content::ToolCall};
use mainstay_runtime::{EngineOptions, Generation, Invocation, LoadRequest, Runtime};
use wasmtime::{
    Engine, Store,
    component::{Component, InstancePre, Linker, ResourceTable},
};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::{
    summary::{Figure, Summary, Timings},
    world::package,
};

const ROUNDS: usize = 20_000;
const WARM_UP: usize = 2_000;

mod bare {
    //! Bindings for the floor.
    #![allow(
        missing_docs,
        missing_debug_implementations,
        unreachable_pub,
        unused_qualifications,
        clippy::all,
        clippy::semicolon_if_nothing_returned,
        reason = "generated code"
    )]
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "tools-plugin",
        exports: { default: async },
    });
}

use bare::exports::mainstay::plugin::tools::{GuestIndices, ToolCall as BareCall};

pub(crate) async fn run(summary: &mut Summary) -> Result<()> {
    let file = package("test-plugins", "echo-json")?.join("echo-json.wasm");
    let component = std::fs::read(file)?;
    let runtime = Runtime::new(EngineOptions::default())?;
    let engine = mainstay_runtime::testing::engine(&runtime);
    let bare = Bare::new(&engine, &component)?;
    let name = PluginName::new("echo-json")?;
    let generation = runtime.load(LoadRequest::new(name, "0.1.0", component)).await?;
    let arguments = arguments();
    let (mut ours, mut floors) = (Timings::default(), Timings::default());
    for round in 0..ROUNDS + WARM_UP {
        let floor = bare.call(&arguments).await?;
        let own = call(&generation, &arguments).await?;
        if round >= WARM_UP {
            floors.add(floor);
            ours.add(own);
        }
    }
    let floor = floors.median();
    summary.add(&Figure {
        name: "fresh_call_1k_json",
        value: ours.median(),
        unit: "us",
        floor: Some(floor),
        budget: Some(floor * 1.5),
    })?;
    Summary::note(&format!("p99 {:.0} us, floor p99 {:.0} us", ours.micros(0.99), floors.micros(0.99)));
    Ok(())
}

/// A JSON object of 1 KiB with values of each type.
fn arguments() -> String {
    let mut entries = Vec::new();
    for number in 0.. {
        entries.push(format!("\"key{number}\":[{number},true,null,\"text {number}\",{{\"x\":{number}.5}}]"));
        let text = format!("{{{}}}", entries.join(","));
        if text.len() >= 1024 {
            return text;
        }
    }
    unreachable!("the loop ends")
}

async fn call(generation: &Arc<Generation>, arguments: &str) -> Result<std::time::Duration> {
    let call = ToolCall { call_id: "c".to_owned(), name: "echo_json".to_owned(), arguments: arguments.to_owned() };
    let invocation = Invocation::outside_sessions(TenantId::default_tenant(), "bench");
    let began = Instant::now();
    let called = generation.call_tool(invocation, call).await;
    let elapsed = began.elapsed();
    ensure!(called.result.is_ok(), "the call failed: {:?}", called.result);
    Ok(elapsed)
}

struct State {
    ctx: WasiCtx,
    table: ResourceTable,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.ctx, table: &mut self.table }
    }
}

/// The guest with nothing of Mainstay around it.
struct Bare {
    engine: Engine,
    pre: InstancePre<State>,
    indices: GuestIndices,
}

impl Bare {
    fn new(engine: &Engine, bytes: &[u8]) -> Result<Self> {
        let component = Component::from_binary(engine, bytes)?;
        let mut linker = Linker::<State>::new(engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        let pre = linker.instantiate_pre(&component)?;
        let indices = GuestIndices::new(&pre)?;
        Ok(Self { engine: engine.clone(), pre, indices })
    }

    async fn call(&self, arguments: &str) -> Result<std::time::Duration> {
        let call = BareCall { call_id: "c".to_owned(), name: "echo_json".to_owned(), arguments: arguments.to_owned() };
        let began = Instant::now();
        let result = {
            let state = State { ctx: WasiCtx::builder().build(), table: ResourceTable::new() };
            let mut store = Store::new(&self.engine, state);
            store.set_epoch_deadline(1_000_000);
            let instance = self.pre.instantiate_async(&mut store).await?;
            let guest = self.indices.load(&mut store, &instance)?;
            guest.call_call_tool(&mut store, &call).await?
        };
        let elapsed = began.elapsed();
        ensure!(result.is_ok(), "the bare call failed");
        Ok(elapsed)
    }
}
