//! What belongs to the host and not to a session: active builds and global values.

use mainstay_protocol::PluginName;
use rusqlite::{Connection, Row, types::ValueRef};

use crate::{
    Damage, GenerationOrigin, GenerationRow, ReadError,
    codec::Columns,
    write::{GENERATION, global_checksum, is_sound_generation},
};

pub(crate) fn global(connection: &Connection, key: &str) -> Result<Option<Vec<u8>>, ReadError> {
    let mut statement = connection.prepare_cached("SELECT key, value, checksum FROM globals WHERE key = ?1")?;
    let mut rows = statement.query([key])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    check_global(row).map_err(|_| ReadError::Damaged { what: "host's value" })?;
    Ok(Some(row.get(1)?))
}

/// Whether a value is the one that was set, from the columns key, value and checksum. Format 1 wrote no checksum.
pub(crate) fn check_global(row: &Row<'_>) -> Result<(), Damage> {
    let shape = |_| Damage::Shape;
    if row.get_ref(2).map_err(shape)? == ValueRef::Null {
        return Ok(());
    }
    let expected = global_checksum(row.text(0).map_err(shape)?, row.bytes(1).map_err(shape)?);
    if row.bytes(2).map_err(shape)? == expected { Ok(()) } else { Err(Damage::Digest) }
}

/// The active build of each plugin. A damaged row is reported in the log and left out: a host does not end for it, and takes the build
/// that its manifest names.
pub(crate) fn generations(connection: &Connection) -> Result<Vec<GenerationRow>, ReadError> {
    let sql = format!("SELECT {GENERATION} FROM generations WHERE retired_at IS NULL ORDER BY plugin");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([], |row| Ok(sound_generation(row)))?.collect::<rusqlite::Result<Vec<_>>>()?;
    let told = |row: &Option<_>| {
        if row.is_none() {
            tracing::error!("the row of a plugin's active build is damaged: it counts as none");
        }
    };
    Ok(rows.into_iter().inspect(told).flatten().collect())
}

/// All builds of a plugin, newest first. A damaged row makes the whole answer an error: what an older build left is removed when
/// it is not in this list.
pub(crate) fn generation_history(
    connection: &Connection,
    plugin: &PluginName,
) -> Result<Vec<GenerationRow>, ReadError> {
    let sql = format!("SELECT {GENERATION} FROM generations WHERE plugin = ?1 ORDER BY generation DESC");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([plugin.as_str()], |row| Ok(sound_generation(row)))?;
    let rows = rows.collect::<rusqlite::Result<Option<Vec<_>>>>()?;
    rows.ok_or(ReadError::Damaged { what: "list of the plugin's builds" })
}

fn sound_generation(row: &Row<'_>) -> Option<GenerationRow> {
    Some(row).filter(|row| is_sound_generation(row)).and_then(|row| read_generation(row).ok())
}

fn read_generation(row: &Row<'_>) -> rusqlite::Result<GenerationRow> {
    let origin = match row.get_ref(7)? {
        ValueRef::Null => GenerationOrigin::Manifest,
        _ => GenerationOrigin::Override { entry: row.digest(7)? },
    };
    Ok(GenerationRow {
        plugin: row.id(0)?,
        sha256: row.digest(2)?,
        package: row.digest(3)?,
        version: row.get(4)?,
        activated_at: row.time(5)?,
        origin,
    })
}
