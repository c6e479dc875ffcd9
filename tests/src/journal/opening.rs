//! Opening a folder: one host at a time, one format, private files.

use std::{collections::BTreeMap, ffi::OsString, fs, os::unix::fs::PermissionsExt, path::Path};

use mainstay_faults::{Class, Effect, Fault, Faults, code};
use mainstay_journal::{
    Journal, OpenError, Options, ReadOnlyJournal, SqliteJournal,
    backup::{BackupOptions, backup},
    restore::{RestoreOptions, restore},
    testing,
};
use mainstay_protocol::Timestamp;

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
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for entry in fs::read_dir(&folder).unwrap() {
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
    fs::write(&file, "not a database, but long enough to be looked at as one ".repeat(100)).unwrap();
    let before = fs::read(&file).unwrap();
    let error = SqliteJournal::open(folder.path(), Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::NotAJournal), "{error}");
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn another_programs_database_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("journal.sqlite");
    fs::write(&file, "").unwrap();
    testing::execute_sql(folder.path(), "PRAGMA journal_mode = DELETE; CREATE TABLE theirs (a)").unwrap();
    let before = fs::read(&file).unwrap();
    let error = SqliteJournal::open(folder.path(), Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::NotAJournal), "{error}");
    assert_eq!(fs::read(&file).unwrap(), before);
}

/// What is in a folder, but for who has its lock.
fn files(folder: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let others = entries.filter(|entry| entry.file_name() != "lock" && entry.file_name() != "reserve");
    others.map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap())).collect()
}

/// Empties the journal of a folder that had one, with nothing left in its log.
async fn emptied(folder: &Path, bytes: &[u8]) {
    let journal = open(folder);
    commit_all(&journal, [Script::new("notes").create()]).await;
    drop(journal);
    fs::write(folder.join("journal.sqlite"), bytes).unwrap();
}

#[tokio::test]
async fn a_journal_that_was_emptied_is_not_begun_anew() {
    for bytes in [&b""[..], b"\0"] {
        let folder = tempfile::tempdir().unwrap();
        emptied(folder.path(), bytes).await;
        let before = files(folder.path());
        for _ in 0..2 {
            let error = SqliteJournal::open(folder.path(), Options::default()).unwrap_err();
            assert!(matches!(error, OpenError::Emptied) && error.to_string().contains("restore a backup"), "{error}");
            let error = ReadOnlyJournal::open(folder.path()).unwrap_err();
            assert!(matches!(error, OpenError::Emptied), "{error}");
        }
        assert_eq!(files(folder.path()), before);
    }
}

#[tokio::test]
async fn a_backup_takes_the_place_of_a_journal_that_was_emptied() {
    let (folder, backups) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let journal = open(folder.path());
    commit_all(&journal, [Script::new("notes").create()]).await;
    let to = backups.path().join("one");
    backup(folder.path(), &to, &BackupOptions::new("0", Timestamp(1)), |_| {}).unwrap();
    drop(journal);
    fs::write(folder.path().join("journal.sqlite"), "").unwrap();
    restore(&to, folder.path(), &RestoreOptions::new(Timestamp(2)).replacing(true), |_| {}).unwrap();
    let journal = open(folder.path());
    let notes = Script::new("notes");
    assert!(journal.open_session(&notes.tenant, &notes.session).await.unwrap().is_some());
}

#[tokio::test]
async fn a_journal_that_is_still_to_be_made_and_one_that_was_taken_away_begin_anew() {
    // A host was cut off before it had made anything.
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("lock"), "4194304\n").unwrap();
    fs::write(folder.path().join("journal.sqlite"), "").unwrap();
    assert!(matches!(ReadOnlyJournal::open(folder.path()), Err(OpenError::NoJournal)));
    drop(open(folder.path()));

    // Somebody has removed the journal to begin anew; the host that does so is cut off.
    emptied(folder.path(), b"").await;
    fs::remove_file(folder.path().join("journal.sqlite")).unwrap();
    assert!(matches!(ReadOnlyJournal::open(folder.path()), Err(OpenError::NoJournal)));
    let (faults, mut options) = (Faults::register(), Options::default());
    faults.inject(Fault::each(Class::Write, Effect::Fail(code::SQLITE_IOERR_WRITE)));
    options.vfs = Some(faults.name());
    assert!(SqliteJournal::open(folder.path(), options).is_err());
    assert_eq!(fs::metadata(folder.path().join("journal.sqlite")).unwrap().len(), 0);
    drop(open(folder.path()));
}
