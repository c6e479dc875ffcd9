//! Ops as commands of the session core.

use mainstay_protocol::{
    SubmissionId,
    op::{FormAnswer, MAX_CODE_BYTES, MAX_TEXT_BYTES, Op, Refusal},
    record::v1::{CommandKind, SessionFault},
};
use mainstay_session::{Command, CommandEnd, ElicitationAnswer};

use crate::routes::Routes;

/// Whether the op reports an end that may have been reported before, by somebody else, or too late: then it changes nothing.
pub(super) const fn is_report(op: &Op) -> bool {
    matches!(op, Op::FailCheckpoint { .. } | Op::DeferCheckpoint { .. } | Op::EndCommand { .. })
}

/// The command that an op is.
pub(super) fn of(submission: SubmissionId, op: Op, routes: &Routes) -> Result<Command, Refusal> {
    Ok(match op {
        Op::Submit { content, delivery } => Command::Submit { submission, content, delivery },
        Op::Interrupt { turn } => Command::Interrupt { submission, turn },
        Op::Approve { approval, answer, comment } => Command::Approve { submission, approval, answer, comment },
        Op::SetModel { route } if routes.find(&route).is_none() => {
            return Err(Refusal::UnknownRoute { route, known: routes.known() });
        }
        Op::SetModel { route } => Command::SetModel { submission, route },
        Op::Retry {} => Command::Retry { cause: "requested".to_owned() },
        Op::Answer { elicitation, answer, values } => {
            Command::AnswerInput { submission, elicitation, answer: form_answer(answer, values)? }
        }
        Op::ReportActivity { activity, details } => Command::RecordActivity { activity, details },
        Op::ReportFault { code, message } => Command::Fault { fault: reported(code, message)? },
        Op::BeginCheckpoint { owner, related } => {
            Command::BeginOperation { command: submission, kind: CommandKind::Checkpoint, owner, related }
        }
        Op::CorrelateCheckpoint { command, related } => Command::CorrelateOperation { command, related },
        Op::SaveCheckpoint { command, archive } => Command::SaveCheckpoint { command, archive },
        Op::FailCheckpoint { command, message } => Command::FailOperation { command, message },
        Op::DeferCheckpoint { command, message } => Command::DeferOperation { command, message },
        Op::EndCommand { command, kind, reason, message } => {
            Command::EndCommand { command, kind, end: CommandEnd { reason, message } }
        }
    })
}

fn form_answer(answer: FormAnswer, values: Option<String>) -> Result<ElicitationAnswer, Refusal> {
    match (answer, values) {
        (FormAnswer::Accept, values) => Ok(ElicitationAnswer::Accept(values.unwrap_or_else(|| "{}".to_owned()))),
        (FormAnswer::Decline, None) => Ok(ElicitationAnswer::Decline),
        (FormAnswer::Decline, Some(_)) => {
            Err(Refusal::InvalidForm { reason: "`values` go with the answer `accept` only".to_owned() })
        }
    }
}

fn reported(code: String, message: String) -> Result<SessionFault, Refusal> {
    if code.is_empty() {
        return Err(Refusal::InvalidOp { reason: "a fault has a code".to_owned() });
    }
    Ok(SessionFault {
        code: clip(code, MAX_CODE_BYTES),
        message: clip(message, MAX_TEXT_BYTES),
        turn: None,
        build: None,
        stderr: String::new(),
        parks: false,
    })
}

fn clip(mut text: String, bytes: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes));
    text
}
