//! What plugins keep with a session.

use mainstay_protocol::PluginName;
use rusqlite::{Connection, OptionalExtension, params};

use super::find_session;
use crate::{ReadError, write::Lane};

pub(crate) fn state_value(
    connection: &Connection,
    lane: &Lane,
    plugin: &PluginName,
    key: &str,
) -> Result<Option<Vec<u8>>, ReadError> {
    let Some(session) = find_session(connection, lane)? else {
        return Ok(None);
    };
    let mut statement = connection.prepare_cached(
        "SELECT value FROM plugin_state WHERE tenant = ?1 AND session = ?2 AND plugin = ?3 AND key = ?4
         ORDER BY ordinal DESC LIMIT 1",
    )?;
    let value = statement.query_row(params![session.tenant, session.session, plugin.as_str(), key], |row| row.get(0));
    Ok(value.optional()?.flatten())
}

/// SQLite compares texts by their bytes: the keys that begin with a prefix are those from the prefix on, until one does not.
pub(crate) fn state_keys(
    connection: &Connection,
    lane: &Lane,
    plugin: &PluginName,
    prefix: &str,
) -> Result<Vec<String>, ReadError> {
    let Some(session) = find_session(connection, lane)? else {
        return Ok(Vec::new());
    };
    let mut statement = connection.prepare_cached(
        "SELECT key, value IS NULL, max(ordinal) FROM plugin_state
         WHERE tenant = ?1 AND session = ?2 AND plugin = ?3 AND key >= ?4 GROUP BY key ORDER BY key",
    )?;
    let mut rows = statement.query(params![session.tenant, session.session, plugin.as_str(), prefix])?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        let (key, deleted): (String, bool) = (row.get(0)?, row.get(1)?);
        if !key.starts_with(prefix) {
            break;
        }
        if !deleted {
            keys.push(key);
        }
    }
    Ok(keys)
}
