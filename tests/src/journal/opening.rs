//! Opening a folder: one host at a time, one format, private files.

use std::os::unix::fs::PermissionsExt;

use mainstay_journal::{OpenError, Options, SqliteJournal, testing};

use super::script::{Script, commit_all, open};

#[test]
fn a_second_host_is_kept_out() {
    let folder = tempfile::tempdir().unwrap();
    let held = open(folder.path());
    let error = SqliteJournal::open(folder.path(), Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::Locked { .. }));
    let text = error.to_string();
    assert!(text.contains(&std::process::id().to_string()) && text.contains("stop it first"), "{text}");
    drop(held);
    open(folder.path());
}

#[tokio::test]
async fn the_folder_and_its_files_are_private() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("data");
    let journal = open(&folder);
    commit_all(&journal, [Script::new("notes").create()]).await;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn a_fresh_store_has_the_settings_that_durability_needs() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let number = |sql| testing::query_number(folder.path(), sql).unwrap();
    assert_eq!(number("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'"), 1);
    assert_eq!(number("SELECT count(*) FROM meta WHERE key = 'store_epoch' AND length(value) = 16"), 1);
    assert_eq!(number("SELECT count(*) FROM pragma_foreign_key_check"), 0);
    let loose = "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite_%'";
    assert_eq!(number(loose), 0, "every table is STRICT");
}

#[test]
fn a_store_of_a_newer_build_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let newer = "PRAGMA user_version = 99; UPDATE meta SET value = 98 WHERE key = 'minimum_compatible_version'";
    testing::execute_sql(folder.path(), newer).unwrap();
    let error = SqliteJournal::open(folder.path(), Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::TooNew { found: 99, minimum: 98, .. }), "{error}");
}

#[test]
fn a_file_that_is_no_journal_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("journal.sqlite");
    std::fs::write(&file, "not a database, but long enough to be looked at as one ".repeat(100)).unwrap();
    let before = std::fs::read(&file).unwrap();
    let error = SqliteJournal::open(folder.path(), Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::NotAJournal), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn another_programs_database_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("journal.sqlite");
    std::fs::write(&file, "").unwrap();
    testing::execute_sql(folder.path(), "PRAGMA journal_mode = DELETE; CREATE TABLE theirs (a)").unwrap();
    let before = std::fs::read(&file).unwrap();
    let error = SqliteJournal::open(folder.path(), Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::NotAJournal), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}
