//! What plugins keep with a session, by the ordinal that wrote it.

use mainstay_protocol::Ordinal;
use rusqlite::{Connection, params};

use super::sessions::SessionKey;
use crate::{StateWrite, codec::int};

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
                    "INSERT INTO plugin_state (tenant, session, plugin, key, ordinal, value) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?
                .execute(params![key.tenant, key.session, write.plugin.as_str(), write.key, int(at.0), value])?;
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
