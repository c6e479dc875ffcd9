//! The road from any older format to this one: an append-only list, one transaction each.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::{OpenError, schema};

/// The text of each format, in order. Format n is the first n of them. Never edit a released one.
const MIGRATIONS: &[&str] = &[schema::V1];

/// The format that this build writes.
pub(crate) const FORMAT: u32 = MIGRATIONS.len() as u32;

/// Refuses a store that is not ours, or that a newer build keeps for itself.
pub(crate) fn check(connection: &Connection) -> Result<(), OpenError> {
    inspect(connection).map(drop)
}

/// Brings the store to this build's format.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), OpenError> {
    loop {
        let found = inspect(connection)?;
        let Some(migration) = MIGRATIONS.get(found as usize) else {
            return Ok(());
        };
        apply(connection, found, migration).map_err(OpenError::sqlite("bring the journal to this build's format"))?;
    }
}

/// The format of the store, if this build may use it.
fn inspect(connection: &Connection) -> Result<u32, OpenError> {
    let doing = "read the journal's format";
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let found = pragma("user_version").map_err(OpenError::sqlite(doing))?;
    let application = pragma("application_id").map_err(OpenError::sqlite(doing))?;
    let fresh = found == 0 && !has_tables(connection).map_err(OpenError::sqlite(doing))?;
    if !fresh && application != schema::APPLICATION_ID {
        return Err(OpenError::NotAJournal);
    }
    let found = u32::try_from(found).map_err(|_| OpenError::NotAJournal)?;
    if found > FORMAT {
        let minimum = minimum_compatible(connection).map_err(OpenError::sqlite(doing))?.unwrap_or(found);
        if minimum > FORMAT {
            return Err(OpenError::TooNew { found, minimum, supported: FORMAT });
        }
    }
    Ok(found)
}

fn has_tables(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

fn minimum_compatible(connection: &Connection) -> rusqlite::Result<Option<u32>> {
    let sql = "SELECT value FROM meta WHERE key = 'minimum_compatible_version'";
    connection.query_row(sql, [], |row| row.get(0)).optional()
}

fn apply(connection: &mut Connection, from: u32, migration: &str) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(migration)?;
    transaction.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", from + 1)?;
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_store_has_this_builds_format_and_migrating_twice_changes_nothing() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        let shape = |connection: &Connection| -> Vec<String> {
            let mut statement =
                connection.prepare("SELECT sql FROM sqlite_schema WHERE sql NOT NULL ORDER BY name").unwrap();
            statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
        };
        let before = shape(&connection);
        migrate(&mut connection).unwrap();
        assert_eq!(shape(&connection), before);
        assert_eq!(inspect(&connection).unwrap(), FORMAT);
    }

    #[test]
    fn a_newer_store_is_used_only_when_it_says_so() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection).unwrap();
        connection.pragma_update(None, "user_version", FORMAT + 2).unwrap();
        assert!(migrate(&mut connection).is_ok(), "it is compatible with format 1");
        let sql = "UPDATE meta SET value = ?1 WHERE key = 'minimum_compatible_version'";
        connection.execute(sql, [FORMAT + 1]).unwrap();
        let error = migrate(&mut connection).unwrap_err();
        assert!(
            matches!(error, OpenError::TooNew { found, minimum, supported: FORMAT } if (found, minimum) == (FORMAT + 2, FORMAT + 1))
        );
    }

    #[test]
    fn another_programs_database_is_left_alone() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE theirs (a)").unwrap();
        assert!(matches!(migrate(&mut connection), Err(OpenError::NotAJournal)));
    }
}
