//! This plugin's durable values in the current session, as JSON of any serde type or as bytes.
//!
//! Writes become durable with the decision or result that the call returns, or not at all.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::host::session_state as host;
use crate::types::Error;

/// The value; none when there is none.
///
/// # Errors
/// `not-found` outside a session, `invalid-argument` for a bad key, `internal` when the value is not of type `T`.
pub fn get<T: DeserializeOwned>(key: &str) -> Result<Option<T>, Error> {
    let Some(bytes) = host::get(key)? else { return Ok(None) };
    let value = serde_json::from_slice(&bytes);
    value
        .map(Some)
        .map_err(|error| Error::internal(format!("state `{key}` can't be read: {error}")).with_code("bad-state"))
}

/// Stores a value.
///
/// # Errors
/// As of [`get`], and `limit-exceeded` past the plugin's quota; nothing has changed then.
pub fn set<T: Serialize + ?Sized>(key: &str, value: &T) -> Result<(), Error> {
    let bytes = serde_json::to_vec(value);
    let bytes = bytes
        .map_err(|error| Error::internal(format!("state `{key}` can't be written: {error}")).with_code("bad-state"))?;
    host::set(key, &bytes)
}

/// The bytes of a value; none when there is none.
///
/// # Errors
/// `not-found` outside a session, `invalid-argument` for a bad key.
pub fn get_bytes(key: &str) -> Result<Option<Vec<u8>>, Error> {
    host::get(key)
}

/// Stores bytes.
///
/// # Errors
/// As of [`set`].
pub fn set_bytes(key: &str, value: &[u8]) -> Result<(), Error> {
    host::set(key, value)
}

/// Removes a value; no error when there is none.
///
/// # Errors
/// As of [`get_bytes`].
pub fn remove(key: &str) -> Result<(), Error> {
    host::remove(key)
}

/// At most `max` of the keys that begin with `prefix` and come after `after`, in byte order.
///
/// # Errors
/// As of [`get_bytes`].
pub fn list_keys(prefix: &str, after: Option<&str>, max: u32) -> Result<Vec<String>, Error> {
    host::list_keys(prefix, after, max)
}
