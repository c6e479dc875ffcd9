//! Histories for the tests of this crate: commands one after the other, with the records that they gave.

use mainstay_protocol::{
    RouteName, StepIndex, SubmissionId, Timestamp, TurnId,
    content::{Item, ItemBody, Message, Part, Role, ToolCall},
    model::{Finish, FinishReason},
    op::{Delivery, Labels},
    record::{
        RecordBody,
        v1::{ContextOwner, HookNotes},
    },
};

use crate::{Command, InputRuling, Output, OutputItem, Refused, State, decide};

/// A session and what happened to it.
pub(crate) struct Story {
    pub(crate) state: State,
    pub(crate) records: Vec<RecordBody>,
    pub(crate) items: Vec<Item>,
}

/// A command id.
pub(crate) fn command(id: &str) -> SubmissionId {
    SubmissionId::new(id).expect("legal")
}

/// The turn of these stories.
pub(crate) fn turn() -> TurnId {
    TurnId::new("turn").expect("legal")
}

impl Story {
    /// A session without a turn.
    pub(crate) fn new() -> Self {
        let mut story = Self { state: State::default(), records: Vec::new(), items: Vec::new() };
        let route = RouteName::new("default").expect("legal");
        story.told(Command::Create { route, labels: Labels::default(), metadata: None, requires: None });
        story
    }

    /// A session whose turn is about to open its first step.
    pub(crate) fn in_a_turn() -> Self {
        let (mut story, submission) = (Self::new(), command("message"));
        let content = vec![Part::Text("hello".to_owned())];
        let ruling = InputRuling::Accept { message: Message::user(content.clone()), annotations: Vec::new() };
        story.told(Command::Submit { submission: submission.clone(), content, delivery: Delivery::Queue });
        story.told(Command::StartTurn { turn: turn(), submission, ruling, hooks: HookNotes::default() });
        story
    }

    /// A session whose model is being asked.
    pub(crate) fn in_a_step() -> Self {
        let mut story = Self::in_a_turn();
        story.told(Command::OpenStep { turn: turn(), step: StepIndex(0) });
        story
    }

    /// The model answers with a text and this many calls.
    pub(crate) fn answers(&mut self, calls: usize, reason: FinishReason) {
        let text = ItemBody::Message(Message { role: Role::Assistant, content: vec![Part::Text("text".to_owned())] });
        let call = |number: usize| {
            let (call_id, name, arguments) = (number.to_string(), "tool".to_owned(), "{}".to_owned());
            ItemBody::ToolCall(ToolCall { call_id, name, arguments })
        };
        let bodies = std::iter::once(text).chain((0..calls).map(call));
        let items = bodies.map(|body| OutputItem { body, private_part: None }).collect();
        let route = RouteName::new("default").expect("legal");
        let context_owner = ContextOwner { route, context_group: "group".to_owned() };
        let finish = Finish { reason, detail: String::new(), model: None, response_id: None };
        let output = Output { items, attempts: Vec::new(), context_owner, finish };
        self.told(Command::AcceptOutput { turn: turn(), step: StepIndex(0), output });
    }

    /// Decides a command; gives its records.
    pub(crate) fn tell(&mut self, command: Command) -> Result<Vec<RecordBody>, Refused> {
        let decision = decide(&self.state, command, Timestamp(1))?;
        let records: Vec<_> = decision.records.into_iter().map(|record| record.body).collect();
        self.state = decision.state;
        self.records.extend(records.iter().cloned());
        self.items.extend(decision.items);
        Ok(records)
    }

    /// Decides a command that is accepted.
    #[track_caller]
    pub(crate) fn told(&mut self, command: Command) -> Vec<RecordBody> {
        self.tell(command).expect("accepted")
    }
}

/// The kinds of records, in order.
pub(crate) fn kinds(records: &[RecordBody]) -> Vec<&str> {
    records.iter().map(RecordBody::kind).collect()
}
