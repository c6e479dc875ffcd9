//! The loop of `run`: events of the session, lines of the person, signals; one at a time.

use std::io;

use futures::StreamExt;
use mainstay_protocol::{
    Ordinal, SessionId, SubmissionId, TurnId,
    content::Part,
    op::{ApprovalAnswer, Delivery, Op, Refusal},
    record::{RecordBody, v1::TurnEnded},
};
use mainstay_server::{
    Client,
    client::{ClientError, Events},
    wire::v1::{Accepted, ApprovalView, Event, Record, SessionView},
};

use super::{
    approvals::{Answer, Asker, Line, Pending},
    face::Face,
    input::Input,
    signals::Signals,
};
use crate::{
    exit::{Exit, Failure},
    terminal::ask::{QUESTION, parse_answer},
};

const PROMPT: &str = "> ";
const HELP: &str = "\
Type a message; it starts a turn, or waits until the running one has ended.
  /interrupt  call off the running turn (or Ctrl-C)
  /retry      try a parked session again
  /quit       leave (or Ctrl-D)
  /help       this text";

/// What the command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// One message; it ends with its turn.
    OneShot,
    /// No message; it ends when the session owes nothing.
    Resume,
    /// Messages line by line.
    Chat,
}

/// How it ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) exit: Exit,
    /// Whether the host may take the time to finish its work.
    pub(super) unhurried: bool,
}

/// Why it could not go on.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The host went away.
    Gone(Option<ClientError>),
    /// Anything else.
    Failed(Failure),
}

