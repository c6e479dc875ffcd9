//! C02 on real limits of the system: a disk that is really full, files that may grow no more, a folder that may not be written.

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::Path,
    process::Command,
};

use mainstay_journal::{CommitError, Journal, OpenError, Options, SqliteJournal, Transition};

use super::{
    super::script::{Script, commit_all, open},
    check, process, scratch,
};

/// A message that takes some room; no two are the same.
fn long_message(number: usize) -> String {
    format!("message {number} takes some room ").repeat(1_000)
}

/// Commits until the journal refuses; what was committed, and what was refused with its error.
async fn fill(journal: &SqliteJournal, script: &mut Script) -> (Vec<Transition>, Transition, CommitError) {
    let mut taken = vec![script.create()];
    commit_all(journal, taken.clone()).await;
    loop {
        let next = script.submit(&long_message(taken.len()));
        match journal.commit(next.clone()).await {
            Ok(_) => taken.push(next),
            Err(error) => return (taken, next, error),
        }
        assert!(taken.len() < 1_000, "there is no limit");
    }
}

/// Whether exactly these steps are there, and sound.
async fn holds(journal: &SqliteJournal, steps: &[Transition], taken: usize) {
    assert_eq!(check::session(journal, steps, &mut Default::default()).await, Ok(taken));
}

/// A small disk in memory, seen by the part only.
const SMALL_DISK: &str = "mount -t tmpfs -o size=8m none \"$MAINSTAY_TEST_FOLDER\" && exec \"$0\" \"$@\"";

#[test]
fn c02_a_really_full_disk_refuses_and_goes_on_when_there_is_room() {
    let folder = scratch();
    let namespaces = ["--map-root-user", "--mount"];
    let permitted = Command::new("unshare").args(namespaces).arg("true").output();
    if permitted.is_ok_and(|output| output.status.success()) {
        let first = [&namespaces[..], &["sh", "-c", SMALL_DISK]].concat();
        process::run(process::part_through("unshare", &first, "limits::part_fills_the_disk", folder.path()));
    } else {
        // The other real limit stands in, and is tested on its own below as well.
        println!("no namespaces here: files that may not grow instead of a disk that is full");
        files_that_may_not_grow(folder.path());
    }
}

#[tokio::test]
#[ignore = "a part of another test, as a process of its own"]
async fn part_fills_the_disk() {
    let folder = process::folder();
    let ballast = folder.join("ballast");
    fs::write(&ballast, vec![1; 2 << 20]).expect("room for a ballast");
    let mut script = Script::new("notes");
    let mut options = Options::default();
    options.reserve = std::num::NonZeroU64::new(512 << 10).expect("not zero");
    let journal = SqliteJournal::open(&folder, options.clone()).expect("it opens");
    let (mut steps, refused, error) = fill(&journal, &mut script).await;
    assert!(error == CommitError::DiskFull && error.is_retryable(), "{error:?}");
    let error = journal.commit(refused.clone()).await.unwrap_err();
    assert_eq!(error, CommitError::DiskFull, "still");
    let taken = steps.len();
    assert!(taken > 10, "{taken}");
    steps.push(refused.clone());
    holds(&journal, &steps, taken).await;

    fs::remove_file(&ballast).expect("room again");
    commit_when_there_is_room(&journal, &refused).await;
    steps.push(script.start("and on it goes"));
    commit_all(&journal, steps[taken + 1..].to_vec()).await;
    holds(&journal, &steps, taken + 2).await;
    drop(journal);
    let journal = SqliteJournal::open(&folder, options).expect("it opens");
    holds(&journal, &steps, taken + 2).await;
}

/// The journal makes its reserve anew before it takes anything, and looks for the room now and then.
async fn commit_when_there_is_room(journal: &SqliteJournal, transition: &Transition) {
    for _ in 0..1_000 {
        match journal.commit(transition.clone()).await {
            Ok(_) => return,
            Err(error) => assert_eq!(error, CommitError::DiskFull),
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("there is room, and the journal does not see it");
}

/// A size that no file may pass, in blocks of 512 bytes; without the signal, so that writes fail.
const SMALL_FILES: &str = "trap '' XFSZ; ulimit -f 2048; exec \"$0\" \"$@\"";

fn files_that_may_not_grow(folder: &Path) {
    let output = process::run(process::part_through(
        "sh",
        &["-c", SMALL_FILES],
        "limits::part_writes_files_that_may_not_grow",
        folder,
    ));
    // Without the limit, what it had acknowledged is there, and what it was refused can be done.
    let taken: usize = output
        .lines()
        .find_map(|line| line.strip_prefix("taken: "))
        .and_then(|number| number.parse().ok())
        .expect("it says how far it came");
    let mut script = Script::new("notes");
    let mut steps = vec![script.create()];
    steps.extend((1..=taken).map(|number| script.submit(&long_message(number))));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let journal = open(folder);
        let found = check::session(&journal, &steps, &mut Default::default()).await;
        // What failed with an error of the disk may have become durable: all of it.
        let found = found.expect("whole steps");
        assert!(found == taken || found == taken + 1, "{found} of {taken}");
        commit_all(&journal, steps[found..].to_vec()).await;
        holds(&journal, &steps, taken + 1).await;
    });
}

