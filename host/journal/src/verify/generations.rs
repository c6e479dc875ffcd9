//! Builds of plugins: each row is what was written, none is missing, and the active ones are those that the host's own records
//! activated last.

use std::collections::BTreeMap;

use mainstay_protocol::{
    Digest,
    record::{RecordBody, v1::PluginLifecycle},
};
use rusqlite::{Connection, OptionalExtension, Row, types::ValueRef};

use super::{
    ledger::Ledger,
    records,
    report::{Depth, Location},
};
use crate::{
    Damage,
    codec::Columns,
    host_session, host_tenant,
    write::{GENERATION, SessionKey, is_sound_generation},
};

const PLACE: Location = Location::Table { name: "generations" };

/// Builds and records are read at one moment: a host that runs meanwhile may swap.
pub(super) fn check(connection: &Connection, ledger: &mut Ledger<'_>) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    let active = check_rows(&transaction, ledger)?;
    check_numbers(&transaction, ledger)?;
    if ledger.depth() == Depth::Full
        && let Some(told) = tell(&transaction)?
    {
        compare(&active, &told, ledger);
    }
    // There is nothing to undo.
    transaction.finish()
}

/// Component and version of the active build of each plugin.
type Active = BTreeMap<String, (Digest, String)>;

fn check_rows(connection: &Connection, ledger: &mut Ledger<'_>) -> rusqlite::Result<Active> {
    let mut statement = connection.prepare_cached(&format!("SELECT {GENERATION} FROM generations ORDER BY plugin"))?;
    let mut rows = statement.query([])?;
    let mut active = Active::new();
    while let Some(row) = rows.next()? {
        let Some((plugin, build)) = build(row) else {
            ledger.find(PLACE, Damage::Shape, "a build's name or digest can't be");
            continue;
        };
        if !is_sound_generation(row) {
            ledger.find(PLACE, Damage::Digest, format!("a build of plugin {plugin} does not have its checksum"));
        }
        if row.get_ref(6)? == ValueRef::Null && active.insert(plugin, build).is_some() {
            ledger.find(PLACE, Damage::Count, "a plugin has two active builds");
        }
    }
    Ok(active)
}

fn build(row: &Row<'_>) -> Option<(String, (Digest, String))> {
    let shapes = [row.digest(3).is_ok(), matches!(row.get_ref(7), Ok(ValueRef::Null)) || row.digest(7).is_ok()];
    let (plugin, version) = (row.text(0).ok()?.to_owned(), row.text(4).ok()?.to_owned());
    shapes.iter().all(|fits| *fits).then_some((plugin, (row.digest(2).ok()?, version)))
}

/// The builds of a plugin are numbered from 1, and none is ever removed.
fn check_numbers(connection: &Connection, ledger: &mut Ledger<'_>) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT plugin, max(generation), count(*) FROM generations GROUP BY plugin
         HAVING min(generation) <> 1 OR max(generation) <> count(*)",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (plugin, last, count): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let message = format!("plugin {plugin} had {last} builds, and {count} are there");
        ledger.find(PLACE, Damage::Missing, message);
    }
    Ok(())
}

/// What records say of a plugin.
struct Told {
    activated: PluginLifecycle,
    /// A build like it has ended since: it may have been retired, or was another one of the same component.
    drained: bool,
}

const RECORDS: &str = "
    SELECT r.ordinal, r.at, k.name, r.body, r.digest FROM records r LEFT JOIN kinds k ON k.kind = r.kind
    WHERE r.tenant = ?1 AND r.session = ?2 ORDER BY r.ordinal";

/// What the host's records say of each plugin; none where they are damaged, or say what this build does not understand.
fn tell(connection: &Connection) -> rusqlite::Result<Option<BTreeMap<String, Told>>> {
    let mut told = BTreeMap::new();
    let Some((key, head)) = host(connection)? else { return Ok(Some(told)) };
    let mut statement = connection.prepare_cached(RECORDS)?;
    let mut rows = statement.query([key.tenant, key.session])?;
    let mut last = 0;
    while let Some(row) = rows.next()? {
        last += 1;
        let body = row.digest(4).ok().and_then(|digest| records::body(row, digest).ok());
        let Some((.., body)) = body.filter(|_| row.number(0) == Ok(last)) else { return Ok(None) };
        match body {
            RecordBody::PluginActivated(activated) | RecordBody::PluginSwapped(activated) => {
                told.insert(activated.plugin.to_string(), Told { activated, drained: false });
            }
            RecordBody::PluginDrained(drained) => {
                if let Some(told) = told.get_mut(drained.plugin.as_str()) {
                    told.drained |= told.activated.sha256 == drained.sha256;
                }
            }
            RecordBody::Unknown(_) => return Ok(None),
            _ => {}
        }
    }
    Ok((last == head).then_some(told))
}

/// The host's own session, and where it stands.
fn host(connection: &Connection) -> rusqlite::Result<Option<(SessionKey, u64)>> {
    let sql = "SELECT h.tenant, h.session, h.head FROM tenants t JOIN sessions s ON s.tenant = t.tenant AND s.id = ?2
               JOIN heads h ON h.tenant = s.tenant AND h.session = s.session WHERE t.id = ?1";
    connection
        .prepare_cached(sql)?
        .query_row([host_tenant().as_str(), host_session().as_str()], |row| {
            Ok((SessionKey { tenant: row.get(0)?, session: row.get(1)? }, row.number(2)?))
        })
        .optional()
}

fn compare(active: &Active, told: &BTreeMap<String, Told>, ledger: &mut Ledger<'_>) {
    for (plugin, Told { activated, drained }) in told {
        match active.get(plugin) {
            Some((sha256, version)) if (*sha256, version) == (activated.sha256, &activated.version) => {}
            Some(_) => {
                let message = format!("the active build of plugin {plugin} is not the one that was activated last");
                ledger.find(PLACE, Damage::Reference, message);
            }
            None if *drained => {}
            None => {
                let message = format!("a build of plugin {plugin} was activated and not retired, and none is active");
                ledger.find(PLACE, Damage::Missing, message);
            }
        }
    }
}