impl From<ClientError> for Trouble {
    fn from(error: ClientError) -> Self {
        if error.is_gone() { Self::Gone(Some(error)) } else { Self::Failed(error.into()) }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// A message of the person.
pub(super) fn message(text: String) -> Op {
    Op::Submit { content: vec![Part::Text(text)], delivery: Delivery::Queue }
}

fn new_submission() -> SubmissionId {
    SubmissionId::from_uuid(uuid::Uuid::now_v7())
}

pub(super) struct Conversation {
    client: Client,
    session: SessionId,
    mode: Mode,
    asker: Asker,
    face: Face,
    events: Events,
    input: Input,
    /// The command that goes on with the session.
    again: String,
    pending: Pending,
    turn: Option<TurnId>,
    /// The messages sent from here whose turns have not ended.
    ours: Vec<SubmissionId>,
    /// Whether the running turn was called off from here.
    interrupting: bool,
    /// Whether standard input has ended.
    deaf: bool,
    /// Whether the prompt stands and waits.
    prompted: bool,
    /// The last of the records that are only shown again; nobody is asked before they are through.
    replaying: Option<Ordinal>,
    ended: Option<Ended>,
}

impl Conversation {
    #[expect(clippy::too_many_arguments, reason = "each is a part of its own, and they meet here")]
    pub(super) fn new(
        client: Client,
        session: SessionId,
        mode: Mode,
        asker: Asker,
        face: Face,
        events: Events,
        input: Input,
        again: String,
        replaying: Option<Ordinal>,
    ) -> Self {
        Self {
            client,
            session,
            mode,
            asker,
            face,
            events,
            input,
            again,
            pending: Pending::default(),
            turn: None,
            ours: Vec::new(),
            interrupting: false,
            deaf: false,
            prompted: false,
            replaying,
            ended: None,
        }
    }

    pub(super) async fn run(
        mut self,
        prompt: Option<(SubmissionId, String)>,
        signals: &mut Signals,
    ) -> Result<Ended, Trouble> {
        let talked = self.talk(prompt, signals).await;
        // Whatever is said next, by whomever, begins on a line of its own.
        let closed = self.face.close();
        let ended = talked?;
        closed?;
        Ok(ended)
    }

    async fn talk(&mut self, prompt: Option<(SubmissionId, String)>, signals: &mut Signals) -> Result<Ended, Trouble> {
        // What is pending comes with the first event: it is known before anything else is said.
        self.next_event().await?;
        if let Some((submission, prompt)) = prompt {
            self.submit(submission, prompt).await?;
        }
        if self.mode == Mode::Chat {
            self.face.note("/help lists the commands")?;
        }
        loop {
            self.advance().await?;
            if let Some(ended) = self.ended {
                return Ok(ended);
            }
            tokio::select! {
                event = self.events.next() => self.take_event(event).await?,
                line = self.input.next(), if self.listens() => self.take_line(line).await?,
                () = signals.next() => self.take_signal().await?,
            }
        }
    }

    fn end(&mut self, exit: Exit, unhurried: bool) {
        self.ended.get_or_insert(Ended { exit, unhurried });
    }

    /// Whether a line of standard input would be understood.
    fn listens(&self) -> bool {
        let wanted = match self.asker {
            Asker::Program => true,
            Asker::Person => self.pending.asked().is_some(),
            Asker::Policy(_) | Asker::Nobody => false,
        };
        !self.deaf && (wanted || self.mode == Mode::Chat)
    }

    /// Does what can be done without anything new: asks, answers, prompts.
    async fn advance(&mut self) -> Result<(), Trouble> {
        if self.replaying.is_some() {
            return Ok(());
        }
        while self.ended.is_none()
            && let Some(view) = self.pending.ask()
        {
            self.ask(&view).await?;
        }
        let idle = self.turn.is_none() && self.ours.is_empty() && self.pending.is_empty();
        if self.mode == Mode::Chat && idle && !self.prompted && self.ended.is_none() {
            self.prompted = true;
            self.face.prompt(PROMPT)?;
        }
        Ok(())
    }

    async fn ask(&mut self, view: &ApprovalView) -> Result<(), Trouble> {
        match self.asker {
            Asker::Policy(answer) => {
                self.face.ask(view, None)?;
                let (word, option) = match answer {
                    ApprovalAnswer::Approve => ("approved", "all"),
                    ApprovalAnswer::Deny => ("denied", "none"),
                };
                self.face.warn(&format!("  {word} by --approve {option}"))?;
                let comment = (answer == ApprovalAnswer::Deny).then(|| "denied by the policy of this run".to_owned());
                self.answer(Answer { approval: view.approval.clone(), answer, comment }).await
            }
            Asker::Person if self.deaf => self.leave_pending(),
            Asker::Person => Ok(self.face.ask(view, Some(QUESTION))?),
            Asker::Program if self.deaf => self.leave_pending(),
            Asker::Program => Ok(()),
            Asker::Nobody => {
                let all: Vec<_> = self.pending.all().cloned().collect();
                for view in &all {
                    self.face.ask(view, None)?;
                }
                self.leave_pending()
            }
        }
    }

    /// Nobody here can answer: the question stays, and the command says how to answer it.
    fn leave_pending(&mut self) -> Result<(), Trouble> {
        let again = &self.again;
        self.face.warn(&format!(
            "an approval is pending, and nobody here can answer it; it stays pending. Answer it on a terminal:\n  {again}\n\
             or for all calls at once:\n  {again} --approve all < /dev/null"
        ))?;
        self.end(Exit::Waiting, true);
        Ok(())
    }

    async fn answer(&mut self, answer: Answer) -> Result<(), Trouble> {
        let Answer { approval, answer, comment } = answer;
        let op = Op::Approve { approval: approval.clone(), answer, comment };
        match self.op(op).await {
            Ok(_) => {}
            Err(ClientError::Refused(
                refusal @ (Refusal::AlreadyResolved { .. } | Refusal::UnknownApproval { .. }),
            )) => self.face.warn(&refusal.to_string())?,
            Err(error) => return Err(error.into()),
        }
        self.pending.resolved(&approval);
        Ok(())
    }

    /// Sends an op under an id of our own. When the connection breaks before the answer, the same op under the same id is
    /// accepted once.
    async fn op(&mut self, op: Op) -> Result<Accepted, ClientError> {
        self.op_as(new_submission(), op).await
    }

    async fn op_as(&mut self, submission: SubmissionId, op: Op) -> Result<Accepted, ClientError> {
        match self.client.op(&self.session, Some(submission.clone()), op.clone()).await {
            Err(ClientError::Broken(_) | ClientError::TimedOut(_)) => {
                self.client.op(&self.session, Some(submission), op).await
            }
            answered => answered,
        }
    }

    async fn submit(&mut self, submission: SubmissionId, text: String) -> Result<(), Trouble> {
        self.face.sent(submission.clone());
        self.ours.push(submission.clone());
        match self.op_as(submission.clone(), message(text)).await {
            Ok(_) => Ok(()),
            Err(ClientError::Refused(refusal)) if self.mode == Mode::Chat => {
                self.ours.retain(|ours| *ours != submission);
                self.prompted = false;
                Ok(self.face.warn(&refusal.to_string())?)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn next_event(&mut self) -> Result<(), Trouble> {
        let event = self.events.next().await;
        self.take_event(event).await
    }

    async fn take_event(&mut self, event: Option<Result<Event, ClientError>>) -> Result<(), Trouble> {
        let event = match event {
            Some(Ok(Event::End { .. })) | None => return Err(Trouble::Gone(None)),
            Some(Ok(event)) => event,
            Some(Err(error)) => return Err(Trouble::Gone(Some(error))),
        };
        self.face.event(&event)?;
        match event {
            Event::State(view) => self.take_state(&view).await,
            Event::Record(record) => self.take_record(&record).await,
            _ => Ok(()),
        }
    }

    async fn take_state(&mut self, view: &SessionView) -> Result<(), Trouble> {
        self.turn = view.turn.as_ref().map(|turn| turn.turn.clone());
        self.pending.update(&view.approvals);
        if let Some(reason) = &view.stopped {
            let failure = Failure::new(Exit::Unavailable, format!("the session does not run: {reason}"));
            return Err(Trouble::Failed(failure.hint("end the host that has it, and start it again")));
        }
        if view.row.phase == "parked" {
            self.face.note("the session is parked by a fault; trying again")?;
            self.retry().await?;
        }
        Ok(())
    }

    async fn retry(&mut self) -> Result<(), Trouble> {
        match self.op(Op::Retry {}).await {
            Ok(_) | Err(ClientError::Refused(Refusal::NotParked)) => Ok(()),
            Err(ClientError::Refused(refusal)) => Ok(self.face.warn(&refusal.to_string())?),
            Err(error) => Err(error.into()),
        }
    }

    async fn take_record(&mut self, record: &Record) -> Result<(), Trouble> {
        self.replaying = self.replaying.filter(|last| record.ordinal < *last);
        let Some(body) = record.decode() else { return Ok(()) };
        match &body {
            RecordBody::TurnStarted(started) => self.turn = Some(started.turn.clone()),
            RecordBody::ApprovalRequested(_) => self.look_for_approvals().await?,
            RecordBody::ApprovalResolved(resolved) => self.pending.resolved(&resolved.approval),
            RecordBody::SessionFault(fault) if fault.parks && self.mode != Mode::Chat => self.end(Exit::Failed, true),
            RecordBody::SessionFault(fault) if fault.parks => {
                self.ours.clear();
                self.prompted = false;
            }
            _ => {}
        }
        match body.turn_ended() {
            Some(end) => self.turn_ended(record, &body, end).await,
            None => Ok(()),
        }
    }

    /// The record names the arguments by their item; the session's view has them as text, and says what is still pending.
    async fn look_for_approvals(&mut self) -> Result<(), Trouble> {
        let view = self.client.session(&self.session).await?;
        if self.asker == Asker::Program {
            self.face.event(&Event::State(Box::new(view.clone())))?;
        }
        self.pending.update(&view.approvals);
        Ok(())
    }

    async fn turn_ended(&mut self, record: &Record, body: &RecordBody, end: &TurnEnded) -> Result<(), Trouble> {
        if self.turn.as_ref() == Some(&end.turn) {
            self.turn = None;
        }
        self.prompted = false;
        let interrupted = std::mem::take(&mut self.interrupting);
        let exit = match body {
            RecordBody::TurnCompleted(_) => Exit::Done,
            _ if interrupted => Exit::Interrupted,
            _ => Exit::Failed,
        };
        let ours = self.ours.contains(&end.submission);
        self.ours.retain(|ours| *ours != end.submission);
        match self.mode {
            Mode::OneShot if ours => self.end(exit, true),
            Mode::Resume if self.is_last_word(record).await? => self.end(exit, true),
            Mode::OneShot | Mode::Resume | Mode::Chat => {}
        }
        Ok(())
    }

    /// Whether the session owes nothing, and no turn began after this record.
    async fn is_last_word(&self, record: &Record) -> Result<bool, Trouble> {
        let view = self.client.session(&self.session).await?;
        if view.turn.is_some() || !view.queue.is_empty() {
            return Ok(false);
        }
        let last = super::last_turn(&self.client, &self.session, view.row.head).await?;
        Ok(last.is_none_or(|started| started < record.ordinal))
    }

    async fn take_line(&mut self, line: Option<String>) -> Result<(), Trouble> {
        let Some(line) = line else { return self.take_end_of_input() };
        self.face.entered();
        if self.asker == Asker::Program {
            return self.take_program_line(&line).await;
        }
        let asked = self.pending.asked().map(|view| view.approval.clone());
        match (line.trim(), asked) {
            ("/quit" | "/exit", _) => self.leave_conversation(),
            ("/interrupt", _) => self.interrupt().await?,
            (line, Some(approval)) => match parse_answer(line) {
                Some((answer, comment)) => self.answer(Answer { approval, answer, comment }).await?,
                None => self.face.prompt("Please answer y or n: ")?,
            },
            (command, None) => self.take_chat_line(command, &line).await?,
        }
        Ok(())
    }

    fn leave_conversation(&mut self) {
        let exit = if self.mode != Mode::Chat && !self.pending.is_empty() { Exit::Waiting } else { Exit::Done };
        self.end(exit, true);
    }

    async fn take_chat_line(&mut self, command: &str, line: &str) -> Result<(), Trouble> {
        self.prompted = false;
        match command {
            "" => {}
            "/help" => self.face.note(HELP)?,
            "/retry" => self.retry().await?,
            unknown if unknown.starts_with('/') && !unknown.contains(char::is_whitespace) => {
                self.face.warn(&format!("there is no command `{unknown}`; /help lists them"))?;
            }
            _ => {
                if self.turn.is_some() {
                    self.face.note("it waits until the running turn has ended")?;
                }
                self.submit(new_submission(), line.to_owned()).await?;
            }
        }
        Ok(())
    }

    async fn take_program_line(&mut self, line: &str) -> Result<(), Trouble> {
        if line.trim().is_empty() {
            return Ok(());
        }
        match serde_json::from_str(line) {
            Ok(Line::Answer(answer)) => self.answer(answer).await,
            Ok(Line::Interrupt(interrupt)) => {
                if interrupt.interrupt {
                    self.interrupt().await
                } else {
                    Ok(())
                }
            }
            Err(_) => Ok(self.face.warn(
                "a line of standard input was passed over; write {\"approval\": \"ID\", \"answer\": \"approve\"} (or \
                 \"deny\", with a \"comment\"), or {\"interrupt\": true}",
            )?),
        }
    }

    fn take_end_of_input(&mut self) -> Result<(), Trouble> {
        self.deaf = true;
        match self.asker {
            Asker::Program if self.pending.is_empty() => Ok(()),
            Asker::Program => self.leave_pending(),
            _ if self.mode == Mode::Chat => {
                self.leave_conversation();
                Ok(())
            }
            _ => self.leave_pending(),
        }
    }

    /// The first signal calls the turn off, the second leaves; without a turn the first one leaves.
    async fn take_signal(&mut self) -> Result<(), Trouble> {
        if self.turn.is_none() || self.interrupting {
            if !self.ours.is_empty() && self.turn.is_none() {
                self.face.note(&format!("the message is accepted and stays in the queue; go on by: {}", self.again))?;
            }
            let exit = if self.mode == Mode::Chat && self.turn.is_none() { Exit::Done } else { Exit::Interrupted };
            self.end(exit, false);
            return Ok(());
        }
        self.face.note("interrupting the turn; Ctrl-C again leaves")?;
        self.interrupt().await
    }

    async fn interrupt(&mut self) -> Result<(), Trouble> {
        let Some(turn) = self.turn.clone() else { return Ok(self.face.note("no turn is running")?) };
        self.interrupting = true;
        match self.op(Op::Interrupt { turn }).await {
            // It ended by itself in this moment: its record is on its way.
            Ok(_) | Err(ClientError::Refused(Refusal::StaleTurn { .. })) => Ok(()),
            Err(ClientError::Refused(refusal)) => {
                self.interrupting = false;
                Ok(self.face.warn(&refusal.to_string())?)
            }
            Err(error) => Err(error.into()),
        }
    }
}
