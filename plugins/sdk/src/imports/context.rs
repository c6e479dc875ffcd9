//! Facts about the current call. None of these functions fails.

use serde::de::DeserializeOwned;

use super::host::context as host;
use crate::types::{Error, PluginIdentity};

/// The operator's configuration of this plugin.
///
/// The host has checked it against the schema in the manifest; defaults are up to `T` (`#[serde(default)]`).
///
/// # Errors
/// `invalid-argument` with the code `bad-config`; the message names the key.
pub fn config<T: DeserializeOwned>() -> Result<T, Error> {
    let text = host::config();
    let mut reader = serde_json::Deserializer::from_str(&text);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let (key, reason) = (error.path().to_string(), error.inner());
        Error::invalid_argument(format!("configuration: `{key}`: {reason}")).with_code("bad-config")
    })
}

/// The configuration as JSON text.
#[must_use]
pub fn config_text() -> String {
    host::config()
}

/// The session; none while the host lists, checks or observes across sessions.
#[must_use]
pub fn session() -> Option<String> {
    host::session()
}

/// The turn; none outside a turn.
#[must_use]
pub fn turn() -> Option<String> {
    host::turn()
}

/// The step, from 0 in each turn; none outside a step.
#[must_use]
pub fn step() -> Option<u32> {
    host::step()
}

/// The position of the tool call in its step, from 0; none outside a tool call.
#[must_use]
pub fn call_index() -> Option<u32> {
    host::call_index()
}

/// Names this piece of work; the same when the host runs it again.
#[must_use]
pub fn invocation_id() -> String {
    host::invocation_id()
}

/// How often this invocation has been started, from 1.
#[must_use]
pub fn attempt() -> u32 {
    host::attempt()
}

/// A key to send along with effects outside: the same for each attempt of one tool call; none outside a tool call.
#[must_use]
pub fn idempotency_key() -> Option<String> {
    host::idempotency_key()
}

/// Time left until the host ends this call, in milliseconds.
#[must_use]
pub fn remaining_ms() -> u32 {
    host::remaining_ms()
}

/// The session's metadata: a JSON object; `{}` without a session.
#[must_use]
pub fn metadata() -> String {
    host::metadata()
}

/// The session's labels as name and value. They describe and never authorise.
#[must_use]
pub fn labels() -> Vec<(String, String)> {
    host::labels()
}

/// The route whose model serves or served this step; none outside a step.
#[must_use]
pub fn route() -> Option<String> {
    host::route()
}

/// Which code is running.
#[must_use]
pub fn plugin() -> PluginIdentity {
    host::plugin()
}
