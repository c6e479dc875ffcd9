//! The live view of a session. What the model says goes to standard output; reasoning, calls and everything that Mainstay says
//! beside it go to standard error, so that `mainstay run "..." > file` keeps the answer alone.
//!
//! Text is shown while it comes. When the item with the same text is committed, it is not shown again, unless some of what
//! came before was missed: then the step's deltas are passed over and the item is shown whole.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use mainstay_protocol::{
    Digest, PluginName, StepIndex, SubmissionId, TurnId,
    blob::WholeOutput,
    content::{CallResult, Item, ItemBody, Media, Message, Part, Role, Source, ToolCall, plain_text},
    model::Delta,
    record::{
        RecordBody,
        v1::{Resolution, SessionFault, StepCompleted, TurnEnded},
    },
};
use mainstay_server::wire::v1::{ApprovalView, Event, SessionView};

use super::{
    ask, escape, records,
    style::{BAD, CALL, GOOD, NAME, QUIET, WARNING, paint},
};

/// Characters of a call's arguments, or of a result, that are shown.
const SHORT: usize = 160;

/// Shows a session on two streams.
#[derive(Debug)]
pub(crate) struct Renderer<O, E> {
    out: O,
    err: E,
    open: Open,
    /// The step whose deltas are shown.
    shown: Option<Place>,
    /// The step whose deltas are passed over, because some were missed.
    missed: Option<Place>,
    /// Messages of people that wait until it is known who sent them.
    held: Vec<Item>,
    /// The turn that runs, and whether this terminal sent its message.
    turn: Option<(TurnId, bool)>,
    ours: Vec<SubmissionId>,
    serving: BTreeMap<PluginName, Digest>,
    last_progress: String,
}

/// What the last line is in the middle of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Nothing,
    Text,
    Reasoning,
    /// A question or a prompt, which waits for a person.
    Prompt,
}

type Place = (TurnId, StepIndex);

impl<O: Write, E: Write> Renderer<O, E> {
    pub(crate) fn new(out: O, err: E) -> Self {
        Self {
            out,
            err,
            open: Open::Nothing,
            shown: None,
            missed: None,
            held: Vec::new(),
            turn: None,
            ours: Vec::new(),
            serving: BTreeMap::new(),
            last_progress: String::new(),
        }
    }

    /// Messages of this op were typed here and are not repeated.
    pub(crate) fn sent(&mut self, submission: SubmissionId) {
        self.ours.push(submission);
    }

