//! What plugins keep with a session.

use mainstay_protocol::{Ordinal, PluginName};
use rusqlite::{Connection, Row, params, types::ValueRef};

use super::find_session;
use crate::{
    Damage, ReadError,
    codec::Columns,
    write::{Lane, value_checksum},
};

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
        "SELECT plugin, key, ordinal, value, checksum FROM plugin_state
         WHERE tenant = ?1 AND session = ?2 AND plugin = ?3 AND key = ?4 ORDER BY ordinal DESC LIMIT 1",
    )?;
    let mut rows = statement.query(params![session.tenant, session.session, plugin.as_str(), key])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    check_state_value(row).map_err(|_| ReadError::Damaged { what: "plugin's value" })?;
    Ok(row.get(3)?)
}

/// Whether a value is the one that was written, from the columns plugin, key, ordinal, value and checksum. Format 1 wrote no checksum.
pub(crate) fn check_state_value(row: &Row<'_>) -> Result<(), Damage> {
    let shape = |_| Damage::Shape;
    if row.get_ref(4).map_err(shape)? == ValueRef::Null {
        return Ok(());
    }
    let (plugin, key, at) = (row.text(0).map_err(shape)?, row.text(1).map_err(shape)?, row.number(2).map_err(shape)?);
    let expected = value_checksum(plugin, key, Ordinal(at), row.bytes(3).map_err(shape)?);
    if row.bytes(4).map_err(shape)? == expected { Ok(()) } else { Err(Damage::Digest) }
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
