//! B2: input hooks decide over the first message of the queue, and its turn starts, or the session parks.

use futures::{StreamExt as _, stream};
use mainstay_protocol::{
    TurnId,
    content::{Message, Part},
    record::v1::{Reason, SessionFault},
};
use mainstay_runtime::{Delivery, Hook, InputChange, InputDecision};
use mainstay_session::{Command, InputRuling, Queued};

use super::{
    CallPlace, Context, Outcome, Work,
    hooks::{Asked, Failed, Said, reason},
    report::report,
};
use crate::session::proposal::Staged;

/// Asks input hooks about a queued message.
pub(crate) fn start_turn(context: Context, queued: Queued, turn: TurnId) -> Work {
    stream::once(async move {
        match queued_content(&context, &queued).await {
            Ok(content) => ask(context, queued, turn, content).await,
            Err(unreadable) => unreadable,
        }
    })
    .boxed()
}

/// What a queued message says. One that can't be read parks the session.
pub(super) async fn queued_content(context: &Context, queued: &Queued) -> Result<Vec<Part>, Outcome> {
    let Context { shared, session, .. } = context;
    let read = shared.journal.queued(&shared.tenant, session, queued.accepted).await;
    let message = read.map_err(|error| error.to_string());
    let message = message.and_then(|message| message.ok_or_else(|| "it is not in the queue".to_owned()));
    message
        .map(|message| message.content)
        .map_err(|error| Outcome::Decided(vec![Command::Park { fault: unreadable(&error) }], Staged::new()))
}

fn unreadable(error: &str) -> SessionFault {
    SessionFault {
        code: "message-unreadable".to_owned(),
        message: format!("the first message of the queue can't be read: {error}"),
        turn: None,
        build: None,
        stderr: String::new(),
        parks: true,
    }
}

/// The message on its way through the hooks.
struct Passage {
    content: Vec<Part>,
    annotations: Vec<Message>,
    rejected: Option<Reason>,
}

async fn ask(mut context: Context, queued: Queued, turn: TurnId, content: Vec<Part>) -> Outcome {
    let mut said = Said::default();
    let mut passage = Passage { content, annotations: Vec::new(), rejected: None };
    let snapshot = std::sync::Arc::clone(&context.snapshot);
    for generation in snapshot.hooks(Hook::Input) {
        let name = format!("{}/input/{}", queued.submission, generation.name());
        let place = CallPlace { name, turn: None, step: None };
        let invocation = context.invocation(&place, generation.name());
        let asked = Asked { hook: "input", generation, turn: None, call: None };
        let mut called = generation.check_input(invocation, passage.content.clone(), Delivery::Queue).await;
        report(&context.session, generation, &called);
        match std::mem::replace(&mut called.result, Ok(InputDecision::Accept(Vec::new()))) {
            Ok(decision) => {
                context.staged.insert(generation.name().clone(), called.staged);
                passage.take(&mut said, &asked, decision);
            }
            Err(failure) => {
                called.result = Err(failure);
                if let Failed::Closed(_) = said.failed(&asked, &called) {
                    return park(said);
                }
            }
        }
        if passage.rejected.is_some() {
            break;
        }
    }
    let mut commands =
        vec![Command::StartTurn { turn, submission: queued.submission, ruling: passage.ruling(), hooks: said.notes }];
    commands.extend(said.faults.into_iter().map(|fault| Command::Fault { fault }));
    Outcome::Decided(commands, context.staged)
}

/// A failing hook that must not be skipped leaves the message where it is.
fn park(said: Said) -> Outcome {
    let commands = said.faults.into_iter().map(|fault| Command::Park { fault }).collect();
    Outcome::Decided(commands, Staged::new())
}

impl Passage {
    fn take(&mut self, said: &mut Said, asked: &Asked<'_>, decision: InputDecision) {
        match decision {
            InputDecision::Accept(changes) if changes.is_empty() => said.passed(asked),
            InputDecision::Accept(changes) => {
                for change in changes {
                    match change {
                        InputChange::Rewrite(content) => {
                            said.decided(asked, "rewrite", None);
                            self.content = content;
                        }
                        InputChange::Annotate(message) => {
                            said.decided(asked, "annotate", None);
                            self.annotations.push(message);
                        }
                    }
                }
            }
            InputDecision::Reject(grounds) => {
                let reason = reason(grounds);
                said.decided(asked, "reject", Some(reason.clone()));
                self.rejected = Some(reason);
            }
        }
    }

    fn ruling(self) -> InputRuling {
        match self.rejected {
            Some(reason) => InputRuling::Reject(reason),
            None => InputRuling::Accept { message: Message::user(self.content), annotations: self.annotations },
        }
    }
}
