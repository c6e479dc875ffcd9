//! `model`: an adapter to a model provider. The host pulls; dropping a completion drops its instance, which is all that
//! cancelling takes.

use std::sync::Arc;

use mainstay_protocol::{
    failure::{CallFailure, Limit},
    model::{Delta, ModelRequest},
};
use tokio::time::timeout_at;
use wasmtime::{
    Store,
    component::{Instance, ResourceAny},
};

use super::{guest_error, not_served, order::Order, wit::model as wit};
use crate::{
    bindings::mainstay::plugin::{content, errors, model_data},
    call::{Open, Work},
    called::Called,
    check::{self, Check},
    generation::Generation,
    hook::Export,
    invocation::Invocation,
    limiter::LimitHit,
    limits::Limits,
    outcome,
    store::CallState,
};

/// What each delta and each model of a list counts at least, in bytes: empty ones are not free.
const LEAST_BYTES: usize = 16;

/// A model that an adapter offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelInfo {
    /// Its id.
    pub id: String,
    /// Tokens that input and output may have together.
    pub context_tokens: Option<u32>,
    /// Tokens that the output may have.
    pub output_tokens: Option<u32>,
    /// A JSON object.
    pub extras: Option<String>,
}

/// A running completion. It holds an instance and a place in the pool until it ends, fails or is dropped. One deadline,
/// `limits.call`, covers all of it.
pub struct Completion {
    generation: Arc<Generation>,
    phase: Phase,
    order: Order,
    bytes: u64,
}

enum Phase {
    Running(Box<Running>),
    /// The instance is gone; this is its report.
    Ended(Box<Called<()>>),
}

struct Running {
    open: Open,
    guest: wit::Guest,
    completion: ResourceAny,
}

impl Generation {
    /// Sends a request to the model, with the history of the invocation's transcript.
    ///
    /// The report of a completion that starts is empty here: it comes with [`Completion::close`].
    pub async fn start_model(self: &Arc<Self>, invocation: Invocation, request: ModelRequest) -> Called<Completion> {
        let Some(indices) = &self.subscriptions.model else {
            return Called::not_started(not_served(self.name(), Export::Model));
        };
        let mut open = match Open::new(self, invocation, Export::Model).await {
            Ok(open) => open,
            Err(failure) => return Called::not_started(failure),
        };
        match open.run(Start { indices, request: request.into() }).await {
            Ok((guest, completion)) => {
                let elapsed = open.began.elapsed();
                let phase = Phase::Running(Box::new(Running { open, guest, completion }));
                let completion = Completion { generation: Arc::clone(self), phase, order: Order::default(), bytes: 0 };
                Called { elapsed, ..Called::started(completion) }
            }
            Err(failure) => open.close(Err(failure)),
        }
    }
}

impl Completion {
    /// Which code runs it.
    pub fn generation(&self) -> &Arc<Generation> {
        &self.generation
    }

    /// Whether it has ended, with `finish` or with a failure.
    pub fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended(_))
    }

    /// Waits for the next deltas, checked: sizes, order, JSON. The list may be empty. After `finish` or a failure the
    /// instance is gone, and so is the place.
    ///
    /// Dropping this future before it is done leaves the instance in the middle of a call: all that can be done then is
    /// to drop or close the completion.
    ///
    /// # Errors
    /// The attempt has failed; nothing of it counts.
    pub async fn next(&mut self) -> Result<Vec<Delta>, CallFailure> {
        let Phase::Running(running) = &mut self.phase else {
            return Err(outcome::refused("the completion has ended"));
        };
        let next = running.next().await.and_then(|raw| self.check(raw));
        match &next {
            Err(failure) => self.end(Err(failure.clone())),
            Ok(_) if self.order.is_finished() => self.end(Ok(())),
            // An adapter that gives nothing without waiting must not keep this thread for itself.
            Ok(deltas) if deltas.is_empty() => tokio::task::yield_now().await,
            Ok(_) => {}
        }
        next
    }

    /// Ends it and tells what it wrote. State counts only when it has finished; one that is closed before counts as
    /// called off, with nothing staged.
    pub fn close(mut self) -> Called<()> {
        if !self.has_ended() {
            self.end(Err(outcome::refused("the completion was called off")));
        }
        match self.phase {
            Phase::Ended(report) => *report,
            Phase::Running(_) => unreachable!("it was ended above"),
        }
    }

    fn end(&mut self, result: Result<(), CallFailure>) {
        let empty = Box::new(Called::started(()));
        if let Phase::Running(running) = std::mem::replace(&mut self.phase, Phase::Ended(empty)) {
            self.phase = Phase::Ended(Box::new(running.open.close(result)));
        }
    }

    fn check(&mut self, raw: Vec<wit::Delta>) -> Result<Vec<Delta>, CallFailure> {
        let mut deltas = Vec::with_capacity(raw.len());
        for raw in raw {
            self.count(&raw)?;
            let delta = check::or_bad_output(convert_delta(raw))?;
            check::or_bad_output(self.order.take(&delta))?;
            deltas.push(delta);
        }
        Ok(deltas)
    }

    fn count(&mut self, delta: &wit::Delta) -> Result<(), CallFailure> {
        let allowed = self.generation.limits().output.get();
        self.bytes += bytes(delta) as u64;
        if self.bytes <= allowed {
            return Ok(());
        }
        Err(outcome::exceeded(LimitHit { limit: Limit::Output, allowed }))
    }
}

impl Running {
    async fn next(&mut self) -> Result<Vec<wit::Delta>, CallFailure> {
        let deadline = self.open.store.data().deadline.into();
        let completion = self.guest.completion();
        let done = timeout_at(deadline, completion.call_next(&mut self.open.store, self.completion)).await;
        self.open.settle(done)?.map_err(guest_error)
    }
}

