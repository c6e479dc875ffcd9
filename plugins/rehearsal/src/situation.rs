//! What the history says about where the conversation stands.

use mainstay_sdk::prelude::*;
use mainstay_sdk::text_of;

/// The facts that rules are about.
#[derive(Debug)]
pub(crate) struct Situation<'a> {
    /// The text of the last message of the person.
    pub(crate) message: String,
    /// What came last.
    pub(crate) last: Last,
    /// The step within the turn.
    pub(crate) step: u32,
    /// The private parts that the host handed out.
    pub(crate) private_parts: Vec<&'a [u8]>,
    /// The first number that no call id in the history has.
    pub(crate) next_call: u64,
    /// The size of everything that a model would have read.
    pub(crate) input_bytes: usize,
}

/// The last item that is a message of the person, an item of the model or a tool result.
#[derive(Debug)]
pub(crate) enum Last {
    Message,
    Result { tool: String, text: String, is_error: bool },
    Other,
}

/// What call ids made up here begin with.
pub(crate) const CALL_PREFIX: &str = "call-";

impl<'a> Situation<'a> {
    pub(crate) fn of(history: &'a [Item], system: &[String]) -> Self {
        let mut situation = Self {
            message: String::new(),
            last: Last::Other,
            step: context::step().unwrap_or(0),
            private_parts: history.iter().filter_map(|item| item.private_part.as_deref()).collect(),
            next_call: 1,
            input_bytes: system.iter().map(String::len).sum(),
        };
        for item in history {
            situation.see(&item.body);
        }
        situation
    }

    fn see(&mut self, body: &ItemBody) {
        match body {
            ItemBody::Message(message) => self.see_message(message),
            ItemBody::Reasoning(text) => {
                self.input_bytes += text.len();
                self.last = Last::Other;
            }
            ItemBody::ToolCall(call) => {
                self.input_bytes += call.arguments.len();
                self.last = Last::Other;
                let number = call.call_id.strip_prefix(CALL_PREFIX).and_then(|rest| rest.parse::<u64>().ok());
                self.next_call = self.next_call.max(number.unwrap_or(0).saturating_add(1));
            }
            ItemBody::ToolResult(result) => {
                let text = result_text(&result.content);
                self.input_bytes += text.len();
                self.last = Last::Result { tool: result.name.clone(), text, is_error: result.is_error };
            }
            ItemBody::Notice(_) => {}
        }
    }

    fn see_message(&mut self, message: &Message) {
        let text = text_of(&message.content);
        self.input_bytes += text.len();
        match message.role {
            // Context that middleware adds does not change whose turn it is to speak.
            Role::System => {}
            Role::User => {
                self.message = text;
                self.last = Last::Message;
            }
            Role::Assistant => self.last = Last::Other,
        }
    }

    pub(crate) fn result_text(&self) -> &str {
        match &self.last {
            Last::Result { text, .. } => text,
            Last::Message | Last::Other => "",
        }
    }
}

/// Text and JSON of a result; other parts have no words.
fn result_text(content: &[Part]) -> String {
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) | Part::Json(text) => Some(text.as_str()),
            Part::Media(_) | Part::Extension(_) => None,
        })
        .collect();
    texts.join("\n")
}
