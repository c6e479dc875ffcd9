//! `journal backup` and `journal restore`: one moment of a running store, put back as another life of it, or nothing at all.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use mainstay_journal::{
    Journal, OpenError, Range, ReadOnlyJournal, SqliteJournal,
    backup::{self, BackupError, BackupFile, BackupManifest, BackupOptions},
    restore::{self, RestoreError, RestoreOptions, Restored},
    testing,
    verify::{Depth, Report},
};
use mainstay_protocol::{Digest, Timestamp};

use super::{
    script::{Script, commit_all, open},
    talk::{Talk, fill, filled},
};

const NOW: Timestamp = Timestamp(1_800_000_000_000);

fn options() -> BackupOptions {
    BackupOptions::new("0.2.0", NOW).with_folder("components")
}

fn back_up(data: &Path, to: &Path) -> Result<BackupManifest, BackupError> {
    backup::backup(data, to, &options(), |_| {})
}

fn put_back(backup: &Path, data: &Path) -> Result<Restored, RestoreError> {
    restore::restore(backup, data, &RestoreOptions::new(NOW), |_| {})
}

fn verify(folder: &Path) -> Report {
    ReadOnlyJournal::open(folder).unwrap().verify(Depth::Full, |_| {}).unwrap()
}

fn epoch(folder: &Path) -> String {
    ReadOnlyJournal::open(folder).unwrap().stats(false).unwrap().store_epoch.to_string()
}

/// A component as a data folder keeps it.
fn keep_component(data: &Path, name: &str) {
    let folder = data.join("components").join(name).join("package");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.parent().unwrap().join("component.wasm"), format!("component {name}")).unwrap();
    fs::write(folder.join("plugin.toml"), format!("name = \"{name}\"\n")).unwrap();
    fs::write(data.join("components/.tmp123"), "half written").unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_backup_of_a_running_store_holds_all_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let (data, to) = (folder.path().join("data"), folder.path().join("backups/monday"));
    let journal = open(&data);
    let talks = fill(&journal).await;
    keep_component(&data, "aa");
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = told.clone();
    let manifest = backup::backup(&data, &to, &options(), move |progress| seen.lock().unwrap().push(progress)).unwrap();
    assert_eq!(names(&to), ["backup.json", "components", "journal.sqlite"]);
    assert_eq!(names(&folder.path().join("backups")), ["monday"], "nothing else is left");
    let paths: Vec<_> = manifest.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["journal.sqlite", "components/aa/component.wasm", "components/aa/package/plugin.toml"]);
    let records: u64 = talks.iter().map(|talk| talk.state.head().0).sum();
    assert_eq!((manifest.sessions, manifest.records, manifest.made_at), (3, records + 1, NOW));
    assert_eq!(manifest.store_epoch, epoch(&data));
    for file in ["", "backup.json", "components/aa/component.wasm", "journal.sqlite"] {
        let mode = fs::metadata(to.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{file} is private");
    }
    let told = told.lock().unwrap();
    assert!(told.is_sorted_by_key(|progress| progress.bytes) && !told.is_empty());
    assert!(verify(&to).is_sound());
    assert!(verify(&data).is_sound());
}

#[tokio::test]
async fn what_a_host_keeps_while_the_store_is_copied_is_in_the_backup() {
    let folder = tempfile::tempdir().unwrap();
    let (data, to) = (folder.path().join("data"), folder.path().join("b"));
    filled(&data).await;
    // As many rows as take SQLite long enough to be asked how it gets on.
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 50000)
                INSERT INTO globals (key, value) SELECT 'key-' || i, x'00' FROM n";
    testing::execute_sql(&data, many).unwrap();
    let (host, is_kept) = (data.clone(), AtomicBool::new(false));
    let keep = move |_| {
        if !is_kept.swap(true, Relaxed) {
            keep_component(&host, "late");
        }
    };
    let manifest = backup::backup(&data, &to, &options(), keep).unwrap();
    assert!(manifest.files.iter().any(|file| file.path == "components/late/component.wasm"), "{:?}", manifest.files);
}

