//! A turn of a session that requires a build which is not the active one: it fails, and nothing of it is instantiated. A message
//! whose turn has not started yet starts it first, as it is, so that the turn has its one terminal record.

use futures::{StreamExt as _, stream};
use mainstay_protocol::{
    TurnId,
    content::Message,
    record::v1::{HookNotes, StopReason},
};
use mainstay_session::{Command, Effect, InputRuling, Queued};

use super::{Context, Outcome, Work, start_turn::queued_content};
use crate::session::{proposal::Staged, required::MissingBuild};

/// Fails the turn that owes an effect; `turn` is the id of the one that is to start.
pub(crate) fn refuse_turn(context: Context, effect: Effect, turn: TurnId, missing: &MissingBuild) -> Work {
    let message = missing.to_string();
    let fail = move |turn| Command::FailTurn { turn, stop: StopReason::RequiredBuildMissing, message };
    match effect {
        Effect::StartTurn(queued) => {
            let failed = fail(turn.clone());
            stream::once(async move { start_and_fail(&context, queued, turn, failed).await }).boxed()
        }
        Effect::OpenStep { turn, .. }
        | Effect::DecideCalls { turn, .. }
        | Effect::CallModel { turn, .. }
        | Effect::RunCalls { turn, .. }
        | Effect::CheckStop { turn, .. } => stream::iter([Outcome::Decided(vec![fail(turn)], Staged::new())]).boxed(),
    }
}

async fn start_and_fail(context: &Context, queued: Queued, turn: TurnId, failed: Command) -> Outcome {
    let content = match queued_content(context, &queued).await {
        Ok(content) => content,
        Err(unreadable) => return unreadable,
    };
    let ruling = InputRuling::Accept { message: Message::user(content), annotations: Vec::new() };
    let (submission, hooks) = (queued.submission, HookNotes::default());
    let started = Command::StartTurn { turn, submission, ruling, hooks };
    Outcome::Decided(vec![started, failed], Staged::new())
}