    /// Shows what happened.
    pub(crate) fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::State(view) => {
                self.state(view);
                Ok(())
            }
            Event::Record(record) => record.decode().map_or(Ok(()), |body| self.record(&body)),
            Event::Item(item) => self.item(item),
            Event::Delta { turn, step, delta } => self.delta((turn.clone(), *step), delta),
            Event::AttemptDropped { turn, step } => self.attempt_dropped(&(turn.clone(), *step)),
            Event::Progress { text, done, total, .. } => self.progress(text, *done, *total),
            Event::Gap {} => self.gap(),
            Event::End { .. } | Event::Unknown => Ok(()),
        }
    }

    /// An item of a transcript, whoever it is from.
    pub(crate) fn transcript(&mut self, item: &Item) -> io::Result<()> {
        match &item.body {
            ItemBody::Message(message) if message.role != Role::Assistant => self.show_message(message),
            _ => self.item(item),
        }
    }

    /// A line of Mainstay's own.
    pub(crate) fn note(&mut self, text: &str) -> io::Result<()> {
        self.say(&paint(QUIET, escape::block(text)))
    }

    /// A line of Mainstay's own that should not be missed.
    pub(crate) fn warn(&mut self, text: &str) -> io::Result<()> {
        self.say(&paint(WARNING, escape::block(text)))
    }

    /// An approval; the question under it only where somebody can answer it.
    pub(crate) fn ask(&mut self, view: &ApprovalView, question: Option<&str>) -> io::Result<()> {
        self.close()?;
        write!(self.err, "{}", ask::approval(view))?;
        question.map_or(Ok(()), |question| self.prompt(question))
    }

    /// Waits for a person, on the same line.
    pub(crate) fn prompt(&mut self, text: &str) -> io::Result<()> {
        self.close()?;
        write!(self.err, "{}", paint(NAME, text))?;
        self.err.flush()?;
        self.open = Open::Prompt;
        Ok(())
    }

    /// The person ended the line.
    pub(crate) fn entered(&mut self) {
        self.open = Open::Nothing;
    }

    /// Ends the line that is open.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => Ok(()),
            Open::Text => {
                writeln!(self.out)?;
                self.out.flush()
            }
            Open::Reasoning | Open::Prompt => {
                writeln!(self.err)?;
                self.err.flush()
            }
        }
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        self.close()?;
        writeln!(self.err, "{line}")?;
        self.err.flush()
    }

    /// What a model said of the open step before we came is not known.
    fn state(&mut self, view: &SessionView) {
        let in_model = view.turn.as_ref().filter(|turn| turn.phase == "model");
        self.missed = in_model.map(|turn| (turn.turn.clone(), turn.step));
        self.turn = view.turn.as_ref().map(|turn| (turn.turn.clone(), self.ours.contains(&turn.submission)));
    }

    fn gap(&mut self) -> io::Result<()> {
        if let Some(shown) = self.shown.take() {
            self.missed = Some(shown);
            return self.note("(output came too fast for this terminal; what is missing follows whole)");
        }
        Ok(())
    }

    fn delta(&mut self, place: Place, delta: &Delta) -> io::Result<()> {
        if self.missed.as_ref() == Some(&place) {
            return Ok(());
        }
        match delta {
            Delta::Text(text) => self.stream(Open::Text, text)?,
            Delta::Reasoning(text) => self.stream(Open::Reasoning, text)?,
            Delta::ItemEnd => self.close()?,
            _ => return Ok(()),
        }
        self.shown = Some(place);
        Ok(())
    }

    fn stream(&mut self, kind: Open, text: &str) -> io::Result<()> {
        if self.open != kind {
            self.close()?;
        }
        self.open = kind;
        let text = escape::block(text);
        if kind == Open::Text {
            write!(self.out, "{text}")?;
            return self.out.flush();
        }
        write!(self.err, "{}", paint(QUIET, text))?;
        self.err.flush()
    }

    fn attempt_dropped(&mut self, place: &Place) -> io::Result<()> {
        if self.shown.as_ref() == Some(place) {
            self.note("(that attempt failed: what it said does not count)")?;
        }
        // The next attempt begins anew, whatever was missed of this one.
        self.missed = self.missed.take().filter(|missed| missed != place);
        Ok(())
    }

    fn progress(&mut self, text: &str, done: Option<u32>, total: Option<u32>) -> io::Result<()> {
        let count = match (done, total) {
            (Some(done), Some(total)) => format!(" ({done}/{total})"),
            (Some(done), None) => format!(" ({done})"),
            _ => String::new(),
        };
        let line = format!("  . {}{count}", escape::clipped(text, SHORT));
        if line == self.last_progress {
            return Ok(());
        }
        self.say(&paint(QUIET, &line))?;
        self.last_progress = line;
        Ok(())
    }

    fn item(&mut self, item: &Item) -> io::Result<()> {
        let place = item.turn.clone().zip(item.step);
        let streamed = self.shown.is_some() && self.shown == place;
        match &item.body {
            ItemBody::Message(message) if message.role == Role::Assistant => self.answer(message, streamed),
            ItemBody::Message(message) => self.message(item, message),
            ItemBody::Reasoning(_) if streamed => Ok(()),
            ItemBody::Reasoning(text) => {
                self.stream(Open::Reasoning, text)?;
                self.close()
            }
            ItemBody::ToolCall(call) => self.call(call),
            ItemBody::ToolResult(result) => self.result(result),
            ItemBody::Notice(notice) => self.note(&format!("{}: {}", notice.code, notice.text)),
        }
    }

    fn answer(&mut self, message: &Message, streamed: bool) -> io::Result<()> {
        let text = plain_text(&message.content);
        if !streamed && !text.is_empty() {
            self.stream(Open::Text, &text)?;
        }
        self.close()?;
        self.attachments(&message.content)
    }

    fn attachments(&mut self, content: &[Part]) -> io::Result<()> {
        for part in content {
            let what = match part {
                Part::Media(Media { media_type, source: Source::Blob(blob), .. }) => format!("({media_type}, {blob})"),
                Part::Media(media) => format!("({}, {} bytes)", media.media_type, part.bytes()),
                Part::Extension(extension) => format!("({})", extension.kind),
                Part::Text(_) | Part::Json(_) => continue,
            };
            self.note(&what)?;
        }
        Ok(())
    }

    /// The item of a message comes with the record that says whose it is, before or after it.
    fn message(&mut self, item: &Item, message: &Message) -> io::Result<()> {
        match &self.turn {
            Some((turn, ours)) if Some(turn) == item.turn.as_ref() => {
                if *ours {
                    Ok(())
                } else {
                    self.show_message(message)
                }
            }
            _ => {
                self.held.push(item.clone());
                Ok(())
            }
        }
    }

    fn show_message(&mut self, message: &Message) -> io::Result<()> {
        let who = match message.role {
            Role::User => "message",
            Role::System => "instructions",
            Role::Assistant => "answer",
        };
        let text = escape::block(&plain_text(&message.content)).replace('\n', "\n  ");
        self.say(&format!("{} {text}", paint(NAME, format!("{who}:"))))
    }

    fn call(&mut self, call: &ToolCall) -> io::Result<()> {
        let (name, arguments) = (escape::line(&call.name), escape::clipped(&call.arguments, SHORT));
        self.say(&format!("{} {} {}", paint(CALL, ">"), paint(NAME, name), paint(QUIET, arguments)))
    }

    fn result(&mut self, result: &CallResult) -> io::Result<()> {
        let text = plain_text(&result.content);
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let more = text.lines().count().saturating_sub(1);
        let more = if more > 0 { format!(" (+{more} more lines)") } else { String::new() };
        let verdict = if result.is_error { paint(BAD, "error") } else { paint(GOOD, "ok") };
        let (name, first) = (escape::line(&result.name), escape::clipped(first, SHORT));
        self.say(&format!(
            "{} {} {verdict} {}",
            paint(CALL, "<"),
            paint(NAME, name),
            paint(QUIET, format!("{first}{more}"))
        ))?;
        WholeOutput::of(result.extras.as_deref()).map_or(Ok(()), |whole| self.whole_output(&whole))
    }

    fn whole_output(&mut self, whole: &WholeOutput) -> io::Result<()> {
        let media_type = escape::line(&whole.media_type);
        self.say(&paint(QUIET, format!("  whole output: {} ({media_type}, {} bytes)", whole.blob, whole.bytes)))
    }

    fn record(&mut self, body: &RecordBody) -> io::Result<()> {
        match body {
            RecordBody::TurnStarted(started) => self.turn_started(&started.turn, &started.submission),
            RecordBody::StepCompleted(step) => self.step_completed(step),
            RecordBody::ApprovalResolved(resolved) => {
                let comment = resolved.comment.iter().map(|text| format!(": {text}")).collect::<String>();
                let word = match resolved.resolution {
                    Resolution::Approved => "approved",
                    Resolution::Denied => "denied",
                    Resolution::Dismissed => "no longer asked",
                };
                self.note(&format!("  approval {}: {word}{comment}", resolved.approval))
            }
            RecordBody::ModelChanged(changed) => self.note(&format!("route {} from the next step on", changed.route)),
            RecordBody::TurnContinued(_) => self.note("a plugin asked for one more step"),
            RecordBody::SessionFault(fault) => self.fault(fault),
            RecordBody::ReceiptRecorded(receipt) => {
                let before = self.serving.insert(receipt.plugin.clone(), receipt.sha256);
                if before.is_none_or(|before| before == receipt.sha256) {
                    return Ok(());
                }
                let (plugin, version, digest) = (&receipt.plugin, &receipt.version, receipt.sha256.short());
                self.note(&format!("{plugin} {version} ({digest}) serves from here"))
            }
            RecordBody::TurnCompleted(end) => {
                let counts = records::counts(end);
                self.end_turn(&paint(QUIET, format!("({counts})")))
            }
            RecordBody::TurnAborted(end) => self.turn_stopped("aborted", end),
            RecordBody::TurnFailed(end) => self.turn_stopped("failed", end),
            RecordBody::TurnRejected(end) => self.turn_stopped("rejected", end),
            _ => Ok(()),
        }
    }

    fn turn_started(&mut self, turn: &TurnId, submission: &SubmissionId) -> io::Result<()> {
        let ours = self.ours.contains(submission);
        self.turn = Some((turn.clone(), ours));
        for item in std::mem::take(&mut self.held) {
            if let (ItemBody::Message(message), false) = (&item.body, ours) {
                self.show_message(message)?;
            }
        }
        Ok(())
    }

    /// Retries and fallbacks are worth a line; the step itself was seen.
    fn step_completed(&mut self, step: &StepCompleted) -> io::Result<()> {
        for attempt in step.attempts.iter().filter(|attempt| attempt.error.is_some()) {
            self.say(&paint(WARNING, records::failed_attempt(attempt)))?;
        }
        Ok(())
    }

    fn fault(&mut self, fault: &SessionFault) -> io::Result<()> {
        let by = fault.build.iter().map(|by| format!(" ({})", records::build(by))).collect::<String>();
        self.warn(&format!("fault {}{by}: {}", fault.code, fault.message))?;
        if !fault.stderr.is_empty() {
            let stderr = escape::block(fault.stderr.trim_end()).replace('\n', "\n  | ");
            self.say(&paint(QUIET, format!("  | {stderr}")))?;
        }
        if fault.parks {
            self.warn("the session is parked: it tries again after a swap, a restart, or the next `mainstay run`")?;
        }
        Ok(())
    }

    fn turn_stopped(&mut self, how: &str, end: &TurnEnded) -> io::Result<()> {
        let why = end.reason.as_ref().map(|reason| format!(": {}", records::reason(reason))).unwrap_or_default();
        let counts = records::counts(end);
        self.end_turn(&format!("{} {}", paint(BAD, format!("turn {how}{why}")), paint(QUIET, format!("({counts})"))))
    }

    fn end_turn(&mut self, line: &str) -> io::Result<()> {
        (self.turn, self.shown, self.missed) = (None, None, None);
        self.last_progress.clear();
        self.say(line)
    }
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
