//! `tools`: what a plugin offers to models.

use std::{collections::BTreeSet, sync::Arc};

use mainstay_protocol::{
    content::{Part, ToolCall},
    failure::CallFailure,
    tool::ToolDefinition,
};
use wasmtime::{Store, component::Instance};

use super::{guest_error, interrupted, not_served, wit::tools as wit};
use crate::{
    bindings::mainstay::plugin::{errors, items, outcomes, tool_definitions},
    call::{self, Work},
    called::Called,
    check::{self, Check},
    convert,
    generation::Generation,
    hook::Export,
    invocation::Invocation,
    limits::Limits,
    outcome,
    store::CallState,
};

/// The most tools that one plugin may have.
const MOST_TOOLS: usize = 256;

/// The longest schema of a tool, in bytes.
const LONGEST_SCHEMA: usize = 256 << 10;

/// What a tool gives back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    /// What the model gets to read.
    pub content: Vec<Part>,
    /// The tool ran, and the outcome is bad news.
    pub is_error: bool,
    /// A JSON object that models don't see.
    pub extras: Option<String>,
}

impl Generation {
    /// Runs one call of a tool. The driver has checked that the arguments are JSON and that the call may run.
    pub async fn call_tool(self: &Arc<Self>, invocation: Invocation, call: ToolCall) -> Called<ToolOutput> {
        let Some(indices) = &self.subscriptions.tools else {
            return Called::not_started(not_served(self.name(), Export::Tools));
        };
        if !self.tools().iter().any(|tool| tool.name == call.name) {
            let reason = format!("the plugin `{}` has no tool `{}`", self.name(), check::clipped(&call.name));
            return Called::not_started(outcome::refused(reason));
        }
        call::run(self, invocation, Export::Tools, CallTool { indices, call: call.into() }).await
    }
}

struct CallTool<'a> {
    indices: &'a wit::GuestIndices,
    call: items::ToolCall,
}

impl Work for CallTool<'_> {
    type Raw = Result<wit::ToolOutput, outcomes::Interruption>;
    type Output = ToolOutput;

    async fn call(self, store: &mut Store<CallState>, instance: &Instance) -> wasmtime::Result<Self::Raw> {
        let guest = self.indices.load(&mut *store, instance)?;
        guest.call_call_tool(store, &self.call).await
    }

    fn check(raw: Self::Raw, limits: &Limits) -> Result<ToolOutput, CallFailure> {
        let wit::ToolOutput { content, is_error, extras } = raw.map_err(interrupted)?;
        let output = ToolOutput { content: convert::all(content), is_error, extras };
        check::size(check::bytes_of(&output.content) + output.extras.as_ref().map_or(0, String::len), limits)?;
        check::or_bad_output(check::parts(&output.content))?;
        check::or_bad_output(check::extras("a tool's output", output.extras.as_ref()))?;
        Ok(output)
    }
}

/// Asks a plugin for its tools, when it is loaded.
pub(crate) struct ListTools<'a>(pub(crate) &'a wit::GuestIndices);

impl Work for ListTools<'_> {
    type Raw = Result<Vec<tool_definitions::ToolDefinition>, errors::Error>;
    type Output = Vec<ToolDefinition>;

    async fn call(self, store: &mut Store<CallState>, instance: &Instance) -> wasmtime::Result<Self::Raw> {
        let guest = self.0.load(&mut *store, instance)?;
        guest.call_list_tools(store).await
    }

    fn check(raw: Self::Raw, limits: &Limits) -> Result<Self::Output, CallFailure> {
        let tools: Vec<ToolDefinition> = convert::all(raw.map_err(guest_error)?);
        check::size(tools.iter().map(|tool| tool.description.len() + tool.input_schema.len()).sum(), limits)?;
        check::or_bad_output(check_tools(&tools))?;
        Ok(tools)
    }
}

fn check_tools(tools: &[ToolDefinition]) -> Check {
    if tools.len() > MOST_TOOLS {
        return Err(format!("{} tools; at most {MOST_TOOLS} are allowed", tools.len()));
    }
    let mut names = BTreeSet::new();
    for tool in tools {
        check_tool(tool).map_err(|why| format!("the tool `{}`: {why}", check::clipped(&tool.name)))?;
        if !names.insert(&tool.name) {
            return Err(format!("two tools are called `{}`", tool.name));
        }
    }
    Ok(())
}

fn check_tool(tool: &ToolDefinition) -> Check {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !(1..=64).contains(&tool.name.len()) || !tool.name.chars().all(legal) {
        return Err("a name has 1 to 64 of `a-z A-Z 0-9 _ -`".to_owned());
    }
    let input = schema("the input schema", &tool.input_schema)?;
    if input.get("type").and_then(serde_json::Value::as_str) != Some("object") {
        return Err("the input schema must have the type `object`: arguments go by name".to_owned());
    }
    if let Some(output) = &tool.output_schema {
        schema("the output schema", output)?;
    }
    check::extras("a tool", tool.extras.as_ref())
}

/// A JSON Schema that can be compiled without fetching anything.
fn schema(what: &str, text: &str) -> Check<serde_json::Value> {
    if text.len() > LONGEST_SCHEMA {
        return Err(format!("{what} has {} bytes; at most {LONGEST_SCHEMA} are allowed", text.len()));
    }
    check::json_object(what, text)?;
    let value = serde_json::from_str(text).map_err(|error| format!("{what} is not JSON: {error}"))?;
    jsonschema::validator_for(&value).map_err(|error| format!("{what} is no valid JSON Schema: {error}"))?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::tool::{Approval, Effect, Execution};

    use super::*;

    fn tool(name: &str, input_schema: &str) -> ToolDefinition {
        ToolDefinition {
            name: name.into(),
            description: String::new(),
            input_schema: input_schema.into(),
            output_schema: None,
            effect: Effect::Pure,
            execution: Execution::Parallel,
            approval: Approval::Ask,
            extras: None,
        }
    }

    #[test]
    fn definitions_are_checked() {
        let check = |name: &str, schema: &str| check_tools(&[tool(name, schema)]);
        assert_eq!(check("read_file-2", r#"{"type":"object"}"#), Ok(()));
        for (name, schema, why) in [
            ("", r#"{"type":"object"}"#, "1 to 64"),
            ("read file", r#"{"type":"object"}"#, "1 to 64"),
            ("x", "{", "not JSON"),
            ("x", "true", "not a JSON object"),
            ("x", r#"{"type":"string"}"#, "the type `object`"),
            ("x", r#"{"type":"object","properties":{"a":{"type":"strin"}}}"#, "no valid JSON Schema"),
            ("x", r#"{"type":"object","$ref":"https://example.com/schema"}"#, "no valid JSON Schema"),
        ] {
            let error = check(name, schema).unwrap_err();
            assert!(error.contains(why), "{schema}: {error}");
        }
        let twice = [tool("a", r#"{"type":"object"}"#), tool("a", r#"{"type":"object"}"#)];
        assert_eq!(check_tools(&twice).unwrap_err(), "two tools are called `a`");
    }
}
