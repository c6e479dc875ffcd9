//! What belongs to no single session: the structure of the file, facts of the store, its tenants, and rows of sessions that are not
//! there.

use mainstay_protocol::{TenantId, cursor::StoreEpoch};
use rusqlite::{Connection, OptionalExtension, types::ValueRef};

use super::{
    ledger::Ledger,
    report::{Depth, Location},
};
use crate::{Damage, codec::Columns};

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

/// Each tenant has a legal id, and has given out the numbers of its sessions.
pub(super) fn check_tenants(connection: &Connection, ledger: &mut Ledger<'_>) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT t.id, t.sessions >= ifnull((SELECT max(s.session) FROM sessions s WHERE s.tenant = t.tenant), 0)
         FROM tenants t",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        ledger.at_session(row.id::<TenantId>(0).ok(), None);
        if row.id::<TenantId>(0).is_err() {
            ledger.find(Location::Table { name: "tenants" }, Damage::Shape, "a tenant's id can't be");
        }
        if !row.get::<_, bool>(1)? {
            let message = "the counter of session numbers is behind them: a number could be given out twice";
            ledger.find(Location::Table { name: "tenants" }, Damage::Count, message);
        }
    }
    ledger.at_session(None, None);
    Ok(())
}

/// Tables whose rows belong to sessions.
const OWNED: [&str; 8] =
    ["heads", "records", "items", "queue", "submissions", "plugin_state", "executions", "blob_uses"];

/// Rows of sessions that are not there, but for those that are being removed. Goes from session to session through each table's key.
pub(super) fn check_orphans(connection: &Connection, ledger: &mut Ledger<'_>) -> rusqlite::Result<()> {
    for table in OWNED {
        let sql = format!(
            "SELECT r.tenant, r.session,
                    EXISTS (SELECT 1 FROM sessions s WHERE s.tenant = r.tenant AND s.session = r.session)
                    OR EXISTS (SELECT 1 FROM forgotten f WHERE f.tenant = r.tenant AND f.session = r.session)
             FROM {table} r WHERE (r.tenant, r.session) > (?1, ?2) ORDER BY r.tenant, r.session LIMIT 1"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let mut at = (i64::MIN, i64::MIN);
        loop {
            let next =
                statement.query_row([at.0, at.1], |row| Ok(((row.get(0)?, row.get(1)?), row.get::<_, bool>(2)?)));
            let Some((key, owned)) = next.optional()? else { break };
            if !owned {
                let message = format!("rows of a session that is not there (number {} of tenant {})", key.1, key.0);
                ledger.find(Location::Table { name: table }, Damage::Orphan, message);
            }
            at = key;
        }
    }
    Ok(())
}

/// Builds of plugins: at most one of each is active, and none has a column that can't be.
pub(super) fn check_generations(connection: &Connection, ledger: &mut Ledger<'_>) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT plugin, sha256, package, override_entry,
                retired_at IS NULL AND EXISTS (SELECT 1 FROM generations n WHERE n.plugin = g.plugin
                    AND n.generation > g.generation AND n.retired_at IS NULL)
         FROM generations g",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let digests = row.digest(1).is_ok() && row.digest(2).is_ok();
        if !digests || (row.get_ref(3)? != ValueRef::Null && row.digest(3).is_err()) {
            ledger.find(Location::Table { name: "generations" }, Damage::Shape, "a build's digest can't be");
        }
        if row.get(4)? {
            ledger.find(Location::Table { name: "generations" }, Damage::Count, "a plugin has two active builds");
        }
    }
    Ok(())
}
