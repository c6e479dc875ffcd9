//! The guest of the benches: `echo_json` parses its arguments and writes them again as its JSON result. Nothing else, so
//! that what is measured is the host.

use mainstay_sdk::prelude::*;

/// The plugin.
#[derive(Debug)]
pub struct EchoJson;

impl Tools for EchoJson {
    fn list_tools() -> Result<Vec<ToolDefinition>, Error> {
        Ok(vec![ToolDefinition {
            name: "echo_json".to_owned(),
            description: "Gives its arguments back.".to_owned(),
            input_schema: r#"{"type":"object"}"#.to_owned(),
            output_schema: None,
            effect: Effect::Pure,
            execution: Execution::Parallel,
            approval: Approval::Unneeded,
            extras: None,
        }])
    }

    fn call_tool(call: ToolCall) -> Result<ToolOutput, Interruption> {
        let value: serde_json::Value = serde_json::from_str(&call.arguments)
            .map_err(|error| Error::invalid_argument(format!("the arguments: {error}")).with_code("bad-arguments"))?;
        Ok(ToolOutput::parts(vec![Part::Json(value.to_string())]))
    }
}

mainstay_sdk::export!(EchoJson: tools);