#[tokio::test]
async fn what_is_restored_is_another_life_with_the_same_contents() {
    let folder = tempfile::tempdir().unwrap();
    let (data, to, again) = (folder.path().join("data"), folder.path().join("b"), folder.path().join("again"));
    let talks = filled(&data).await;
    keep_component(&data, "aa");
    back_up(&data, &to).unwrap();
    let restored = put_back(&to, &again).unwrap();
    assert_eq!((restored.aside, restored.latest.0), (None, restored.backup.latest.0));
    assert_ne!(epoch(&again), epoch(&data));
    assert_eq!(names(&again), ["components", "journal.sqlite", "lock"]);
    assert_eq!(fs::read(again.join("components/aa/component.wasm")).unwrap(), b"component aa");
    assert!(verify(&again).is_sound());
    let journal = open(&again);
    for talk in &talks {
        let opened = journal.open_session(&talk.tenant, &talk.session).await.unwrap().unwrap();
        assert_eq!(opened.state, talk.state);
    }
    // The store goes on where the backup stood.
    let [mut notes, ..] = talks;
    let text = super::talk::large("waits");
    let [start, ..] = [notes.start(&text)];
    let committed = commit_all(&journal, [start]).await;
    let seqs: Vec<_> = committed[0].records.iter().filter_map(|record| record.seq).collect();
    assert_eq!(seqs[0].0, restored.latest.0 + 1, "positions go on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_backup_beside_eight_writers_is_a_prefix_of_each() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let journal = Arc::new(open(&data));
    let scripts: Vec<_> = (0..8).map(|number| Script::new(&format!("s-{number}"))).collect();
    let done = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for mut script in scripts.clone() {
        let (journal, done) = (journal.clone(), done.clone());
        writers.push(tokio::spawn(async move {
            journal.commit(script.create()).await.unwrap();
            while !done.load(Relaxed) {
                for transition in script.turn_without_tools("hello", &"text ".repeat(1_000)) {
                    journal.commit(transition).await.unwrap();
                }
            }
            script
        }));
    }
    let mut backups = Vec::new();
    for number in 0..4 {
        let (data, to) = (data.clone(), folder.path().join(format!("b-{number}")));
        let made = to.clone();
        tokio::task::spawn_blocking(move || back_up(&data, &to)).await.unwrap().unwrap();
        backups.push(made);
    }
    done.store(true, Relaxed);
    let mut last = Vec::new();
    for writer in writers {
        last.push(writer.await.unwrap());
    }
    for (number, to) in backups.iter().enumerate() {
        let again = folder.path().join(format!("again-{number}"));
        put_back(to, &again).unwrap();
        let report = verify(&again);
        assert!(report.is_sound(), "{report:#?}");
        let restored = open(&again);
        for script in &last {
            assert_prefix(&restored, &journal, script).await;
        }
    }
}

/// The records of a session in one journal are the first ones of another.
async fn assert_prefix(restored: &SqliteJournal, whole: &SqliteJournal, script: &Script) {
    let all = |journal| async move { records(journal, script).await };
    let (prefix, whole) = (all(restored).await, all(whole).await);
    assert!(whole.starts_with(&prefix), "{}: {} of {}", script.session, prefix.len(), whole.len());
}

async fn records(journal: &SqliteJournal, script: &Script) -> Vec<(u64, Digest)> {
    let (mut records, mut after) = (Vec::new(), mainstay_protocol::Ordinal(0));
    loop {
        let range = Range::forward(1_000).after(after);
        let page = journal.records(&script.tenant, &script.session, range).await.unwrap();
        let Some(last) = page.rows.last() else { return records };
        after = last.ordinal;
        records.extend(page.rows.iter().map(|record| (record.ordinal.0, record.digest)));
    }
}

#[tokio::test]
async fn a_name_that_is_taken_and_a_folder_without_a_journal_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (data, to) = (folder.path().join("data"), folder.path().join("b"));
    assert!(matches!(back_up(&data, &to), Err(BackupError::Open(OpenError::NoJournal))));
    filled(&data).await;
    fs::create_dir(&to).unwrap();
    back_up(&data, &to).expect("an empty folder may be there");
    let before = fs::read(to.join("backup.json")).unwrap();
    assert!(matches!(back_up(&data, &to), Err(BackupError::Exists)));
    assert_eq!(fs::read(to.join("backup.json")).unwrap(), before);
    fs::write(folder.path().join("file"), "").unwrap();
    assert!(matches!(back_up(&data, &folder.path().join("file")), Err(BackupError::Exists)));
    assert_eq!(names(folder.path()), ["b", "data", "file"], "nothing half made is left");
}

