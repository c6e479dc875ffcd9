//! B6 and B7: stop hooks decide whether a turn whose model is done may end. A failing one lets it end, with a fault.

use futures::{StreamExt as _, stream};
use mainstay_protocol::{
    ItemId, TurnId,
    content::{ItemBody, plain_text},
};
use mainstay_runtime::{Hook, StopDecision};
use mainstay_session::Command;

use super::{
    CallPlace, Context, Outcome, Work,
    hooks::{Asked, Said},
    report::report,
};

/// Asks stop hooks. The first that wants one more step wins.
pub(crate) fn check_stop(context: Context, turn: TurnId, last_message: Option<ItemId>, continued: bool) -> Work {
    stream::once(ask(context, turn, last_message, continued)).boxed()
}

async fn ask(mut context: Context, turn: TurnId, last_message: Option<ItemId>, continued: bool) -> Outcome {
    let text = last_message.and_then(|id| context.view.find(id)).and_then(|item| match &item.body {
        ItemBody::Message(message) => Some(plain_text(&message.content)),
        _ => None,
    });
    let steps = context.state.turn().map_or(0, |turn| turn.steps);
    let mut said = Said::default();
    let mut go_on = None;
    let snapshot = std::sync::Arc::clone(&context.snapshot);
    for generation in snapshot.hooks(Hook::Stop) {
        let name = format!("{turn}/stop/{steps}/{}", generation.name());
        let place = CallPlace { name, turn: Some(&turn), step: None };
        let invocation = context.invocation(&place, generation.name());
        let asked = Asked { hook: "stop", generation, turn: Some(&turn), call: None };
        let called = generation.check_stop(invocation, text.clone(), continued).await;
        report(&context.session, generation, &called);
        match &called.result {
            Ok(decision) => {
                context.staged.insert(generation.name().clone(), called.staged);
                match decision {
                    StopDecision::Finish => said.passed(&asked),
                    StopDecision::GoOn(_) if continued || go_on.is_some() => {
                        said.decided(&asked, "go-on-refused", None);
                    }
                    StopDecision::GoOn(message) => {
                        said.decided(&asked, "go-on", None);
                        go_on = Some(message.clone());
                    }
                }
            }
            Err(_) => drop(said.failed(&asked, &called)),
        }
    }
    let mut commands: Vec<_> = said.faults.into_iter().map(|fault| Command::Fault { fault }).collect();
    commands.push(match go_on {
        Some(message) => Command::ContinueTurn { turn, message, hooks: said.notes },
        None => Command::FinishTurn { turn, hooks: said.notes },
    });
    Outcome::Decided(commands, context.staged)
}
