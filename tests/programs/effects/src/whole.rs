//! A tool that reads what the host kept of another tool's output.

use mainstay_sdk::prelude::*;
use serde_json::{Value, json};

/// Arguments of `read_whole`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The reference. Default: that of the last result which has one.
    blob: Option<String>,
    /// Where to begin.
    offset: u32,
    /// How many bytes.
    max: u32,
}

pub(crate) fn tool() -> Tool {
    Tool::new("read_whole", "Reads the whole of an output that was cut.", run).pure().parallel().unattended()
}

fn run(arguments: Arguments) -> Outcome<Json<Value>> {
    let blob = match arguments.blob {
        Some(blob) => blob,
        None => last_reference()?,
    };
    let stat = blobs::stat(&blob).map(|info| json!({ "media_type": info.media_type, "size": info.size }));
    let read = blobs::read(&blob, arguments.offset, arguments.max).map(|bytes| json!(String::from_utf8_lossy(&bytes)));
    Ok(Json(json!({ "stat": stat.unwrap_or_else(word), "read": read.unwrap_or_else(word) })))
}

fn word(error: Error) -> Value {
    match error.kind {
        ErrorKind::NotFound => "not-found".into(),
        ErrorKind::Denied => "denied".into(),
        _ => error.message.into(),
    }
}

fn last_reference() -> Outcome<String> {
    let items = transcript::open()?.all();
    let reference = items.iter().rev().find_map(|item| {
        let ItemBody::ToolResult(result) = &item.body else { return None };
        let extras: Value = serde_json::from_str(result.extras.as_deref()?).ok()?;
        extras["whole_output"]["blob"].as_str().map(str::to_owned)
    });
    Ok(reference.ok_or_else(|| Error::not_found("no result has a whole output"))?)
}
