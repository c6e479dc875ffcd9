//! B3: one model call, pulled to its end. What it says is news until the step is committed.

use std::{sync::Arc, time::Instant};

use futures::{StreamExt as _, stream};
use mainstay_journal::Committed;
use mainstay_protocol::{
    RouteName, StepIndex, TurnId,
    failure::{CallFailure, ErrorKind, Limit, PluginError},
    model::{Delta, ModelRequest, ToolChoice, ToolOffer},
    news::News,
    record::v1::{Attempt, AttemptError, Build, ContextOwner, Reason, SessionFault, StopReason},
};
use mainstay_runtime::{Completion, Generation};
use mainstay_session::{Command, Effect, Output};

use super::{
    CallPlace, Context, Outcome, Work,
    assemble::{Assembled, Assembler},
    hooks::build,
    output_bounds,
    report::{is_fault, report, tail},
};
use crate::{routes::Route, session::proposal::Staged};

/// Asks the model of the session's route.
pub(crate) fn call_model(context: Context, effect: &Committed<Effect>) -> Work {
    let Effect::CallModel { turn, step } = effect.get() else { return stream::empty().boxed() };
    let (turn, step) = (turn.clone(), *step);
    stream::once(async move { Step { context, turn, step }.run().await }).boxed()
}

struct Step {
    context: Context,
    turn: TurnId,
    step: StepIndex,
}

/// An attempt that gave nothing.
struct Lost {
    error: AttemptError,
    usage: Option<mainstay_protocol::model::Usage>,
    stderr: String,
}

impl From<CallFailure> for Lost {
    fn from(failure: CallFailure) -> Self {
        let error = match failure {
            CallFailure::Guest(error) => AttemptError::Adapter(output_bounds::error(error)),
            failure => AttemptError::Call(failure),
        };
        Self { error, usage: None, stderr: String::new() }
    }
}

impl Step {
    async fn run(self) -> Outcome {
        self.context.shared.pass("model.started");
        let began = Instant::now();
        let Some(name) = self.context.state.route().cloned() else {
            return self.fail(StopReason::NoRoute, Reason::new("no-route", "the session has no model route"));
        };
        if let Some(problem) = self.context.view.invalid() {
            let reason = Reason::new("invalid-request", format!("the history is not valid: {problem}"));
            return self.fail(StopReason::InvalidRequest, reason);
        }
        let Some(route) = self.context.shared.routes.find(&name).cloned() else {
            let reason = format!("the route `{name}` is not in the manifest; add it, or select another");
            return self.fail(StopReason::UnknownRoute, Reason::new("unknown-route", reason));
        };
        let Some(adapter) = self.context.snapshot.model_adapter(&route.adapter).cloned() else {
            let reason = format!("the adapter `{}` of route `{name}` is not an active plugin", route.adapter);
            return self.fail(StopReason::UnknownRoute, Reason::new("unknown-adapter", reason));
        };
        let served_by = build(&adapter);
        let attempt = |usage, error| attempt(&name, &served_by, began, usage, error);
        match self.attempt(&route, adapter.clone()).await {
            Ok((whole, staged)) => {
                let attempts = vec![attempt(whole.usage, None)];
                let context_owner = ContextOwner { route: name.clone(), context_group: route.context_group };
                let output = Output { items: whole.items, attempts, context_owner, finish: whole.finish };
                let command = Command::AcceptOutput { turn: self.turn, step: self.step, output };
                Outcome::Decided(vec![command], staged)
            }
            Err(lost) => {
                let (stop, reason) = (stop_reason(&lost.error), why(&name, &lost.error));
                let fault = fault(&self.turn, &lost, &reason, &served_by);
                let attempts = vec![attempt(lost.usage, Some(lost.error))];
                self.drop_attempt();
                self.fail_after(fault, attempts, stop, reason)
            }
        }
    }

