//! Every way in which a call can end.

use mainstay_sdk::prelude::*;
use serde_json::{Value, json};

/// A value of any kind.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Echo {
    value: Value,
}

/// The error to return.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GuestError {
    /// As in the WIT: `invalid-argument`, `not-found`, …
    kind: String,
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        Tool::new("echo", "Gives its value back.", |echo: Echo| Ok(Json(echo.value))),
        Tool::new("context", "Tells what the host says about the call.", |_: NoArguments| Ok(Json(context_json()))),
        Tool::new("trap", "Executes `unreachable`.", |_: NoArguments| -> Outcome { trap() }),
        Tool::new("panic", "Panics.", |_: NoArguments| -> Outcome { panic!("hostile: this panic is meant") }),
        Tool::new("exit", "Exits the process with 3.", |_: NoArguments| -> Outcome { std::process::exit(3) }),
        Tool::new("guest_error", "Fails as told.", |error: GuestError| -> Outcome { Err(fail(error)?.into()) }),
        Tool::new("bad_news", "Returns an error result.", |_: NoArguments| Ok(ToolOutput::bad_news("it went wrong"))),
        Tool::new("bad_json", "Returns JSON that is none.", |_: NoArguments| {
            Ok(vec![Part::Json("{not json".to_owned())])
        }),
        Tool::new("need_input", "Asks a person.", |_: NoArguments| {
            let form = Form::new("What is your name?").text("name", "Your name");
            Ok(Json(ask::<Value>("name", form)?.given()?))
        }),
        Tool::new("wait", "Asks for 50 ms.", |_: NoArguments| match suspension::resumed() {
            Some(resumption) => Ok(format!("resumed with {}", String::from_utf8_lossy(&resumption.token))),
            None => Err(wait(50, "later")),
        }),
    ]
}

fn fail(error: GuestError) -> Result<Error, Error> {
    let kind = match error.kind.as_str() {
        "invalid-argument" => ErrorKind::InvalidArgument,
        "not-found" => ErrorKind::NotFound,
        "denied" => ErrorKind::Denied,
        "conflict" => ErrorKind::Conflict,
        "limit-exceeded" => ErrorKind::LimitExceeded,
        "unavailable" => ErrorKind::Unavailable,
        "timed-out" => ErrorKind::TimedOut,
        "cancelled" => ErrorKind::Cancelled,
        "unsupported" => ErrorKind::Unsupported,
        "internal" => ErrorKind::Internal,
        other => return Err(Error::invalid_argument(format!("`{other}` is not a kind of error"))),
    };
    Ok(Error::new(kind, error.message).with_code(error.code))
}

fn trap() -> ! {
    #[cfg(target_arch = "wasm32")]
    std::arch::wasm32::unreachable();
    #[cfg(not(target_arch = "wasm32"))]
    panic!("trap");
}

fn context_json() -> Value {
    let plugin = context::plugin();
    json!({
        "session": context::session(),
        "turn": context::turn(),
        "step": context::step(),
        "call_index": context::call_index(),
        "invocation_id": context::invocation_id(),
        "attempt": context::attempt(),
        "idempotency_key": context::idempotency_key(),
        "remaining_ms": context::remaining_ms(),
        "config": serde_json::from_str::<Value>(&context::config_text()).ok(),
        "metadata": serde_json::from_str::<Value>(&context::metadata()).ok(),
        "labels": context::labels(),
        "route": context::route(),
        "plugin": { "name": plugin.name, "version": plugin.version, "sha256": plugin.sha256 },
    })
}
