//! Asking a person, or for time, in the middle of a call: the call ends, and runs again when there is an answer.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::suspension;
use crate::types::{Cause, Error, ErrorKind, Form, Interruption, NeedInput, Wait};

impl Form {
    /// A form without fields yet.
    pub fn new(message: impl Into<String>) -> Self {
        let schema = json!({ "type": "object", "properties": {}, "required": [] }).to_string();
        Self { message: message.into(), schema, url: None, extras: None }
    }

    /// The same with a text field.
    #[must_use]
    pub fn text(self, name: &str, description: &str) -> Self {
        self.field(name, json!({ "type": "string", "description": description }))
    }

    /// The same with a yes-or-no field.
    #[must_use]
    pub fn yes_no(self, name: &str, description: &str) -> Self {
        self.field(name, json!({ "type": "boolean", "description": description }))
    }

    /// The same with a choice of texts.
    #[must_use]
    pub fn choice(self, name: &str, description: &str, choices: &[&str]) -> Self {
        self.field(name, json!({ "type": "string", "description": description, "enum": choices }))
    }

    /// The same with a secret text field: never shown, logged or stored unsealed.
    #[must_use]
    pub fn secret(self, name: &str, description: &str) -> Self {
        self.field(name, json!({ "type": "string", "description": description, "writeOnly": true }))
    }

    /// The same with a required field of any schema that forms may have.
    #[must_use]
    pub fn field(mut self, name: &str, schema: Value) -> Self {
        let mut form: Map<String, Value> = serde_json::from_str(&self.schema).unwrap_or_default();
        if let Some(Value::Object(properties)) = form.get_mut("properties") {
            properties.insert(name.to_owned(), schema);
        }
        if let Some(Value::Array(required)) = form.get_mut("required") {
            required.push(name.into());
        }
        self.schema = Value::Object(form).to_string();
        self
    }

    /// The interruption that asks this question; `token` comes back with the answer.
    pub fn need_input(self, token: impl Into<Vec<u8>>) -> Interruption {
        NeedInput { form: self, token: token.into(), expires_after_ms: None }.into()
    }
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<T> {
    /// The person filled the form.
    Given(T),
    /// The person said no.
    Declined,
    /// Nobody answered: the question was taken away, or its time has passed.
    Missing,
}

impl<T> Answer<T> {
    /// The answer, or an error of the kind `cancelled`.
    ///
    /// # Errors
    /// When the person declined or nobody answered.
    pub fn given(self) -> Result<T, Error> {
        match self {
            Self::Given(answer) => Ok(answer),
            Self::Declined => {
                Err(Error::new(ErrorKind::Cancelled, "the person declined to answer").with_code("declined"))
            }
            Self::Missing => {
                Err(Error::new(ErrorKind::Cancelled, "nobody answered the question").with_code("unanswered"))
            }
        }
    }
}

/// Asks a person: `let answer = ask::<Login>("login", form)?.given()?;`.
///
/// The first time the `?` ends the call; when the call runs again with the answer, it goes on from here. `token` tells
/// this question from others of the same call. Only the last answer is at hand: a call that asks twice keeps the first
/// answer in [`session_state`](crate::session_state).
///
/// # Errors
/// The interruption that asks, or `internal` when the answer is not of type `T`.
pub fn ask<T: DeserializeOwned>(token: &str, form: Form) -> Result<Answer<T>, Interruption> {
    match suspension::resumed() {
        Some(resumption) if resumption.token == token.as_bytes() => Ok(answer_of(resumption.cause)?),
        _ => Err(form.need_input(token)),
    }
}

fn answer_of<T: DeserializeOwned>(cause: Cause) -> Result<Answer<T>, Error> {
    match cause {
        Cause::Answered(text) => serde_json::from_str(&text)
            .map(Answer::Given)
            .map_err(|error| Error::internal(format!("the answer does not fit the form: {error}"))),
        Cause::Declined => Ok(Answer::Declined),
        Cause::Dismissed | Cause::Expired | Cause::Elapsed => Ok(Answer::Missing),
    }
}

/// The interruption that has the call run again after some time; `token` comes back then.
pub fn wait(after_ms: u32, token: impl Into<Vec<u8>>) -> Interruption {
    Wait { after_ms, token: token.into() }.into()
}