    async fn attempt(&self, route: &Route, adapter: Arc<Generation>) -> Result<(Assembled, Staged), Lost> {
        let name = format!("{}/{}/model", self.turn, self.step);
        let place = CallPlace { name, turn: Some(&self.turn), step: Some(self.step) };
        let mut invocation = self.context.invocation(&place, adapter.name());
        invocation.context_group = Some(route.context_group.clone());
        invocation.transcript = Some(Arc::new(self.context.view.for_model(&route.context_group)));
        let started = adapter.start_model(invocation, self.request(route)).await;
        report(&self.context.session, &adapter, &started);
        let stderr = tail(&started.stderr_tail);
        let mut completion = started.result.map_err(|failure| Lost { stderr, ..Lost::from(failure) })?;
        let mut assembler = Assembler::new(&route.context_group);
        let pulled = self.pull(&mut completion, &mut assembler).await;
        let mut closed = completion.close();
        closed.result = pulled.and(closed.result);
        report(&self.context.session, &adapter, &closed);
        let (usage, stderr) = (assembler.usage().cloned(), tail(&closed.stderr_tail));
        let whole = closed.result.and_then(|()| assembler.end().map_err(broken));
        let whole = whole.map_err(|failure| Lost { usage, stderr, ..Lost::from(failure) })?;
        Ok((whole, Staged::from([(adapter.name().clone(), closed.staged)])))
    }

    /// Takes all that the adapter gives.
    async fn pull(&self, completion: &mut Completion, assembler: &mut Assembler) -> Result<(), CallFailure> {
        while !assembler.has_finished() {
            for delta in completion.next().await? {
                self.tell(&delta);
                assembler.take(delta).map_err(broken)?;
            }
        }
        Ok(())
    }

    fn request(&self, route: &Route) -> ModelRequest {
        let offer = |tool: &mainstay_runtime::CatalogTool| ToolOffer {
            name: tool.definition.name.clone(),
            description: tool.definition.description.clone(),
            input_schema: tool.definition.input_schema.clone(),
            extras: tool.definition.extras.clone(),
        };
        ModelRequest {
            model: route.model.clone(),
            settings: route.settings.clone(),
            system: Vec::new(),
            tools: self.context.snapshot.tools().map(offer).collect(),
            tool_choice: ToolChoice::Auto,
            output_schema: None,
            max_output_tokens: None,
            extras: None,
        }
    }

    fn tell(&self, delta: &Delta) {
        // Private parts are between the host and the adapter.
        if matches!(delta, Delta::PrivatePart(_)) {
            return;
        }
        let news = || [News::Delta { turn: self.turn.clone(), step: self.step, delta: delta.clone() }];
        self.context.shared.hub.tell(&self.context.session, news);
    }

    fn drop_attempt(&self) {
        let news = || [News::AttemptDropped { turn: self.turn.clone(), step: self.step }];
        self.context.shared.hub.tell(&self.context.session, news);
    }

    fn fail(self, stop: StopReason, reason: Reason) -> Outcome {
        self.fail_after(None, Vec::new(), stop, reason)
    }

    fn fail_after(
        self,
        fault: Option<SessionFault>,
        attempts: Vec<Attempt>,
        stop: StopReason,
        reason: Reason,
    ) -> Outcome {
        let mut commands: Vec<_> = fault.into_iter().map(|fault| Command::Fault { fault }).collect();
        commands.push(Command::FailStep { turn: self.turn, step: self.step, attempts, stop, reason });
        Outcome::Decided(commands, Staged::new())
    }
}

/// What the session's records say when the adapter or the host broke.
fn fault(turn: &TurnId, lost: &Lost, reason: &Reason, served_by: &Build) -> Option<SessionFault> {
    let AttemptError::Call(failure) = &lost.error else { return None };
    is_fault(failure).then(|| SessionFault {
        code: "model-failed".to_owned(),
        message: reason.message.clone(),
        turn: Some(turn.clone()),
        build: Some(served_by.clone()),
        stderr: lost.stderr.clone(),
        parks: false,
    })
}

fn broken(reason: String) -> CallFailure {
    CallFailure::BadOutput { reason }
}

fn attempt(
    route: &RouteName,
    build: &Build,
    began: Instant,
    usage: Option<mainstay_protocol::model::Usage>,
    error: Option<AttemptError>,
) -> Attempt {
    let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    Attempt { route: route.clone(), build: Some(build.clone()), usage, error, ms }
}

fn why(route: &RouteName, error: &AttemptError) -> Reason {
    match error {
        AttemptError::Adapter(error) => {
            let code = if error.code.is_empty() { "provider-error" } else { &error.code };
            Reason::new(code, format!("the model of route `{route}` failed: {}", error.message))
        }
        AttemptError::Call(failure) => {
            Reason::new(failure.code(), format!("the adapter of route `{route}` failed: {failure}"))
        }
    }
}

