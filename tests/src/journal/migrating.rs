//! From format 1 to this build's: one step, whole or not at all, with a copy kept of what was there.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt, path::Path};

use mainstay_faults::{Class, Disk, Effect, Fault, Faults, Role, Variant, code};
use mainstay_journal::{Journal, OpenError, Options, Range, ReadError, SqliteJournal, testing};
use mainstay_protocol::TenantId;
use rusqlite::Connection;

use super::golden::{copy_of, open, reads_as_the_first_build_wrote_it};

const COPY: &str = "journal.sqlite.format-1";
const ANOTHER: &str = "journal.sqlite.format-1-2";
const PARTIAL: &str = "journal.sqlite.format-1.partial";

/// The names and texts of all tables and indexes, blanks aside.
fn schema(folder: &Path) -> Vec<(String, String, String)> {
    let connection = Connection::open(folder.join("journal.sqlite")).unwrap();
    let mut statement =
        connection.prepare("SELECT type, name, ifnull(sql, '') FROM sqlite_schema ORDER BY type, name").unwrap();
    let plain = |sql: String| sql.split_whitespace().collect::<Vec<_>>().join(" ");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, plain(row.get(2)?)))).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

fn number(folder: &Path, sql: &str) -> i64 {
    testing::query_number(folder, sql).unwrap()
}

