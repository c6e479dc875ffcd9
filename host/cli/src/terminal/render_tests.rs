//! Golden texts of the live view. Lines of standard output are marked `1`, those of standard error `2`.

use std::{cell::RefCell, rc::Rc};

use anstream::adapter::strip_str;
use mainstay_protocol::{
    AcceptedOrdinal, CallIndex, ItemId, Ordinal, SessionId, Timestamp,
    model::Usage,
    record::v1::{HookNotes, Reason, TurnStarted},
};
use mainstay_server::wire::v1::{Record, SessionRow, TurnView};

use super::*;

/// Both streams in the order in which they were written.
#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<(char, String)>>>);

struct Stream(Log, char);

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut log = self.0.0.borrow_mut();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        match log.last_mut().filter(|(stream, _)| *stream == self.1) {
            Some((_, last)) => last.push_str(&text),
            None => log.push((self.1, text)),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[track_caller]
fn check(act: impl FnOnce(&mut Renderer<Stream, Stream>) -> io::Result<()>, expected: &[&str]) {
    let log = Log::default();
    let mut renderer = Renderer::new(Stream(log.clone(), '1'), Stream(log.clone(), '2'));
    act(&mut renderer).unwrap();
    let mut shown = Vec::new();
    for (stream, text) in log.0.borrow().iter() {
        let text = strip_str(text).to_string();
        assert!(text.ends_with('\n'), "a line of stream {stream} is not ended before the other goes on: {text:?}");
        shown.extend(text.lines().map(|line| format!("{stream} {line}")));
    }
    assert_eq!(shown, expected);
}

fn turn() -> TurnId {
    TurnId::new("t-1").unwrap()
}

fn delta(step: u32, delta: Delta) -> Event {
    Event::Delta { turn: turn(), step: StepIndex(step), delta }
}

fn text(step: u32, text: &str) -> Event {
    delta(step, Delta::Text(text.into()))
}

fn item(step: u32, body: ItemBody) -> Event {
    Event::Item(Item {
        id: ItemId(1),
        turn: Some(turn()),
        step: Some(StepIndex(step)),
        call: None,
        at: Timestamp(0),
        body,
        private_part: None,
        extras: None,
    })
}

fn message(step: u32, role: Role, text: &str) -> Event {
    item(step, ItemBody::Message(Message { role, content: vec![Part::Text(text.into())] }))
}

fn record(body: &RecordBody) -> Event {
    Event::Record(Record {
        session: SessionId::new("s").unwrap(),
        ordinal: Ordinal(1),
        at: Timestamp(0),
        kind: body.kind().to_owned(),
        body: serde_json::from_slice(&body.encode()).unwrap(),
        seq: None,
        digest: Digest::ZERO,
    })
}

fn started(submission: &str) -> Event {
    record(&RecordBody::TurnStarted(TurnStarted {
        turn: turn(),
        submission: SubmissionId::new(submission).unwrap(),
        accepted: AcceptedOrdinal(1),
        items: None,
        hooks: HookNotes::default(),
    }))
}

fn ended(make: fn(TurnEnded) -> RecordBody, reason: Option<Reason>) -> Event {
    record(&make(TurnEnded {
        turn: turn(),
        submission: SubmissionId::new("mine").unwrap(),
        accepted: AcceptedOrdinal(1),
        stop: None,
        reason,
        interrupted_by: None,
        steps: 2,
        tool_calls: 1,
        failed_tool_calls: 0,
        usage: Usage { input_tokens: 120, output_tokens: 34, ..Usage::default() },
        last_message: None,
        hooks: HookNotes::default(),
    }))
}

fn state(phase: &str, step: u32) -> Event {
    let row = SessionRow {
        session: SessionId::new("s").unwrap(),
        phase: "running".into(),
        route: None,
        turns: 0,
        head: Ordinal(1),
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
    };
    let submission = SubmissionId::new("other").unwrap();
    Event::State(Box::new(SessionView {
        row,
        labels: mainstay_server::wire::v1::Labels::default(),
        metadata: serde_json::Value::Null,
        context_owner: None,
        context_epoch: 0,
        aborted_turns: 0,
        turn: Some(TurnView { turn: turn(), submission, step: StepIndex(step), phase: phase.into() }),
        queue: vec![],
        approvals: vec![],
        elicitations: vec![],
        last_outcome: None,
        activity: None,
        operation: None,
        archive: None,
        checkpoint_warning: None,
        last_item: ItemId(0),
        requires: BTreeMap::default(),
        stopped: None,
    }))
}

fn play(events: Vec<Event>) -> impl FnOnce(&mut Renderer<Stream, Stream>) -> io::Result<()> {
    move |renderer| {
        renderer.sent(SubmissionId::new("mine").unwrap());
        events.iter().try_for_each(|event| renderer.event(event))
    }
}

#[test]
fn a_whole_turn() {
    let call = ToolCall { call_id: "c".into(), name: "read_file".into(), arguments: "{\"path\":\n \"a.txt\"}".into() };
    let result = CallResult {
        call_id: "c".into(),
        name: "read_file".into(),
        content: vec![Part::Text("first\u{1b}[2J\nsecond\nthird".into())],
        is_error: false,
        extras: None,
    };
    let events = vec![
        message(0, Role::User, "typed here"),
        started("mine"),
        delta(0, Delta::Reasoning("I should ".into())),
        delta(0, Delta::Reasoning("look.".into())),
        delta(0, Delta::ItemEnd),
        text(0, "Let me "),
        text(0, "look\u{202e}."),
        delta(0, Delta::ItemEnd),
        item(0, ItemBody::Reasoning("I should look.".into())),
        message(0, Role::Assistant, "Let me look\u{202e}."),
        item(0, ItemBody::ToolCall(call)),
        Event::Progress {
            turn: turn(),
            step: StepIndex(0),
            call: CallIndex(0),
            text: "reading".into(),
            done: Some(1),
            total: Some(2),
        },
        item(0, ItemBody::ToolResult(result)),
        text(1, "Done."),
        message(1, Role::Assistant, "Done."),
        ended(RecordBody::TurnCompleted, None),
    ];
    check(
        play(events),
        &[
            "2 I should look.",
            "1 Let me look\\u{202e}.",
            "2 > read_file {\"path\":\\n \"a.txt\"}",
            "2   . reading (1/2)",
            "2 < read_file ok first\\u{1b}[2J (+2 more lines)",
            "1 Done.",
            "2 (2 steps, 1 tool call, 120 tokens in, 34 out)",
        ],
    );
}

#[test]
fn what_was_not_streamed_is_shown_from_its_item() {
    let events = vec![message(0, Role::Assistant, "whole"), item(1, ItemBody::Reasoning("thought".into()))];
    check(play(events), &["1 whole", "2 thought"]);
}

#[test]
fn a_step_that_was_joined_in_its_middle_is_shown_once_and_whole() {
    let events = vec![
        state("model", 3),
        text(3, "second half"),
        message(3, Role::Assistant, "first half, second half"),
        text(4, "next"),
        message(4, Role::Assistant, "next"),
    ];
    check(play(events), &["1 first half, second half", "1 next"]);
}

#[test]
fn after_a_gap_the_item_is_shown_whole() {
    let events =
        vec![text(0, "one "), Event::Gap {}, text(0, "four"), message(0, Role::Assistant, "one two three four")];
    check(
        play(events),
        &[
            "1 one ",
            "2 (output came too fast for this terminal; what is missing follows whole)",
            "1 one two three four",
        ],
    );
}

#[test]
fn a_dropped_attempt_is_taken_back() {
    let dropped = Event::AttemptDropped { turn: turn(), step: StepIndex(0) };
    let events = vec![text(0, "wrong"), dropped, text(0, "right"), message(0, Role::Assistant, "right")];
    check(play(events), &["1 wrong", "2 (that attempt failed: what it said does not count)", "1 right"]);
}

#[test]
fn messages_of_others_are_shown() {
    let events = vec![message(0, Role::User, "from\nelsewhere"), started("other")];
    check(play(events), &["2 message: from", "2   elsewhere"]);
}

#[test]
fn a_turn_that_did_not_complete_says_why() {
    let reason = Reason::new("adapter-error", "no \u{7}credit");
    check(
        play(vec![text(0, "half"), ended(RecordBody::TurnFailed, Some(reason))]),
        &["1 half", "2 turn failed: adapter-error: no \\u{7}credit (2 steps, 1 tool call, 120 tokens in, 34 out)"],
    );
}

#[test]
fn an_open_question_is_ended_before_anything_else() {
    check(
        |renderer| {
            renderer.prompt("> ")?;
            renderer.note("news")?;
            renderer.prompt("> ")?;
            renderer.entered();
            renderer.note("typed")
        },
        &["2 > ", "2 news", "2 > typed"],
    );
}
