//! The road of every call: place, store, instance, export, outcome, check. The deadline covers all of it but the wait for
//! the place.

use std::{future::Future, sync::Arc, time::Instant};

use mainstay_protocol::failure::CallFailure;
use tokio::time::{error::Elapsed, timeout_at};
use wasmtime::{Store, component::Instance};

use crate::{
    called::Called,
    generation::Generation,
    hook::Export,
    invocation::Invocation,
    limits::Limits,
    outcome::{self, Instantiating},
    places::Place,
    store::{self, CallState},
};

/// What to do in a fresh instance, and how to check what comes back.
pub(crate) trait Work: Send {
    /// What the guest returns.
    type Raw: Send;
    /// What is left of it when it was checked.
    type Output;

    /// Calls the guest.
    fn call(
        self,
        store: &mut Store<CallState>,
        instance: &Instance,
    ) -> impl Future<Output = wasmtime::Result<Self::Raw>> + Send;

    /// Checks and converts what it returned.
    fn check(raw: Self::Raw, limits: &Limits) -> Result<Self::Output, CallFailure>;
}

/// A store with its place in the pool. The fields drop in this order: the memory is back before the place is free.
pub(crate) struct Open {
    pub(crate) store: Store<CallState>,
    pub(crate) began: Instant,
    _place: Place,
}

impl Open {
    /// Waits for a place and makes a store. The deadline starts when the place is there.
    pub(crate) async fn new(
        generation: &Arc<Generation>,
        invocation: Invocation,
        serving: Export,
    ) -> Result<Self, CallFailure> {
        let place = generation.shared.places.take(generation.places).await?;
        let store = store::new(CallState::new(generation, invocation, serving));
        Ok(Self { store, began: Instant::now(), _place: place })
    }

    /// Instantiates the plugin and does some work until the deadline. After a failure the store is good for nothing but
    /// its report.
    pub(crate) async fn run<W: Work>(&mut self, work: W) -> Result<W::Output, CallFailure> {
        let generation = Arc::clone(&self.store.data().generation);
        let deadline = self.store.data().deadline;
        let store = &mut self.store;
        let done = timeout_at(deadline.into(), async move {
            let instance = generation.instantiate(store).await?;
            work.call(store, &instance).await
        });
        let done = done.await;
        let raw = self.settle(done)?;
        W::check(raw, self.store.data().generation.limits())
    }

    /// Tells what came of something that used the store.
    pub(crate) fn settle<T>(&self, done: Result<wasmtime::Result<T>, Elapsed>) -> Result<T, CallFailure> {
        let state = self.store.data();
        match done {
            Ok(Ok(raw)) => Ok(raw),
            Ok(Err(error)) => Err(outcome::classify(&error, state.limiter.hit(), state.generation.limits())),
            Err(_elapsed) => Err(outcome::timeout(state.generation.limits())),
        }
    }

    /// Ends the call. State is handed out only with a result.
    pub(crate) fn close<T>(self, result: Result<T, CallFailure>) -> Called<T> {
        let elapsed = self.began.elapsed();
        let state = self.store.into_data();
        let staged = if result.is_ok() { state.staged } else { Default::default() };
        Called { result, staged, stderr_tail: state.capture.text(), logs: state.logs, elapsed }
    }
}

impl Generation {
    /// Makes an instance in a fresh store.
    pub(crate) async fn instantiate(&self, store: &mut Store<CallState>) -> wasmtime::Result<Instance> {
        self.pre.instantiate_async(store).await.map_err(|error| error.context(Instantiating))
    }
}

/// One call from start to end.
pub(crate) async fn run<W: Work>(
    generation: &Arc<Generation>,
    invocation: Invocation,
    serving: Export,
    work: W,
) -> Called<W::Output> {
    match Open::new(generation, invocation, serving).await {
        Ok(mut open) => {
            let result = open.run(work).await;
            open.close(result)
        }
        Err(failure) => Called::not_started(failure),
    }
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::{
        content::{Part, ToolCall},
        model::ModelRequest,
    };

    use super::*;
    use crate::{Completion, Delivery, LoadRequest, Runtime};

    fn send<T: Send>(_: T) {}

    /// Every call can be spawned and moved between threads. Checked by the compiler alone.
    #[expect(dead_code, reason = "compiles, which is the test")]
    fn calls_are_send(generation: &Arc<Generation>, runtime: &Runtime, completion: &mut Completion) {
        let invocation: fn() -> Invocation = || unreachable!();
        let call: fn() -> ToolCall = || unreachable!();
        let request: fn() -> ModelRequest = || unreachable!();
        let load: fn() -> LoadRequest = || unreachable!();
        let content: fn() -> Vec<Part> = || unreachable!();
        send(generation.call_tool(invocation(), call()));
        send(generation.gate_call(invocation(), call()));
        send(generation.check_input(invocation(), content(), Delivery::Queue));
        send(generation.check_stop(invocation(), None, false));
        send(generation.start_model(invocation(), request()));
        send(completion.next());
        send(runtime.load(load()));
    }
}