impl std::fmt::Debug for Completion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Completion").field("generation", &self.generation).finish_non_exhaustive()
    }
}

struct Start<'a> {
    indices: &'a wit::GuestIndices,
    request: model_data::ModelRequest,
}

impl Work for Start<'_> {
    type Raw = (wit::Guest, Result<ResourceAny, errors::Error>);
    type Output = (wit::Guest, ResourceAny);

    async fn call(self, store: &mut Store<CallState>, instance: &Instance) -> wasmtime::Result<Self::Raw> {
        let guest = self.indices.load(&mut *store, instance)?;
        let started = guest.call_start(store, &self.request).await?;
        Ok((guest, started))
    }

    fn check((guest, started): Self::Raw, _: &Limits) -> Result<Self::Output, CallFailure> {
        Ok((guest, started.map_err(guest_error)?))
    }
}

/// Asks an adapter for its models, when it is loaded.
pub(crate) struct ListModels<'a>(pub(crate) &'a wit::GuestIndices);

impl Work for ListModels<'_> {
    type Raw = Result<Vec<wit::ModelInfo>, errors::Error>;
    type Output = Vec<ModelInfo>;

    async fn call(self, store: &mut Store<CallState>, instance: &Instance) -> wasmtime::Result<Self::Raw> {
        let guest = self.0.load(&mut *store, instance)?;
        guest.call_list_models(store).await
    }

    fn check(raw: Self::Raw, limits: &Limits) -> Result<Self::Output, CallFailure> {
        let models: Vec<_> = raw.map_err(guest_error)?.into_iter().map(convert_model).collect();
        let bytes = |model: &ModelInfo| (model.id.len() + length(model.extras.as_ref())).max(LEAST_BYTES);
        check::size(models.iter().map(bytes).sum(), limits)?;
        for model in &models {
            check::or_bad_output(check::word("the id of a model", &model.id))?;
            check::or_bad_output(check::extras("a model", model.extras.as_ref()))?;
        }
        Ok(models)
    }
}

fn convert_model(from: wit::ModelInfo) -> ModelInfo {
    let wit::ModelInfo { id, context_tokens, output_tokens, extras } = from;
    ModelInfo { id, context_tokens, output_tokens, extras }
}

fn convert_delta(from: wit::Delta) -> Check<Delta> {
    Ok(match from {
        wit::Delta::Text(text) => Delta::Text(text),
        wit::Delta::Part(part) => Delta::Part(part.into()),
        wit::Delta::Reasoning(text) => Delta::Reasoning(text),
        wit::Delta::ToolCallBegin(wit::CallStart { call_id, name }) => Delta::ToolCallBegin { call_id, name },
        wit::Delta::ToolCallArguments(fragment) => Delta::ToolCallArguments(fragment),
        wit::Delta::PrivatePart(bytes) => Delta::PrivatePart(bytes),
        wit::Delta::ItemEnd => Delta::ItemEnd,
        wit::Delta::Usage(usage) => {
            check::extras("a usage", usage.extras.as_ref())?;
            Delta::Usage(usage.into())
        }
        wit::Delta::Finish(finish) => {
            check::extras("a finish", finish.extras.as_ref())?;
            Delta::Finish(finish.into())
        }
    })
}

/// What a delta counts against `limits.output`.
fn bytes(delta: &wit::Delta) -> usize {
    let bytes = match delta {
        wit::Delta::Text(text) | wit::Delta::Reasoning(text) | wit::Delta::ToolCallArguments(text) => text.len(),
        wit::Delta::Part(part) => bytes_of_part(part),
        wit::Delta::ToolCallBegin(wit::CallStart { call_id, name }) => call_id.len() + name.len(),
        wit::Delta::PrivatePart(bytes) => bytes.len(),
        wit::Delta::ItemEnd => 0,
        wit::Delta::Usage(usage) => length(usage.extras.as_ref()),
        wit::Delta::Finish(finish) => {
            let optional = [&finish.model, &finish.response_id, &finish.extras];
            finish.detail.len() + optional.into_iter().map(|text| length(text.as_ref())).sum::<usize>()
        }
    };
    bytes.max(LEAST_BYTES)
}

fn bytes_of_part(part: &content::Part) -> usize {
    match part {
        content::Part::Text(text) | content::Part::Json(text) => text.len(),
        content::Part::Media(media) => {
            let source = match &media.source {
                content::Source::Inline(bytes) => bytes.len(),
                content::Source::Blob(reference) | content::Source::Uri(reference) => reference.len(),
            };
            source + media.media_type.len() + length(media.name.as_ref()) + length(media.extras.as_ref())
        }
        content::Part::Extension(extension) => extension.kind.len() + extension.data.len(),
    }
}

fn length(text: Option<&String>) -> usize {
    text.map_or(0, String::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_delta_counts_and_so_does_what_stands_beside_its_payload() {
        let media = content::Media {
            media_type: "image/png".into(),
            source: content::Source::Inline(vec![0; 100]),
            name: Some("n".repeat(50)),
            extras: Some("e".repeat(1_000)),
        };
        let finish = model_data::Finish {
            reason: model_data::FinishReason::Complete,
            detail: String::new(),
            model: Some("m".repeat(20)),
            response_id: None,
            extras: Some("e".repeat(200)),
        };
        assert_eq!(bytes(&wit::Delta::Text(String::new())), LEAST_BYTES);
        assert_eq!(bytes(&wit::Delta::ItemEnd), LEAST_BYTES);
        assert_eq!(bytes(&wit::Delta::Reasoning("x".repeat(17))), 17);
        assert_eq!(bytes(&wit::Delta::Part(content::Part::Media(media))), 1_159);
        assert_eq!(bytes(&wit::Delta::Finish(finish)), 220);
    }
}
