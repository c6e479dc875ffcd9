//! The tables and indexes themselves, compared with those of a store that is made just now.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::{ledger::Ledger, report::Location};
use crate::{Damage, migrations};

const PLACE: Location = Location::Table { name: "sqlite_schema" };

/// A store of a newer format has what this build does not know.
pub(super) fn check(connection: &Connection, ledger: &mut Ledger<'_>) -> rusqlite::Result<()> {
    if ledger.report().format != migrations::FORMAT {
        ledger.note("a newer build made the store: its tables were not compared");
        return Ok(());
    }
    let fresh = match migrations::fresh() {
        Ok(fresh) => fresh,
        Err(error) => {
            ledger.note(format!("the store's tables were not compared: {error}"));
            return Ok(());
        }
    };
    let (mut stored, expected) = (shape(connection)?, shape(&fresh)?);
    for (name, text) in expected {
        match stored.remove(&name) {
            Some(stored) if stored == text => {}
            Some(_) => ledger.find(PLACE, Damage::Shape, format!("{} is not what it should be", shown(&name))),
            None => ledger.find(PLACE, Damage::Missing, format!("{} is not there", shown(&name))),
        }
    }
    for name in stored.into_keys() {
        let message = format!("{} is none of the journal's", shown(&name));
        // Somebody may have added an index for reports of their own. What writes with the journal is another thing.
        if name.0 == "trigger" { ledger.find(PLACE, Damage::Orphan, message) } else { ledger.note(message) }
    }
    Ok(())
}

/// Kind and name.
type Name = (String, String);

fn shown((kind, name): &Name) -> String {
    format!("{kind} {}", name.chars().take(80).collect::<String>())
}

/// The table that each belongs to, and its text.
fn shape(connection: &Connection) -> rusqlite::Result<BTreeMap<Name, (String, String)>> {
    // What the planner knows of a store is not part of it: anybody may have asked for it.
    let sql = "SELECT type, name, tbl_name, ifnull(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_stat_' ESCAPE '\\'";
    let mut statement = connection.prepare(sql)?;
    let rows = statement
        .query_map([], |row| Ok(((row.get(0)?, row.get(1)?), (row.get(2)?, plain(&row.get::<_, String>(3)?)))))?;
    rows.collect()
}

/// A text without what versions of SQLite may write otherwise when they change a table: blanks, and quotes around names.
fn plain(sql: &str) -> String {
    sql.replace('"', "").split_whitespace().collect::<Vec<_>>().join(" ")
}
