//! Calls of every import that needs a grant.

use mainstay_sdk::prelude::*;
use serde_json::{Value, json};

pub(crate) fn tools() -> Vec<Tool> {
    vec![Tool::new("denied_imports", "Calls every import that needs a grant.", |_: NoArguments| {
        Ok(Json(denied_imports()))
    })]
}

/// The name of each function with the kind of its error, or `ok`.
fn denied_imports() -> Value {
    let request = models::GenerationRequest::new("hello");
    json!({
        "transcript.open": answer(transcript::open().map(drop)),
        "catalog.tool-names": answer(catalog::tool_names().map(drop)),
        "catalog.find-tool": answer(catalog::find_tool("echo").map(drop)),
        "current-step.request": answer(current_step::request().map(drop)),
        "plugin-state.get": answer(plugin_state::get("key").map(drop)),
        "plugin-state.add": answer(plugin_state::add("key", 0).map(drop)),
        "plugin-state.put-if-version": answer(plugin_state::put_if_version("key", b"v", None).map(drop)),
        "blobs.stat": answer(blobs::stat("blob").map(drop)),
        "blobs.read": answer(blobs::read("blob", 0, 1).map(drop)),
        "secrets.placeholder": answer(secrets::placeholder("SECRET").map(drop)),
        "models.generate": answer(models::generate(&request).map(drop)),
    })
}

fn answer(result: Result<(), Error>) -> &'static str {
    match result.map_err(|error| error.kind) {
        Ok(()) => "ok",
        Err(ErrorKind::InvalidArgument) => "invalid-argument",
        Err(ErrorKind::NotFound) => "not-found",
        Err(ErrorKind::Denied) => "denied",
        Err(ErrorKind::Conflict) => "conflict",
        Err(ErrorKind::LimitExceeded) => "limit-exceeded",
        Err(ErrorKind::Unavailable) => "unavailable",
        Err(ErrorKind::TimedOut) => "timed-out",
        Err(ErrorKind::Cancelled) => "cancelled",
        Err(ErrorKind::Unsupported) => "unsupported",
        Err(ErrorKind::Internal) => "internal",
    }
}
