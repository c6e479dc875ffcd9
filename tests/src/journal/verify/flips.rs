//! Whatever bit of whatever value flips, `verify` says that something is wrong.

use std::path::Path;

use mainstay_journal::{Journal, testing};
use mainstay_protocol::Timestamp;
use rusqlite::{Connection, types::Value};

use super::{
    super::{
        script::{commit_all, open},
        talk::{Talk, fill},
    },
    builds::{row, swapped},
    verify,
};

/// Columns of which nothing in the store tells whether they are what was written: when a session was forgotten, who has the lease, which
/// life of the store this is (cursors of another one are refused), and how far behind its last event the feed's counter is.
const UNTOLD: [(&str, &str); 5] =
    [("forgotten", "at"), ("lease", "holder"), ("lease", "epoch"), ("meta", "value"), ("sqlite_sequence", "seq")];

/// The file of a store with a row in every table. Made once, in a thread of its own because tests have runtimes of theirs.
fn store() -> &'static [u8] {
    static STORE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    let make = || {
        let folder = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(write(folder.path()));
        std::fs::read(folder.path().join("journal.sqlite")).unwrap()
    };
    STORE.get_or_init(|| std::thread::spawn(make).join().unwrap())
}

async fn write(folder: &Path) {
    let journal = open(folder);
    fill(&journal).await;
    swapped(&journal, row("files", "0.2.0", 7)).await;
    journal.set_global("greeting".to_owned(), Some(b"hello".to_vec())).await.unwrap();
    let mut forgotten = Talk::new("default", "forgotten");
    commit_all(&journal, [forgotten.create()]).await;
    journal.forget(&forgotten.tenant, &forgotten.session, Timestamp(9)).await.unwrap();
    while testing::query_number(folder, "SELECT count(session) FROM forgotten").unwrap() > 0 {
        journal.set_global("tick".to_owned(), None).await.unwrap();
    }
    drop(journal);
    assert!(verify(folder).is_sound());
}

/// All tables with their columns, as the store has them.
fn columns(connection: &Connection) -> Vec<(String, String)> {
    let sql = "SELECT m.name, c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let all = rows.map(Result::unwrap).collect::<Vec<(String, String)>>();
    all.into_iter().filter(|(table, column)| !UNTOLD.contains(&(table.as_str(), column.as_str()))).collect()
}

fn key_of(connection: &Connection, table: &str) -> Vec<String> {
    let sql = format!("SELECT name FROM pragma_table_info('{table}') WHERE pk > 0 ORDER BY pk");
    let mut statement = connection.prepare(&sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Flips a bit of one value; none when it has none, or SQLite itself refuses the change.
fn flip(connection: &Connection, table: &str, column: &str, row: usize, at: usize, bit: u32) -> Option<String> {
    let keys = Some(key_of(connection, table)).filter(|keys| !keys.is_empty()).unwrap_or_else(|| vec!["rowid".into()]);
    let rows: i64 = connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
    let row = i64::try_from(row).unwrap() % rows.max(1);
    let list = keys.join(", ");
    let sql = format!("SELECT {column}, {list} FROM {table} ORDER BY {list} LIMIT 1 OFFSET {row}");
    let (value, key) = connection
        .query_row(&sql, [], |row| {
            let key = (0..keys.len()).map(|at| row.get(at + 1)).collect::<rusqlite::Result<Vec<Value>>>()?;
            Ok((row.get::<_, Value>(0)?, key))
        })
        .ok()?;
    let (new, expression) = match value {
        Value::Integer(number) => (Value::Integer(number ^ (1 << (bit + 8 * (at as u32 % 7)))), "?1"),
        Value::Text(text) if !text.is_empty() => {
            let mut bytes = text.into_bytes();
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            (Value::Blob(bytes), "CAST(?1 AS TEXT)")
        }
        Value::Blob(mut bytes) if !bytes.is_empty() => {
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            (Value::Blob(bytes), "?1")
        }
        _ => return None,
    };
    let place: Vec<_> = keys.iter().enumerate().map(|(at, key)| format!("{key} IS ?{}", at + 2)).collect();
    let sql = format!("UPDATE {table} SET {column} = {expression} WHERE {}", place.join(" AND "));
    let changed = connection.execute(&sql, rusqlite::params_from_iter(std::iter::once(new).chain(key))).ok()?;
    (changed == 1).then(|| format!("{table}.{column}, row {row}"))
}

fn connect(file: &Path) -> Connection {
    std::fs::write(file, store()).unwrap();
    let connection = Connection::open(file).unwrap();
    let settings = "PRAGMA foreign_keys = off; PRAGMA journal_mode = delete; PRAGMA synchronous = off";
    connection.execute_batch(settings).unwrap();
    connection
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig {
        failure_persistence: None,
        ..proptest::prelude::ProptestConfig::with_cases(400)
    })]

    #[test]
    fn verify_finds_every_flipped_byte(column in 0_usize..1_000, row in 0_usize..100_000, at in 0_usize..100_000, bit in 0_u32..8) {
        let folder = tempfile::tempdir().unwrap();
        let connection = connect(&folder.path().join("journal.sqlite"));
        let columns = columns(&connection);
        let (table, column) = &columns[column % columns.len()];
        let flipped = flip(&connection, table, column, row, at, bit);
        drop(connection);
        if let Some(flipped) = flipped {
            let report = verify(folder.path());
            proptest::prop_assert!(!report.is_sound(), "{flipped}: at {at}, bit {bit}");
        }
    }
}

/// The property above may miss a column for long: here is a flip in each row of each.
#[test]
fn verify_finds_a_flipped_bit_in_each_column() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("journal.sqlite");
    let (mut missed, mut tried) = (Vec::new(), 0);
    for (table, column) in columns(&connect(&file)) {
        let sql = format!("SELECT count(*) FROM {table}");
        let rows = connect(&file).query_row(&sql, [], |row| row.get::<_, u32>(0)).unwrap() as usize;
        for row in (0..rows).step_by(rows.div_ceil(3).max(1)) {
            let connection = connect(&file);
            let flipped = flip(&connection, &table, &column, row, tried, tried as u32 % 7);
            drop(connection);
            tried += usize::from(flipped.is_some());
            missed.extend(flipped.filter(|_| verify(folder.path()).is_sound()));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
    assert!(tried > 150, "{tried}");
}
