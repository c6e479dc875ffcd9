//! The road from any older format to this one: an append-only list of steps, one transaction each. A crash leaves the format
//! before a step or the one after it. Before a step that older builds can't follow, a whole copy of the store is kept.

mod copy;
mod format_2;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, path::Path};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::{OpenError, ReadError, schema};

/// What makes a format out of the one before it. Never edit a released one.
struct Step {
    sql: &'static str,
    /// What SQL alone can't do well; in the same transaction.
    fill: Option<fn(&Connection) -> rusqlite::Result<()>>,
    /// Whether builds that know only the format before it can't use the store any more.
    breaking: bool,
}

/// Format n is the first n of these.
const STEPS: &[Step] = &[
    Step { sql: schema::V1, fill: None, breaking: false },
    Step { sql: schema::V2, fill: Some(format_2::fill_executions), breaking: true },
];

/// The format that this build writes.
pub(crate) const FORMAT: u32 = STEPS.len() as u32;

const DOING: &str = "bring the journal to this build's format";

/// Refuses a store that is not ours, or that a newer build keeps for itself.
pub(crate) fn check(connection: &Connection) -> Result<(), OpenError> {
    inspect(connection, FORMAT).map(drop)
}

/// Refuses a store that only a writer can bring to this build's format: readers never change anything.
pub(crate) fn check_for_reading(connection: &Connection) -> Result<(), ReadError> {
    let found: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found < FORMAT { Err(ReadError::TooOld { found, needed: FORMAT }) } else { Ok(()) }
}

/// The format of a store that can be read as it is.
pub(crate) fn inspect_for_reading(connection: &Connection) -> Result<u32, OpenError> {
    match inspect(connection, FORMAT)? {
        0 => Err(OpenError::NoJournal),
        found if found < FORMAT => Err(OpenError::TooOld { found, needed: FORMAT }),
        found => Ok(found),
    }
}

/// Brings the store in a file to this build's format. Whoever calls this holds the folder.
pub(crate) fn migrate(connection: &mut Connection, file: &Path) -> Result<(), OpenError> {
    loop {
        let found = inspect(connection, FORMAT)?;
        let Some(step) = STEPS.get(found as usize) else {
            return Ok(());
        };
        if step.breaking && holds_sessions(connection).map_err(OpenError::sqlite(DOING))? {
            copy::keep(connection, file, found)?;
        }
        apply(connection, found, step)?;
        tracing::debug!(format = found + 1, "the journal has a new format");
    }
}

/// A new store of this build's format, in memory: what others are compared with.
pub(crate) fn fresh() -> Result<Connection, OpenError> {
    let mut connection = Connection::open_in_memory().map_err(OpenError::sqlite(DOING))?;
    for (format, step) in (0..).zip(STEPS) {
        apply(&mut connection, format, step)?;
    }
    Ok(connection)
}

/// The format of the store, if a build that supports some format may use it.
fn inspect(connection: &Connection, supported: u32) -> Result<u32, OpenError> {
    let doing = "read the journal's format";
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let found = pragma("user_version").map_err(OpenError::sqlite(doing))?;
    let application = pragma("application_id").map_err(OpenError::sqlite(doing))?;
    let fresh = found == 0 && !has_tables(connection).map_err(OpenError::sqlite(doing))?;
    if !fresh && application != schema::APPLICATION_ID {
        return Err(OpenError::NotAJournal);
    }
    let found = u32::try_from(found).map_err(|_| OpenError::NotAJournal)?;
    if found > supported {
        let minimum = minimum_compatible(connection).map_err(OpenError::sqlite(doing))?.unwrap_or(found);
        if minimum > supported {
            return Err(OpenError::TooNew { found, minimum, supported });
        }
    }
    Ok(found)
}

fn has_tables(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

fn holds_sessions(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT EXISTS (SELECT 1 FROM sessions)", [], |row| row.get(0))
}

fn minimum_compatible(connection: &Connection) -> rusqlite::Result<Option<u32>> {
    let sql = "SELECT value FROM meta WHERE key = 'minimum_compatible_version'";
    connection.query_row(sql, [], |row| row.get(0)).optional()
}

/// Foreign keys are off meanwhile, so that tables can be made anew, and are looked at before the commit. The switch has no
/// effect inside a transaction.
fn apply(connection: &mut Connection, from: u32, step: &Step) -> Result<(), OpenError> {
    let switch = |connection: &Connection, on: bool| {
        connection.pragma_update(None, "foreign_keys", on).map_err(OpenError::sqlite(DOING))
    };
    switch(connection, false)?;
    let done = transact(connection, from, step);
    switch(connection, true)?;
    done
}

fn transact(connection: &mut Connection, from: u32, step: &Step) -> Result<(), OpenError> {
    let sqlite = || OpenError::sqlite(DOING);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite())?;
    let before = dangling(&transaction).map_err(sqlite())?;
    transaction.execute_batch(step.sql).map_err(sqlite())?;
    if let Some(fill) = step.fill {
        fill(&transaction).map_err(sqlite())?;
    }
    check_references(&before, &dangling(&transaction).map_err(sqlite())?)?;
    transaction.pragma_update(None, "application_id", schema::APPLICATION_ID).map_err(sqlite())?;
    transaction.pragma_update(None, "user_version", from + 1).map_err(sqlite())?;
    transaction.commit().map_err(sqlite())
}

/// How many rows refer to a missing one, by their table and the other one.
type Dangling = BTreeMap<(String, String), i64>;

fn dangling(connection: &Connection) -> rusqlite::Result<Dangling> {
    let sql = "SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 2";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?;
    rows.collect()
}

/// Refuses what the step did. What was damaged before it stays as it is, for `verify` to name: refusing that would shut out the whole
/// store for one row.
fn check_references(before: &Dangling, after: &Dangling) -> Result<(), OpenError> {
    for (tables, count) in after {
        let (table, parent) = tables;
        if *count > before.get(tables).copied().unwrap_or(0) {
            tracing::error!(table, parent, "a row of the journal would refer to another one that is missing");
            return Err(OpenError::Corrupt);
        }
        tracing::warn!(table, parent, count, "rows refer to others that are missing; `verify` says which");
    }
    Ok(())
}
