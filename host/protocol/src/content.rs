//! What messages, tool results and transcript items are made of. The JSON forms are stored in the journal and read by
//! plugins (`transcript.read-json`): fields may be added, never renamed.

use serde::{Deserialize, Serialize};

use crate::{CallIndex, ItemId, StepIndex, Timestamp, TurnId, encoding};

/// Where the bytes of a media part are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The bytes themselves.
    Inline(#[serde(with = "encoding")] Vec<u8>),
    /// A reference to stored bytes.
    Blob(String),
    /// An absolute URI, which the host never fetches.
    Uri(String),
}

/// An image, a sound, a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// RFC 6838 media type in lower case.
    pub media_type: String,
    /// The bytes, or where they are.
    pub source: Source,
    /// A file name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extras: Option<String>,
}

/// Something typed by name, which readers skip when they don't know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extension {
    /// Who defines it and what it is.
    pub kind: String,
    /// JSON text.
    pub data: String,
}

/// One piece of content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Plain text or Markdown.
    Text(String),
    /// JSON text.
    Json(String),
    /// Anything with a media type.
    Media(Media),
    /// Something else.
    Extension(Extension),
}

impl Part {
    /// Bytes of payload: what size bounds count.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::Json(text) => text.len(),
            Self::Media(media) => match &media.source {
                Source::Inline(bytes) => bytes.len(),
                Source::Blob(reference) | Source::Uri(reference) => reference.len(),
            },
            Self::Extension(extension) => extension.data.len() + extension.kind.len(),
        }
    }
}

/// Joins the text parts of some content with line breaks; what is not text is left out.
pub fn plain_text(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) | Part::Json(text) => Some(text.as_str()),
        Part::Media(_) | Part::Extension(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Who a message is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions of the operator or of middleware.
    System,
    /// The person, or a program in their place.
    User,
    /// The model.
    Assistant,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who it is from.
    pub role: Role,
    /// What it says, in order.
    pub content: Vec<Part>,
}

impl Message {
    /// A message of the person.
    pub fn user(content: Vec<Part>) -> Self {
        Self { role: Role::User, content }
    }
}

/// A call that the model planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id: data, not a key.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// JSON text, at most 4 MiB.
    pub arguments: String,
}

/// The one result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    /// The call that this answers.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// What the model gets to read.
    pub content: Vec<Part>,
    /// Whether the call failed, was denied, or was interrupted.
    pub is_error: bool,
    /// A JSON object that models don't see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extras: Option<String>,
}

/// A line for people, which models never see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// A stable word for programs.
    pub code: String,
    /// What to show.
    pub text: String,
}

/// What an item says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemBody {
    /// A message.
    Message(Message),
    /// The visible part of the model's reasoning.
    Reasoning(String),
    /// A planned tool call.
    ToolCall(ToolCall),
    /// The result of a tool call.
    ToolResult(CallResult),
    /// A line for people.
    Notice(Notice),
}

/// The opaque part of an item that a model's provider attached, byte for byte. It goes back only to routes of the context
/// group that made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrivatePart {
    /// The context group that made it.
    pub context_group: String,
    /// The bytes.
    #[serde(with = "encoding")]
    pub bytes: Vec<u8>,
}

/// One entry of a session's history. Entries are appended and never rewritten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Its position in the session.
    pub id: ItemId,
    /// The turn that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The step that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepIndex>,
    /// For a tool call or its result, the position of the call in its step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallIndex>,
    /// When it was accepted.
    pub at: Timestamp,
    /// What it says.
    pub body: ItemBody,
    /// What the provider attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_part: Option<PrivatePart>,
    /// A JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extras: Option<String>,
}

impl Item {
    /// Bytes of payload, the private part included: what size bounds count.
    pub fn bytes(&self) -> usize {
        let parts = |parts: &[Part]| parts.iter().map(Part::bytes).sum::<usize>();
        let body = match &self.body {
            ItemBody::Message(message) => parts(&message.content),
            ItemBody::Reasoning(text) => text.len(),
            ItemBody::ToolCall(call) => call.arguments.len(),
            ItemBody::ToolResult(result) => parts(&result.content),
            ItemBody::Notice(notice) => notice.text.len(),
        };
        body + self.private_part.as_ref().map_or(0, |private| private.bytes.len())
    }
}
