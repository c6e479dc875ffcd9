//! What belongs to no single session: the structure of the file, facts of the store, its tenants, and rows of sessions that are not
//! there.

use mainstay_protocol::{SessionId, TenantId, cursor::StoreEpoch};
use rusqlite::{Connection, OptionalExtension, Row, types::ValueRef};

use super::{
    ledger::Ledger,
    report::{Depth, Location},
};
use crate::{
    Damage,
    codec::{Checksum, Columns},
    read,
    write::{session_checksum, tenant_checksum},
};

/// Messages of SQLite's own check, at most.
const PAGE_MESSAGES: u32 = 100;

/// SQLite's own check. The quick one leaves out whether indexes agree with their tables.
pub(super) fn check_pages(connection: &Connection, ledger: &mut Ledger<'_>) -> rusqlite::Result<()> {
    let check = match ledger.depth() {
        Depth::Quick => "quick_check",
        Depth::Full => "integrity_check",
    };
    connection.pragma(None, check, PAGE_MESSAGES, |row| {
        let message: String = row.get(0)?;
        if message != "ok" {
            ledger.find(Location::Store, Damage::Page, message.replace('\n', " "));
        }
        Ok(())
    })
}

/// Facts of the store that everything depends on.
pub(super) fn check_facts(connection: &Connection, ledger: &mut Ledger<'_>) -> rusqlite::Result<()> {
    let fact = |name: &str| {
        let sql = "SELECT value FROM meta WHERE key = ?1";
        connection.query_row(sql, [name], |row| row.get::<_, rusqlite::types::Value>(0)).optional()
    };
    match fact("store_epoch")? {
        Some(rusqlite::types::Value::Blob(bytes)) if bytes.len() == 16 => {
            ledger.report().store_epoch = bytes.try_into().ok().map(StoreEpoch);
        }
        _ => ledger.find(Location::Fact { name: "store_epoch" }, Damage::Shape, "it is not 16 bytes"),
    }
    let format = i64::from(ledger.report().format);
    match fact("minimum_compatible_version")? {
        Some(rusqlite::types::Value::Integer(minimum)) if (1..=format).contains(&minimum) => {}
        _ => {
            let message = format!("it is no format from 1 to the store's own, {format}");
            ledger.find(Location::Fact { name: "minimum_compatible_version" }, Damage::Shape, message);
        }
    }
    let leases: i64 =
        connection.query_row("SELECT count(*) FROM lease WHERE id = 1 AND epoch >= 0", [], |row| row.get(0))?;
    if leases != 1 {
        ledger.find(Location::Fact { name: "lease" }, Damage::Missing, "the row that says who may write is not there");
    }
    Ok(())
}

/// Each tenant has the id that it was given, and has given out as many numbers as it has sessions, with those that were forgotten.
pub(super) fn check_tenants(connection: &Connection, ledger: &mut Ledger<'_>) -> rusqlite::Result<()> {
    let place = || Location::Table { name: "tenants" };
    let mut statement = connection.prepare_cached(
        "SELECT t.tenant, t.id, t.checksum, t.sessions,
                t.sessions >= ifnull((SELECT max(s.session) FROM sessions s WHERE s.tenant = t.tenant), 0),
                (SELECT count(*) FROM sessions s WHERE s.tenant = t.tenant)
                + (SELECT count(*) FROM forgotten f WHERE f.tenant = t.tenant)
         FROM tenants t",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id = row.id::<TenantId>(1).ok();
        ledger.at_session(id.clone(), None);
        if id.is_none() {
            ledger.find(place(), Damage::Shape, "a tenant's id can't be");
        } else if !has_checksum(row, 2, tenant_checksum(row.get(0)?, row.text(1)?)) {
            ledger.find(place(), Damage::Digest, "a tenant's id is not the one that it was given");
        }
        let (given, known): (i64, i64) = (row.get(3)?, row.get(5)?);
        if !row.get::<_, bool>(4)? {
            let message = "the counter of session numbers is behind them: a number could be given out twice";
            ledger.find(place(), Damage::Count, message);
        } else if given != known {
            let message = format!("it made {given} sessions, and {known} are there or were forgotten");
            ledger.find(place(), Damage::Count, message);
        }
    }
    ledger.at_session(None, None);
    Ok(())
}

/// Sessions that were forgotten have the ids that they had.
pub(super) fn check_forgotten(connection: &Connection, ledger: &mut Ledger<'_>) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached("SELECT tenant, id, checksum FROM forgotten")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if !has_name(row)? {
            let message = "the id of a session that was forgotten is another one: it could be made again";
            ledger.find(Location::Table { name: "forgotten" }, Damage::Digest, message);
        }
    }
    Ok(())
}

/// Whether a session has the id that it was given, from the columns tenant, id and checksum.
pub(super) fn has_name(row: &Row<'_>) -> rusqlite::Result<bool> {
    let tenant = row.get(0)?;
    Ok(row.id::<SessionId>(1).is_ok_and(|id| has_checksum(row, 2, session_checksum(tenant, id.as_str()))))
}

/// Whether a column holds a checksum. Format 1 wrote none.
fn has_checksum(row: &Row<'_>, column: usize, expected: Checksum) -> bool {
    matches!(row.get_ref(column), Ok(ValueRef::Null)) || row.bytes(column).is_ok_and(|stored| stored == expected)
}

/// Tables whose rows belong to sessions.
const OWNED: [&str; 8] =
    ["heads", "records", "items", "queue", "submissions", "plugin_state", "executions", "blob_uses"];

/// Rows of sessions that are not there, but for those that are being removed. Goes from session to session through each table's key,
/// past the rows of each: a comparison of both columns at once would read all of them.
pub(super) fn check_orphans(connection: &Connection, ledger: &mut Ledger<'_>) -> rusqlite::Result<()> {
    for table in OWNED {
        let next = |range: &str| {
            connection.prepare_cached(&format!(
                "SELECT r.tenant, r.session,
                        EXISTS (SELECT 1 FROM sessions s WHERE s.tenant = r.tenant AND s.session = r.session)
                        OR EXISTS (SELECT 1 FROM forgotten f WHERE f.tenant = r.tenant AND f.session = r.session)
                 FROM {table} r WHERE {range} ORDER BY r.tenant, r.session LIMIT 1"
            ))
        };
        let (mut in_tenant, mut in_next) = (next("r.tenant = ?1 AND r.session > ?2")?, next("r.tenant > ?1")?);
        let read = |row: &Row<'_>| Ok(((row.get(0)?, row.get(1)?), row.get::<_, bool>(2)?));
        let mut at: (i64, i64) = (i64::MIN, i64::MAX);
        loop {
            let next = match in_tenant.query_row([at.0, at.1], read).optional()? {
                None => in_next.query_row([at.0], read).optional()?,
                next => next,
            };
            let Some((key, owned)) = next else { break };
            if !owned {
                let message = format!("rows of a session that is not there (number {} of tenant {})", key.1, key.0);
                ledger.find(Location::Table { name: table }, Damage::Orphan, message);
            }
            at = key;
        }
    }
    Ok(())
}

/// Each value of the host has its checksum.
pub(super) fn check_globals(connection: &Connection, ledger: &mut Ledger<'_>) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached("SELECT key, value, checksum FROM globals")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        ledger.row(row.bytes(1).map_or(0, <[u8]>::len));
        if let Err(damage) = read::check_global(row) {
            ledger.find(Location::Table { name: "globals" }, damage, "a value of the host is not what was set");
        }
    }
    Ok(())
}
