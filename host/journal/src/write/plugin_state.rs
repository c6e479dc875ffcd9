//! What plugins keep with a session, by the ordinal that wrote it.

use mainstay_protocol::Ordinal;
use rusqlite::{Connection, params};

use super::sessions::SessionKey;
use crate::{
    StateWrite,
    codec::{Checksum, checksum, int},
};

/// Covers a value, its key, and the record that it came with.
pub(crate) fn value_checksum(plugin: &str, key: &str, at: Ordinal, value: &[u8]) -> Checksum {
    checksum("mainstay/plugin-state/1", &[plugin.as_bytes(), key.as_bytes(), &at.0.to_le_bytes(), value])
}

/// Applies writes in order: the last one to a key wins.
pub(super) fn store(
    connection: &Connection,
    key: SessionKey,
    at: Ordinal,
    writes: &[StateWrite],
) -> rusqlite::Result<()> {
    for write in writes {
        forget_older(connection, key, write)?;
        if let Some(value) = &write.value {
            connection
                .prepare_cached(
                    "INSERT INTO plugin_state (tenant, session, plugin, key, ordinal, value, checksum)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?
                .execute(params![
                    key.tenant,
                    key.session,
                    write.plugin.as_str(),
                    write.key,
                    int(at.0),
                    value,
                    value_checksum(write.plugin.as_str(), &write.key, at, value)
                ])?;
        }
    }
    Ok(())
}

/// Nothing needs older values yet: no forks share them, and no generation is rolled back to them.
fn forget_older(connection: &Connection, key: SessionKey, write: &StateWrite) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM plugin_state WHERE tenant = ?1 AND session = ?2 AND plugin = ?3 AND key = ?4")?
        .execute(params![key.tenant, key.session, write.plugin.as_str(), write.key])?;
    Ok(())
}
