//! B5: the calls of a run, together. Each runs on the build that its intent names; what a tool returns is cut to a bound.

use std::sync::Arc;

use futures::{StreamExt as _, stream::FuturesUnordered};
use mainstay_journal::Committed;
use mainstay_protocol::{
    CallIndex, CallKey, PluginName, StepIndex, TurnId,
    content::Part,
    failure::{CallFailure, PluginError},
    news::News,
    record::v1::CallOutcome,
};
use mainstay_runtime::{Called, Generation, NewsSink, ToolOutput};
use mainstay_session::{Effect, FinishedCall, PlannedRun};

use super::{
    CallPlace, Context, Outcome, Work,
    decide_calls::planned_call,
    hooks::build,
    output_bounds,
    report::report,
    whole_output::{Bounded, bound},
};
use crate::{session::proposal::Staged, shared::Shared};

/// Runs the calls that a committed effect names.
pub(crate) fn run_calls(context: &Context, effect: &Committed<Effect>) -> Work {
    let Effect::RunCalls { turn, step, calls } = effect.get() else { return futures::stream::empty().boxed() };
    let calls: FuturesUnordered<_> =
        calls.iter().map(|run| run_one(context.clone(), turn.clone(), *step, run.clone())).collect();
    calls.boxed()
}

async fn run_one(context: Context, turn: TurnId, step: StepIndex, run: PlannedRun) -> Outcome {
    let (index, plugin) = (run.index, run.authorised.build.plugin.clone());
    let called = match find(&context, &run) {
        Ok((generation, call)) => {
            let key = CallKey { turn: turn.clone(), step, index };
            let name = format!("{turn}/{step}/{index}");
            let place = CallPlace { name, turn: Some(&turn), step: Some(step) };
            let mut invocation = context.invocation(&place, &plugin);
            invocation.call = Some(index);
            invocation.attempt = run.attempt;
            invocation.idempotency_key = Some(key.idempotency_key(&context.shared.tenant, &context.session));
            invocation.news =
                Some(Arc::new(Progress { shared: Arc::clone(&context.shared), session: context.session.clone(), key }));
            context.shared.pass("call.started");
            let called = generation.call_tool(invocation, call).await;
            report(&context.session, &generation, &called);
            called
        }
        Err(reason) => return Outcome::Ended(Box::new(refused(&run, reason)), Staged::new()),
    };
    context.shared.pass("call.finished");
    let staged = Staged::from([(plugin, called.staged.clone())]);
    Outcome::Ended(Box::new(finished(&run, called)), staged)
}

fn find(
    context: &Context,
    run: &PlannedRun,
) -> Result<(Arc<Generation>, mainstay_protocol::content::ToolCall), String> {
    let call = planned_call(context, run.index).ok_or("the call's item is missing")?;
    let tool = context.snapshot.find_tool(&run.tool).ok_or("its tool is no longer active")?;
    if build(&tool.generation) != run.authorised.build {
        return Err("the build that it was authorised for is no longer active".to_owned());
    }
    Ok((Arc::clone(&tool.generation), call))
}

fn refused(run: &PlannedRun, reason: String) -> FinishedCall {
    let failure = CallFailure::Refused { reason };
    failed(run, failure, 0)
}

fn finished(run: &PlannedRun, called: Called<ToolOutput>) -> FinishedCall {
    let ms = u64::try_from(called.elapsed.as_millis()).unwrap_or(u64::MAX);
    match called.result {
        Ok(output) => {
            let Bounded { content, extras, whole } = bound(output.content, output.extras);
            FinishedCall {
                index: run.index,
                content,
                is_error: output.is_error,
                extras,
                outcome: CallOutcome::Returned,
                build: Some(run.authorised.build.clone()),
                ms,
                whole,
            }
        }
        Err(failure) => failed(run, failure, ms),
    }
}

fn failed(run: &PlannedRun, failure: CallFailure, ms: u64) -> FinishedCall {
    let text = match &failure {
        CallFailure::Guest(PluginError { message, .. }) => message.clone(),
        failure => format!("the call of `{}` failed: {failure}", run.tool),
    };
    let Bounded { content, extras, whole } = bound(vec![Part::Text(text)], None);
    FinishedCall {
        index: run.index,
        content,
        is_error: true,
        extras,
        outcome: CallOutcome::Failed(output_bounds::shorten(failure)),
        build: Some(run.authorised.build.clone()),
        ms,
        whole,
    }
}

/// Hands a tool's progress to those who watch.
struct Progress {
    shared: Arc<Shared>,
    session: mainstay_protocol::SessionId,
    key: CallKey,
}

impl NewsSink for Progress {
    fn progress(&self, _plugin: &PluginName, text: String, done: Option<u32>, total: Option<u32>) {
        let CallKey { turn, step, index } = self.key.clone();
        let call: CallIndex = index;
        self.shared.hub.tell(&self.session, || [News::Progress { turn, step, call, text, done, total }]);
    }
}
