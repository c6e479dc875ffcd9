//! Steps, and what they leave when they fail.

use super::*;

fn migrate(connection: &mut Connection) -> Result<(), OpenError> {
    super::migrate(connection, Path::new("in memory"))
}

/// The text of each table and index, and whatever else a schema has.
fn shape(connection: &Connection) -> Vec<String> {
    let mut statement = connection.prepare("SELECT sql FROM sqlite_schema WHERE sql NOT NULL ORDER BY name").unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

fn store_of_format_1() -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    apply(&mut connection, 0, &STEPS[0]).unwrap();
    connection
}

#[test]
fn a_fresh_store_has_this_builds_format_and_migrating_twice_changes_nothing() {
    let mut connection = Connection::open_in_memory().unwrap();
    migrate(&mut connection).unwrap();
    let before = shape(&connection);
    migrate(&mut connection).unwrap();
    assert_eq!(shape(&connection), before);
    assert_eq!(inspect(&connection, FORMAT).unwrap(), FORMAT);
}

#[test]
fn a_newer_store_is_used_only_when_it_says_so() {
    let mut connection = Connection::open_in_memory().unwrap();
    migrate(&mut connection).unwrap();
    connection.pragma_update(None, "user_version", FORMAT + 2).unwrap();
    assert!(migrate(&mut connection).is_ok(), "it is compatible with this one");
    let sql = "UPDATE meta SET value = ?1 WHERE key = 'minimum_compatible_version'";
    connection.execute(sql, [FORMAT + 1]).unwrap();
    let error = migrate(&mut connection).unwrap_err();
    assert!(
        matches!(error, OpenError::TooNew { found, minimum, supported: FORMAT } if (found, minimum) == (FORMAT + 2, FORMAT + 1))
    );
}

#[test]
fn a_build_that_knows_only_format_1_is_kept_out() {
    let mut connection = store_of_format_1();
    assert_eq!(inspect(&connection, 1).unwrap(), 1);
    migrate(&mut connection).unwrap();
    let error = inspect(&connection, 1).unwrap_err();
    assert!(matches!(error, OpenError::TooNew { found: 2, minimum: 2, supported: 1 }), "{error}");
}

#[test]
fn a_reader_does_not_migrate() {
    let mut connection = store_of_format_1();
    let before = shape(&connection);
    let error = check_for_reading(&connection).unwrap_err();
    assert_eq!(error, ReadError::TooOld { found: 1, needed: FORMAT });
    assert!(error.to_string().contains("run the host once"), "{error}");
    assert_eq!(shape(&connection), before);
    migrate(&mut connection).unwrap();
    check_for_reading(&connection).unwrap();
}

#[test]
fn another_programs_database_is_left_alone() {
    let mut connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE theirs (a)").unwrap();
    assert!(matches!(migrate(&mut connection), Err(OpenError::NotAJournal)));
}

/// A step that fails at its very end leaves nothing of itself, and foreign keys are on again.
fn check_failing(step: &Step, is_expected: fn(&OpenError) -> bool) {
    let mut connection = store_of_format_1();
    let before = shape(&connection);
    let error = apply(&mut connection, 1, step).unwrap_err();
    assert!(is_expected(&error), "{error}");
    assert_eq!(shape(&connection), before);
    assert_eq!(inspect(&connection, FORMAT).unwrap(), 1);
    assert_eq!(connection.query_row("PRAGMA foreign_keys", [], |row| row.get::<_, i64>(0)), Ok(1));
    migrate(&mut connection).unwrap();
    assert_eq!(inspect(&connection, FORMAT).unwrap(), FORMAT, "the way is still open");
}

#[test]
fn a_step_that_fails_leaves_the_old_format() {
    let sql = "CREATE TABLE a (b); DROP TABLE heads; DROP TABLE no_such_table";
    check_failing(&Step { sql, fill: None, breaking: true }, |error| matches!(error, OpenError::Sqlite { .. }));
    let fill = |_: &Connection| Err(rusqlite::Error::InvalidQuery);
    let step = Step { sql: schema::V2, fill: Some(fill), breaking: true };
    check_failing(&step, |error| matches!(error, OpenError::Corrupt));
    let sql = "INSERT INTO records (tenant, session, ordinal, at, kind, digest, body) VALUES (7, 7, 1, 0, 1, x'', '')";
    check_failing(&Step { sql, fill: None, breaking: true }, |error| matches!(error, OpenError::Corrupt));
}

/// A row that lost the one it belongs to was damage before the step; one that a step leaves like that is the step's fault.
#[test]
fn a_row_that_refers_to_nothing_does_not_shut_out_the_whole_store() {
    let mut connection = store_of_format_1();
    let orphans = "
        PRAGMA foreign_keys = off;
        INSERT INTO kinds VALUES (1, 'turn_started');
        INSERT INTO records (tenant, session, ordinal, at, kind, digest, body)
            VALUES (7, 7, 1, 0, 1, x'', '{\"turn\":\"t\",\"submission\":\"s\",\"accepted\":1}');
        PRAGMA foreign_keys = on";
    connection.execute_batch(orphans).unwrap();
    let sql = "INSERT INTO records (tenant, session, ordinal, at, kind, digest, body) VALUES (7, 7, 2, 0, 1, x'', '')";
    let error = apply(&mut connection, 1, &Step { sql, fill: None, breaking: true }).unwrap_err();
    assert!(matches!(error, OpenError::Corrupt), "one more: {error}");
    migrate(&mut connection).unwrap();
    assert_eq!(inspect(&connection, FORMAT).unwrap(), FORMAT);
    let counts = "SELECT (SELECT count(*) FROM records) * 10 + (SELECT count(*) FROM executions)";
    assert_eq!(connection.query_row(counts, [], |row| row.get::<_, i64>(0)), Ok(10), "it is kept, and has no turn");
}
