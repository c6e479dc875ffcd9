//! What belongs to the host and not to a session: active builds and global values.

use mainstay_protocol::PluginName;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::{GenerationOrigin, GenerationRow, ReadError, codec::Columns};

pub(crate) fn global(connection: &Connection, key: &str) -> Result<Option<Vec<u8>>, ReadError> {
    let mut statement = connection.prepare_cached("SELECT value FROM globals WHERE key = ?1")?;
    Ok(statement.query_row([key], |row| row.get(0)).optional()?)
}

/// The active build of each plugin.
pub(crate) fn generations(connection: &Connection) -> Result<Vec<GenerationRow>, ReadError> {
    let mut statement = connection.prepare_cached(
        "SELECT plugin, sha256, package, version, activated_at, override_entry FROM generations
         WHERE retired_at IS NULL ORDER BY plugin",
    )?;
    Ok(statement.query_map([], read_generation)?.collect::<rusqlite::Result<_>>()?)
}

/// All builds of a plugin, newest first.
pub(crate) fn generation_history(
    connection: &Connection,
    plugin: &PluginName,
) -> Result<Vec<GenerationRow>, ReadError> {
    let mut statement = connection.prepare_cached(
        "SELECT plugin, sha256, package, version, activated_at, override_entry FROM generations
         WHERE plugin = ?1 ORDER BY generation DESC",
    )?;
    Ok(statement.query_map([plugin.as_str()], read_generation)?.collect::<rusqlite::Result<_>>()?)
}

fn read_generation(row: &Row<'_>) -> rusqlite::Result<GenerationRow> {
    let origin = match row.get_ref(5)? {
        rusqlite::types::ValueRef::Null => GenerationOrigin::Manifest,
        _ => GenerationOrigin::Override { entry: row.digest(5)? },
    };
    Ok(GenerationRow {
        plugin: row.id(0)?,
        sha256: row.digest(1)?,
        package: row.digest(2)?,
        version: row.get(3)?,
        activated_at: row.time(4)?,
        origin,
    })
}
