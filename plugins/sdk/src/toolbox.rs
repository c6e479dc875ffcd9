//! Typed tools: arguments by serde, their schema by schemars, results from ordinary Rust values.

use std::fmt;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ToolOutput;
use crate::types::{Approval, Effect, Error, Execution, Interruption, Part, ToolCall, ToolDefinition};

/// What a handler returns. `?` works on [`Error`], on [`std::io::Error`] and on questions to people.
pub type Outcome<T = ToolOutput> = Result<T, Interruption>;

type Handler = Box<dyn Fn(&ToolCall) -> Outcome>;

/// One tool: what the model is told about it, and what runs.
///
/// The claims start at the careful end: at-most-once, exclusive, and a person is asked. Operators have the last word.
pub struct Tool {
    definition: ToolDefinition,
    // Made only when the definitions are asked for: a call has no use for a schema.
    input_schema: fn() -> String,
    handler: Handler,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("definition", &self.definition).finish_non_exhaustive()
    }
}

impl Tool {
    /// A tool with a name, a description for the model, and a handler of typed arguments. Arguments that don't fit the
    /// type never reach the handler: the model gets an error that names the field.
    pub fn new<A, R>(
        name: impl Into<String>,
        description: impl Into<String>,
        handler: impl Fn(A) -> Outcome<R> + 'static,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        R: IntoOutput,
    {
        let definition = ToolDefinition {
            name: name.into(),
            description: description.into(),
            input_schema: String::new(),
            output_schema: None,
            effect: Effect::AtMostOnce,
            execution: Execution::Exclusive,
            approval: Approval::Ask,
            extras: None,
        };
        let handler = Box::new(move |call: &ToolCall| handler(parse_arguments(call)?)?.into_output());
        Self { definition, input_schema: schema_text::<A>, handler }
    }

    /// Claims that it has no effect outside: may run again after a crash.
    #[must_use]
    pub fn pure(mut self) -> Self {
        self.definition.effect = Effect::Pure;
        self
    }

    /// Claims that it may run again with the same [`context::idempotency_key`](crate::context::idempotency_key).
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.definition.effect = Effect::Idempotent;
        self
    }

    /// Claims that it may overlap with other parallel calls of its step.
    #[must_use]
    pub fn parallel(mut self) -> Self {
        self.definition.execution = Execution::Parallel;
        self
    }

    /// Claims that nobody needs to be asked.
    #[must_use]
    pub fn unattended(mut self) -> Self {
        self.definition.approval = Approval::Unneeded;
        self
    }

    /// Claims that a person has to allow each call anew.
    #[must_use]
    pub fn ask_each_time(mut self) -> Self {
        self.definition.approval = Approval::AskEachTime;
        self
    }

    /// Promises that the result is one JSON value of type `T`, and tells models its schema.
    #[must_use]
    pub fn returns<T: JsonSchema>(mut self) -> Self {
        self.definition.output_schema = Some(schema_text::<T>());
        self
    }

    fn define(self) -> ToolDefinition {
        ToolDefinition { input_schema: (self.input_schema)(), ..self.definition }
    }
}

/// The tools of a plugin.
#[derive(Debug, Default)]
pub struct Toolbox {
    tools: Vec<Tool>,
}

impl Toolbox {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with one more tool.
    #[must_use]
    pub fn with(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// The definitions, in the order in which the tools were added.
    #[must_use]
    pub fn definitions(self) -> Vec<ToolDefinition> {
        self.tools.into_iter().map(Tool::define).collect()
    }

    /// Runs the tool that the call names.
    ///
    /// # Errors
    /// `not-found` with the code `unknown-tool`, `invalid-argument` with the code `bad-arguments`, else what the handler says.
    pub fn call(&self, call: &ToolCall) -> Outcome {
        let Some(tool) = self.tools.iter().find(|tool| tool.definition.name == call.name) else {
            let message = format!("this plugin has no tool named `{}`", call.name);
            return Err(Error::not_found(message).with_code("unknown-tool").into());
        };
        (tool.handler)(call)
    }
}

/// The arguments of a tool that takes none.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoArguments {}

/// Reads the arguments of a call.
///
/// # Errors
/// `invalid-argument` with the code `bad-arguments`; the message names the field.
pub fn parse_arguments<A: DeserializeOwned>(call: &ToolCall) -> Result<A, Error> {
    // Some models write nothing at all for a call without arguments.
    let text = if call.arguments.trim().is_empty() { "{}" } else { call.arguments.as_str() };
    let mut reader = serde_json::Deserializer::from_str(text);
    let arguments = serde_path_to_error::deserialize(&mut reader).map_err(|error| bad_arguments(&call.name, &error))?;
    reader.end().map_err(|error| {
        Error::invalid_argument(format!("arguments of `{}`: {error}", call.name)).with_code("bad-arguments")
    })?;
    Ok(arguments)
}

fn bad_arguments(tool: &str, error: &serde_path_to_error::Error<serde_json::Error>) -> Error {
    let field = error.path().to_string();
    let reason = reason_of(error.inner());
    let message = if field == "." {
        format!("arguments of `{tool}`: {reason}")
    } else {
        format!("arguments of `{tool}`: `{field}`: {reason}")
    };
    Error::invalid_argument(message).with_code("bad-arguments")
}

/// The reason without "at line 1 column 17", which says nothing to a model that wrote one line.
fn reason_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) if error.is_data() => text[..end].to_owned(),
        _ => text,
    }
}

/// The schema as models like it: no references, no title made of a Rust type name.
fn schema_text<T: JsonSchema>() -> String {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.to_value().to_string()
}

/// A JSON result: `Ok(Json(value))`.
#[derive(Debug, Clone, PartialEq)]
pub struct Json<T>(pub T);

/// What a handler may return as the result of a tool.
pub trait IntoOutput {
    /// The output that the model gets.
    ///
    /// # Errors
    /// When the value can't be written as JSON.
    fn into_output(self) -> Outcome;
}

impl ToolOutput {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::parts(vec![Part::text(text)])
    }

    /// Several parts.
    #[must_use]
    pub fn parts(content: Vec<Part>) -> Self {
        Self { content, is_error: false, extras: None }
    }

    /// The tool ran, and this text is bad news that the model should act on.
    pub fn bad_news(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }
}

impl IntoOutput for ToolOutput {
    fn into_output(self) -> Outcome {
        Ok(self)
    }
}

impl IntoOutput for Vec<Part> {
    fn into_output(self) -> Outcome {
        Ok(ToolOutput::parts(self))
    }
}

impl IntoOutput for String {
    fn into_output(self) -> Outcome {
        Ok(ToolOutput::text(self))
    }
}

impl IntoOutput for &str {
    fn into_output(self) -> Outcome {
        Ok(ToolOutput::text(self))
    }
}

impl<T: Serialize> IntoOutput for Json<T> {
    fn into_output(self) -> Outcome {
        let text = serde_json::to_string(&self.0)
            .map_err(|error| Error::internal(format!("writing the result as JSON: {error}")))?;
        Ok(ToolOutput::parts(vec![Part::Json(text)]))
    }
}
