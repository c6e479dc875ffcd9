//! Short ways to make and read messages, parts, grounds, usage and finishes.

use crate::types::{Finish, FinishReason, Grounds, Message, Part, Role, Usage};

impl Part {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The text, if that is what it is.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Json(_) | Self::Media(_) | Self::Extension(_) => None,
        }
    }
}

/// All text parts, a line break between two of them; other parts are passed over.
#[must_use]
pub fn text_of(content: &[Part]) -> String {
    let texts: Vec<&str> = content.iter().filter_map(Part::as_text).collect();
    texts.join("\n")
}

impl Message {
    /// A text message.
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Self { role, content: vec![Part::text(text)] }
    }

    /// A text message of the operator or of middleware.
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Role::System, text)
    }

    /// A text message of the person.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, text)
    }
}

impl Grounds {
    /// A stable word for programs, and one sentence for people or the model.
    pub fn new(code: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { code: code.into(), reason: reason.into(), extras: None }
    }
}

impl Usage {
    /// Input and output tokens; nothing known about the rest.
    #[must_use]
    pub fn new(input_tokens: u32, output_tokens: u32) -> Self {
        Self {
            input_tokens,
            output_tokens,
            cache_read_tokens: None,
            cache_write_tokens: None,
            reasoning_tokens: None,
            cost_nano_usd: None,
            extras: None,
        }
    }
}

impl Finish {
    /// A reason and no more.
    #[must_use]
    pub fn new(reason: FinishReason) -> Self {
        Self { reason, detail: String::new(), model: None, response_id: None, extras: None }
    }
}