#[tokio::test]
async fn a_damaged_store_is_not_backed_up_silently() {
    let folder = tempfile::tempdir().unwrap();
    let (data, to) = (folder.path().join("data"), folder.path().join("b"));
    filled(&data).await;
    let page = "SELECT rootpage FROM sqlite_schema WHERE name = 'items'";
    let page = testing::query_number(&data, page).unwrap();
    let file = fs::OpenOptions::new().write(true).open(data.join("journal.sqlite")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[0x55; 4096], u64::try_from(page - 1).unwrap() * 4096).unwrap();
    drop(file);
    let error = back_up(&data, &to).unwrap_err();
    assert!(matches!(error, BackupError::Damaged), "{error}");
    assert_eq!(names(folder.path()), ["data"]);
}

#[tokio::test]
async fn what_was_forgotten_is_not_in_a_backup() {
    let folder = tempfile::tempdir().unwrap();
    let (data, to) = (folder.path().join("data"), folder.path().join("b"));
    let journal = open(&data);
    let mut secret = Script::new("secret");
    commit_all(&journal, [secret.create()]).await;
    commit_all(&journal, secret.turn_without_tools("the needle", &"needle ".repeat(10_000))).await;
    journal.forget(&secret.tenant, &secret.session, NOW).await.unwrap();
    let left = "SELECT count(*) FROM forgotten WHERE session IS NOT NULL";
    while testing::query_number(&data, left).unwrap() > 0 {
        journal.set_global("tick".to_owned(), None).await.unwrap();
    }
    back_up(&data, &to).unwrap();
    let bytes = fs::read(to.join("journal.sqlite")).unwrap();
    assert!(!bytes.windows(6).any(|window| window == b"needle"));
}

#[tokio::test]
async fn a_backup_that_is_not_as_it_was_made_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    filled(&data).await;
    keep_component(&data, "aa");
    let refused = |change: &dyn Fn(&Path), is_expected: fn(&RestoreError) -> bool| {
        let (to, again) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        back_up(&data, to.path()).unwrap();
        change(to.path());
        let error = put_back(to.path(), again.path()).unwrap_err();
        assert!(is_expected(&error), "{error}");
        let left = names(again.path());
        assert!(left.iter().all(|name| name == "lock"), "{error}: {left:?}");
    };
    let altered = |error: &RestoreError| matches!(error, RestoreError::Altered { .. });
    let no_backup = |error: &RestoreError| matches!(error, RestoreError::NotABackup(_));
    let flip = |file: PathBuf, at: usize| {
        let mut bytes = fs::read(&file).unwrap();
        bytes[at] ^= 1;
        fs::write(&file, bytes).unwrap();
    };
    refused(&|to| flip(to.join("journal.sqlite"), 50_000), altered);
    refused(&|to| flip(to.join("components/aa/component.wasm"), 0), altered);
    refused(&|to| fs::remove_file(to.join("components/aa/component.wasm")).unwrap(), altered);
    refused(&|to| fs::write(to.join("journal.sqlite-wal"), "a log").unwrap(), altered);
    refused(&|to| fs::write(to.join("more"), "").unwrap(), altered);
    refused(&|to| fs::remove_file(to.join("backup.json")).unwrap(), no_backup);
    refused(&|to| fs::write(to.join("backup.json"), "{").unwrap(), no_backup);
    refused(&|to| fs::write(to.join("backup.json"), r#"{"backup":2}"#).unwrap(), |error| {
        matches!(error, RestoreError::TooNew(2))
    });
    let outside = |to: &Path| {
        let text = fs::read_to_string(to.join("backup.json")).unwrap();
        fs::write(to.join("backup.json"), text.replace("components/aa/component.wasm", "../component.wasm")).unwrap();
    };
    refused(&outside, altered);
    // Listed as it should be, under a name that means something else in a data folder.
    for name in ["journal.sqlite-wal", "lock", "aside", "components", "more/file"] {
        let listed = |to: &Path| {
            let file = to.join(name);
            if name == "components" {
                fs::remove_dir_all(&file).unwrap();
            }
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "something").unwrap();
            let mut manifest: BackupManifest =
                serde_json::from_slice(&fs::read(to.join("backup.json")).unwrap()).unwrap();
            manifest.files.retain(|file| file.path == "journal.sqlite" || name != "components");
            let sha256 = Digest::of(b"something");
            manifest.files.push(BackupFile { path: name.to_owned(), bytes: 9, sha256 });
            fs::write(to.join("backup.json"), serde_json::to_vec(&manifest).unwrap()).unwrap();
        };
        refused(&listed, altered);
    }
    let link = |to: &Path| {
        fs::remove_file(to.join("journal.sqlite")).unwrap();
        std::os::unix::fs::symlink(data.join("journal.sqlite"), to.join("journal.sqlite")).unwrap();
    };
    refused(&link, altered);
    // A store that was damaged before it was backed up, in a row that copying does not look at.
    testing::execute_sql(&data, "UPDATE heads SET state = CAST(state || ' ' AS BLOB)").unwrap();
    refused(&|_| {}, |error| matches!(error, RestoreError::Damaged(_)));
}