#[test]
fn c02_files_that_may_not_grow_lose_nothing() {
    files_that_may_not_grow(scratch().path());
}

#[tokio::test]
#[ignore = "a part of another test, as a process of its own"]
async fn part_writes_files_that_may_not_grow() {
    let mut script = Script::new("notes");
    let journal = open(&process::folder());
    let (steps, _, error) = fill(&journal, &mut script).await;
    assert!(matches!(error, CommitError::Io { .. } | CommitError::DiskFull), "{error:?}");
    println!("\ntaken: {}", steps.len());
    holds(&journal, &steps, steps.len()).await;
}

/// A user who owns nothing.
const NOBODY: u32 = 65_534;

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

/// A folder with a journal of one session, for a user without privileges: this one, or where this one has them all, nobody.
struct Unprivileged {
    parent: tempfile::TempDir,
    uid: Option<u32>,
}

impl Unprivileged {
    async fn new() -> Self {
        let parent = scratch();
        set_mode(parent.path(), 0o755);
        let uid = (fs::metadata(parent.path()).expect("metadata").uid() == 0).then_some(NOBODY);
        let this = Self { parent, uid };
        let journal = open(&this.folder());
        commit_all(&journal, [Script::new("notes").create()]).await;
        drop(journal);
        this
    }

    fn folder(&self) -> std::path::PathBuf {
        self.parent.path().join("data")
    }

    /// Gives the folder and its files to the user, with these modes.
    fn give(&self, folder_mode: u32, file_mode: u32) {
        for entry in fs::read_dir(self.folder()).expect("a folder") {
            let path = entry.expect("an entry").path();
            chown(&path, self.uid, self.uid).expect("it may be given away");
            set_mode(&path, file_mode);
        }
        chown(self.folder(), self.uid, self.uid).expect("it may be given away");
        set_mode(&self.folder(), folder_mode);
    }

    fn run(&self, test: &str) {
        let mut command = process::part(test, &self.folder());
        if let Some(uid) = self.uid {
            command.uid(uid).gid(uid);
        }
        process::run(command);
    }

    /// The journal as it was, once everything may be written again.
    async fn still_holds(&self, steps: usize) {
        self.give(0o700, 0o600);
        let journal = open(&self.folder());
        let mut script = Script::new("notes");
        let mut all = vec![script.create(), script.submit("hello")];
        holds(&journal, &all[..steps], steps).await;
        let next = script.start("hello");
        all.push(next);
        commit_all(&journal, all[steps..].to_vec()).await;
    }
}

#[tokio::test]
async fn c02_a_folder_and_files_that_are_read_only_are_an_error_that_says_so() {
    let place = Unprivileged::new().await;
    place.give(0o555, 0o444);
    place.run("limits::part_finds_everything_read_only");
    place.still_holds(1).await;
}

#[test]
#[ignore = "a part of another test, as a process of its own"]
fn part_finds_everything_read_only() {
    let folder = process::folder();
    assert!(fs::read_dir(&folder).is_ok(), "it can be read");
    let error = SqliteJournal::open(&folder, Options::default()).unwrap_err();
    let OpenError::Io { doing, source } = &error else { panic!("{error:?}") };
    assert_eq!(source.kind(), std::io::ErrorKind::PermissionDenied, "{error}");
    assert!(!doing.is_empty() && !error.to_string().contains(folder.to_str().unwrap()), "{error}");
}

#[tokio::test]
async fn c02_a_folder_that_takes_no_new_file_is_a_typed_error() {
    let place = Unprivileged::new().await;
    place.give(0o555, 0o600);
    place.run("limits::part_can_make_no_file");
    place.still_holds(1).await;
}

#[test]
#[ignore = "a part of another test, as a process of its own"]
fn part_can_make_no_file() {
    let error = SqliteJournal::open(&process::folder(), Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::Sqlite { .. } | OpenError::Io { .. }), "{error:?}");
}

#[tokio::test]
async fn c02_a_folder_that_becomes_read_only_under_a_host_loses_nothing() {
    let place = Unprivileged::new().await;
    place.give(0o700, 0o600);
    place.run("limits::part_loses_the_right_to_write");
    place.still_holds(2).await;
}

#[tokio::test]
#[ignore = "a part of another test, as a process of its own"]
async fn part_loses_the_right_to_write() {
    let folder = process::folder();
    let mut script = Script::new("notes");
    let mut steps = vec![script.create()];
    let journal = open(&folder);
    set_mode(&folder, 0o555);
    // Its files are open: nothing of what it needs has become impossible.
    steps.push(script.submit("hello"));
    commit_all(&journal, steps[1..].to_vec()).await;
    holds(&journal, &steps, 2).await;
    drop(journal);
    let reopened = SqliteJournal::open(&folder, Options::default());
    match reopened {
        Ok(journal) => holds(&journal, &steps, 2).await,
        Err(error) => assert!(matches!(error, OpenError::Sqlite { .. } | OpenError::Io { .. }), "{error:?}"),
    }
}