/// The format of a file, over a connection that changes nothing.
fn format(file: &Path) -> i64 {
    let connection = Connection::open(file).unwrap();
    connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[test]
fn a_fresh_store_and_a_migrated_one_are_the_same() {
    let (fresh, migrated) = (tempfile::tempdir().unwrap(), copy_of("journal-1"));
    assert!(schema(migrated.path()).len() < 30);
    drop((open(fresh.path()), open(migrated.path())));
    assert_eq!(schema(fresh.path()), schema(migrated.path()));
    let facts = "SELECT (SELECT user_version FROM pragma_user_version) * 100 + value FROM meta
                 WHERE key = 'minimum_compatible_version'";
    assert_eq!((number(fresh.path(), facts), number(migrated.path(), facts)), (202, 202));
    assert_eq!(number(migrated.path(), "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    assert!(!fresh.path().join(COPY).exists(), "there was nothing to keep");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_the_old_format_is_kept_and_can_take_its_place_again() {
    let folder = copy_of("journal-1");
    drop(open(folder.path()));
    let copy = folder.path().join(COPY);
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(format(&copy), 1);
    let before = fs::read(&copy).unwrap();
    reads_as_the_first_build_wrote_it(&open(folder.path())).await;
    assert_eq!(fs::read(&copy).unwrap(), before, "it is not touched again");

    let elsewhere = tempfile::tempdir().unwrap();
    fs::copy(&copy, elsewhere.path().join("journal.sqlite")).unwrap();
    reads_as_the_first_build_wrote_it(&open(elsewhere.path())).await;
    let counts = ["records", "items", "submissions", "plugin_state", "generations", "globals", "kinds", "feed"];
    for table in counts {
        let sql = format!("SELECT count(*) FROM {table}");
        assert_eq!(number(elsewhere.path(), &sql), number(folder.path(), &sql), "{table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_is_made_once_and_what_a_crash_left_is_no_copy() {
    // A crash between the copy and the step.
    let (whole, folder) = (copy_of("journal-1"), copy_of("journal-1"));
    drop(open(whole.path()));
    let copied = fs::read(whole.path().join(COPY)).unwrap();
    fs::write(folder.path().join(COPY), &copied).unwrap();
    let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path.join(COPY)).unwrap());
    let before = inode(folder.path());
    drop(open(folder.path()));
    assert_eq!((inode(folder.path()), fs::read(folder.path().join(COPY)).unwrap()), (before, copied.clone()));

    // A crash before the copy had its name; and something under that name that is no copy of this store as it is now, such as the copy
    // of a store that a backup took the place of.
    let planted =
        [(PARTIAL, COPY, copied[..5_000].to_vec()), (COPY, ANOTHER, b"no database".to_vec()), (COPY, ANOTHER, copied)];
    for (name, copy, planted) in planted {
        let folder = copy_of("journal-1");
        fs::write(folder.path().join(name), &planted).unwrap();
        let connection = Connection::open(folder.path().join("journal.sqlite")).unwrap();
        connection.execute_batch("UPDATE lease SET epoch = epoch + 1").unwrap();
        drop(connection);
        reads_as_the_first_build_wrote_it(&open(folder.path())).await;
        assert!(!folder.path().join(PARTIAL).exists());
        assert_eq!(format(&folder.path().join(copy)), 1);
        assert!(name == PARTIAL || fs::read(folder.path().join(COPY)).unwrap() == planted, "what was there is kept");
    }
}

fn open_on(faults: &Faults, folder: &Path) -> Result<SqliteJournal, OpenError> {
    let mut options = Options::default();
    options.vfs = Some(faults.name());
    SqliteJournal::open(folder, options)
}

fn faults() -> Faults {
    let faults = Faults::register();
    faults.skip_syncs(true);
    faults.skip_sleeps(true);
    faults
}

#[tokio::test(flavor = "multi_thread")]
async fn without_room_for_the_copy_nothing_is_changed() {
    let (folder, faults) = (copy_of("journal-1"), faults());
    faults.inject(Fault::each(Class::Write, Effect::Fail(code::SQLITE_FULL)).of(Role::Other));
    let error = open_on(&faults, folder.path()).unwrap_err();
    assert!(matches!(error, OpenError::DiskFull), "{error}");
    assert_eq!(format(&folder.path().join("journal.sqlite")), 1);
    let left = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let known = ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "lock", "reserve"];
    assert_eq!(left.filter(|name| !known.contains(&name.as_str())).collect::<Vec<_>>(), Vec::<String>::new());
    faults.heal();
    reads_as_the_first_build_wrote_it(&open_on(&faults, folder.path()).unwrap()).await;
}

/// Lets each write, sync and opening of the migration fail in turn, until there is none left to fail.
async fn fail_each(class: Class, code: i32) {
    let mut failed = 0;
    for nth in 1.. {
        let (folder, faults) = (copy_of("journal-1"), faults());
        faults.inject(Fault::nth(class, nth, Effect::Fail(code)));
        let opened = open_on(&faults, folder.path());
        let struck = faults.struck() > 0;
        failed += u32::from(opened.is_err());
        drop(opened);
        faults.heal();
        let format = format(&folder.path().join("journal.sqlite"));
        assert!([1, 2].contains(&format), "{class:?} {nth}: format {format}");
        assert!(format == 1 || folder.path().join(COPY).exists(), "{class:?} {nth}: a step without its copy");
        reads_as_the_first_build_wrote_it(&open_on(&faults, folder.path()).unwrap()).await;
        if !struck {
            break;
        }
    }
    assert!(failed > 1, "{class:?}: {failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_anywhere_leaves_the_old_format_or_the_new_one() {
    fail_each(Class::Write, code::SQLITE_IOERR_WRITE).await;
    fail_each(Class::Sync, code::SQLITE_IOERR_FSYNC).await;
    fail_each(Class::Open, code::SQLITE_CANTOPEN).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_power_anywhere_leaves_the_old_format_or_the_new_one() {
    let (folder, faults) = (copy_of("journal-1"), faults());
    faults.record();
    drop(open_on(&faults, folder.path()).unwrap());
    let log = faults.take_log();
    let original = fs::read(copy_of("journal-1").path().join("journal.sqlite")).unwrap();
    let (mut disk, mut formats) = (Disk::new(&log), BTreeSet::new());
    for position in log.barriers() {
        disk.advance(position);
        for variant in [Variant::NothingUnsynced, Variant::AllUnsynced, Variant::Pages(position as u64)] {
            let mut image = disk.crash(variant);
            // Before the first event about it, the database is as it was.
            image.files.entry("journal.sqlite".to_owned()).or_insert_with(|| original.clone());
            let folder = tempfile::tempdir().unwrap();
            image.write_to(folder.path()).unwrap();
            formats.insert(format(&folder.path().join("journal.sqlite")));
            reads_as_the_first_build_wrote_it(&open_on(&faults, folder.path()).unwrap()).await;
        }
    }
    assert_eq!(formats, [1, 2].into());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_an_older_store_says_so_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    testing::execute_sql(folder.path(), "PRAGMA user_version = 1").unwrap();
    let (tenant, session) = (TenantId::default_tenant(), "notes".parse().unwrap());
    let error = journal.records(&tenant, &session, Range::forward(1)).await.unwrap_err();
    assert!(matches!(error, ReadError::TooOld { found: 1, needed: 2 }), "{error}");
    assert!(error.to_string().contains("run the host once"), "{error}");
    assert_eq!(number(folder.path(), "SELECT user_version FROM pragma_user_version"), 1);
}

/// Rows of kinds that no build of today writes, at their places in the feed.
#[tokio::test(flavor = "multi_thread")]
async fn places_in_the_feed_survive_and_old_kinds_get_theirs() {
    let folder = copy_of("journal-1");
    // The same rows, as if they had other kinds, and with a gap where others were deleted.
    let plant = "INSERT INTO kinds (name) VALUES ('error'), ('turn_ended');
        UPDATE records SET kind = (SELECT kind FROM kinds WHERE name = 'error') WHERE seq = 8;
        UPDATE records SET kind = (SELECT kind FROM kinds WHERE name = 'turn_ended') WHERE seq = 2;
        DELETE FROM feed WHERE seq NOT IN (1, 2, 8)";
    Connection::open(folder.path().join("journal.sqlite")).unwrap().execute_batch(plant).unwrap();
    let journal = open(folder.path());
    let seqs = "SELECT group_concat(seq, '') FROM (SELECT seq FROM feed ORDER BY seq)";
    assert_eq!(number(folder.path(), &format!("SELECT CAST(({seqs}) AS INTEGER)")), 128);
    let kinds = "SELECT count(*) FROM feed f JOIN kinds k ON k.kind = f.kind
                 WHERE (f.seq, k.name) IN (VALUES (8, 'error'), (2, 'turn_ended'))";
    assert_eq!(number(folder.path(), kinds), 2);
    assert_eq!(journal.feed_start().seq.0, 0);
    assert_eq!(number(folder.path(), "SELECT seq FROM sqlite_sequence"), 27);
}