#[tokio::test]
async fn a_journal_that_is_there_is_only_moved_aside() {
    let folder = tempfile::tempdir().unwrap();
    let (data, to) = (folder.path().join("data"), folder.path().join("b"));
    filled(&data).await;
    back_up(&data, &to).unwrap();
    let old = epoch(&data);
    assert!(matches!(put_back(&to, &data), Err(RestoreError::Occupied)));
    let strange = folder.path().join("strange");
    fs::create_dir(&strange).unwrap();
    fs::write(strange.join("letter.txt"), "dear").unwrap();
    assert!(matches!(put_back(&to, &strange), Err(RestoreError::NotEmpty)));
    assert_eq!(names(&strange), ["letter.txt"]);

    let host = open(&data);
    let replacing = RestoreOptions::new(NOW).replacing(true);
    let error = restore::restore(&to, &data, &replacing, |_| {}).unwrap_err();
    assert!(matches!(error, RestoreError::Open(OpenError::Locked { .. })), "{error}");
    drop(host);
    for number in 0..2 {
        let restored = restore::restore(&to, &data, &replacing, |_| {}).unwrap();
        let aside = data.join(restored.aside.expect("there was a journal"));
        assert_eq!(number == 0, epoch(&aside) == old);
        assert!(verify(&aside).is_sound() && verify(&data).is_sound());
    }
}

/// The whole folder at one moment, as a crash would leave it.
fn copy_of(folder: &Path) -> tempfile::TempDir {
    fn copy(from: &Path, to: &Path) {
        for entry in fs::read_dir(from).unwrap() {
            let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
            if from.is_dir() {
                fs::create_dir(&to).unwrap();
                copy(&from, &to);
            } else {
                fs::copy(&from, &to).unwrap();
            }
        }
    }
    let to = tempfile::tempdir().unwrap();
    copy(folder, to.path());
    to
}

#[tokio::test]
async fn a_crash_in_a_restore_leaves_the_old_store_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let (data, to) = (folder.path().join("data"), folder.path().join("b"));
    let journal = open(&data);
    let mut talk = Talk::new("default", "notes");
    commit_all(&journal, [talk.create()]).await;
    let manifest = back_up(&data, &to).unwrap();
    commit_all(&journal, talk.turn_with_tools("hello")).await;
    // The log of a host that was killed lies beside the store, and belongs to the old one.
    let killed = copy_of(&data);
    drop(journal);
    assert!(killed.path().join("journal.sqlite-wal").metadata().unwrap().len() > 0);
    let crashes = Arc::new(Mutex::new(Vec::new()));
    let (seen, watched) = (crashes.clone(), killed.path().to_owned());
    let mut options = RestoreOptions::new(NOW).replacing(true);
    options.probe = Some(Arc::new(move |point| seen.lock().unwrap().push((point, copy_of(&watched)))));
    restore::restore(&to, killed.path(), &options, |_| {}).unwrap();
    let crashes = crashes.lock().unwrap();
    let points: Vec<_> = crashes.iter().map(|(point, _)| *point).collect();
    let expected = ["staged", "decided", "aside", "aside", "aside", "placed"].map(|point| format!("restore.{point}"));
    assert_eq!(points, expected);
    for (point, crashed) in crashes.iter() {
        let is_new = *point != "restore.staged";
        if *point != "restore.staged" {
            assert!(
                matches!(ReadOnlyJournal::open(crashed.path()), Err(OpenError::RestorePending)),
                "{point}: who only reads says so"
            );
        }
        drop(open(crashed.path()));
        let report = verify(crashed.path());
        assert!(report.is_sound(), "{point}: {report:#?}");
        let records = if is_new { manifest.records } else { talk.state.head().0 };
        assert_eq!(report.counts.records, records, "{point}");
        assert!(is_new == names(crashed.path()).iter().any(|name| name.starts_with("replaced-")), "{point}");
    }
}