/// Why the turn fails, by the type of what went wrong: no message decides it.
const fn stop_reason(error: &AttemptError) -> StopReason {
    match error {
        AttemptError::Adapter(PluginError { kind: ErrorKind::LimitExceeded, .. }) => StopReason::QuotaExceeded,
        AttemptError::Adapter(_) | AttemptError::Call(CallFailure::Guest(_)) => StopReason::ProviderError,
        AttemptError::Call(CallFailure::Trap { .. }) => StopReason::PluginTrap,
        AttemptError::Call(CallFailure::Timeout { .. }) => StopReason::TimeExhausted,
        AttemptError::Call(CallFailure::LimitExceeded { limit: Limit::Memory, .. }) => StopReason::MemoryExhausted,
        AttemptError::Call(CallFailure::LimitExceeded { .. }) => StopReason::LimitExceeded,
        AttemptError::Call(CallFailure::Refused { .. }) => StopReason::CapabilityDenied,
        AttemptError::Call(CallFailure::BadOutput { .. }) => StopReason::IncompatibleInterface,
        AttemptError::Call(CallFailure::Busy { .. }) => StopReason::HostBusy,
        AttemptError::Call(CallFailure::Host { .. }) => StopReason::HostFailed,
    }
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::{Digest, PluginName};

    use super::*;

    fn fault_of(failure: CallFailure) -> Option<SessionFault> {
        let lost = Lost { stderr: "panicked".to_owned(), ..Lost::from(failure) };
        let reason = why(&RouteName::new("default").expect("legal"), &lost.error);
        let plugin = PluginName::new("adapter").expect("legal");
        let served_by = Build { plugin, sha256: Digest::of_fields("test", &[]) };
        fault(&crate::clock::new_turn(), &lost, &reason, &served_by)
    }

    #[test]
    fn an_adapter_that_broke_is_a_fault_with_its_stderr() {
        let fault = fault_of(CallFailure::Trap { message: "unreachable".to_owned() }).expect("a fault");
        assert_eq!((fault.code.as_str(), fault.stderr.as_str(), fault.parks), ("model-failed", "panicked", false));
        assert!(fault.message.contains("unreachable") && fault.turn.is_some() && fault.build.is_some());
    }

    #[test]
    fn an_error_of_the_provider_is_none_and_its_message_is_bounded() {
        let error = PluginError::new(ErrorKind::Unavailable, "overloaded", "x".repeat(100_000));
        assert_eq!(fault_of(CallFailure::Guest(error.clone())), None);
        let AttemptError::Adapter(kept) = Lost::from(CallFailure::Guest(error)).error else { panic!("it is its own") };
        assert_eq!((kept.code.as_str(), kept.message.len()), ("overloaded", 2_000));
    }

    #[test]
    fn a_turn_fails_for_a_typed_reason_whatever_the_message_says() {
        let adapter = |kind| CallFailure::Guest(PluginError::new(kind, "trap", "the plugin trapped: out of memory"));
        let limit = |limit| CallFailure::LimitExceeded { limit, allowed: 1 };
        let text = || "quota exceeded".to_owned();
        let cases = [
            (adapter(ErrorKind::Unavailable), StopReason::ProviderError),
            (adapter(ErrorKind::LimitExceeded), StopReason::QuotaExceeded),
            (CallFailure::Trap { message: text() }, StopReason::PluginTrap),
            (CallFailure::Timeout { allowed_ms: 1 }, StopReason::TimeExhausted),
            (limit(Limit::Memory), StopReason::MemoryExhausted),
            (limit(Limit::Output), StopReason::LimitExceeded),
            (CallFailure::Refused { reason: text() }, StopReason::CapabilityDenied),
            (CallFailure::BadOutput { reason: text() }, StopReason::IncompatibleInterface),
            (CallFailure::Busy { waited_ms: 1 }, StopReason::HostBusy),
            (CallFailure::Host { message: text() }, StopReason::HostFailed),
        ];
        for (failure, expected) in cases {
            assert_eq!(stop_reason(&Lost::from(failure.clone()).error), expected, "{failure:?}");
        }
    }
}
