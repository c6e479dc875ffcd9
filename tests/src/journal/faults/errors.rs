//! C02: the nth write, sync, open or read fails, once or for good. Each failure has a type that fits, nothing that was
//! acknowledged is missing, nothing that was refused is there, and once the fault is gone the journal goes on.

use std::path::Path;

use mainstay_faults::{Class, Disk, Effect, Fault, Faults, Image, Variant, code};
use mainstay_journal::{CommitError, OpenError, SqliteJournal};

use super::{
    check,
    ledger::{Ledger, Stage, short_story},
    open_on,
    play::{Player, play},
    quick, rounds, scratch, without_reserve,
};

/// A way to fail, and what that may be called.
#[derive(Clone, Copy)]
struct Failing {
    class: Class,
    effect: Effect,
}

impl Failing {
    const fn new(class: Class, code: i32) -> Self {
        Self { class, effect: Effect::Fail(code) }
    }

    fn is_full(self) -> bool {
        matches!(self.effect, Effect::Fail(code::SQLITE_FULL) | Effect::Short(code::SQLITE_FULL))
    }

    fn check_commit(self, error: &CommitError) {
        let fits =
            if self.is_full() { *error == CommitError::DiskFull } else { matches!(error, CommitError::Io { .. }) };
        assert!(fits, "it is called {error:?}");
    }

    fn check_open(self, error: &OpenError) {
        let full = matches!(error, OpenError::DiskFull);
        assert!(
            if self.is_full() { full } else { matches!(error, OpenError::Sqlite { .. }) },
            "it is called {error:?}"
        );
    }
}

/// Each way to fail, and how many operations the short form goes on at a time.
const WRITES: [(Failing, usize); 4] = [
    (Failing::new(Class::Write, code::SQLITE_IOERR_WRITE), 4),
    (Failing::new(Class::Write, code::SQLITE_FULL), 4),
    (Failing { class: Class::Write, effect: Effect::Short(code::SQLITE_IOERR_WRITE) }, 4),
    (Failing { class: Class::Write, effect: Effect::Short(code::SQLITE_FULL) }, 4),
];
const OTHERS: [(Failing, usize); 6] = [
    (Failing::new(Class::Sync, code::SQLITE_IOERR_FSYNC), 1),
    (Failing::new(Class::Open, code::SQLITE_CANTOPEN), 1),
    (Failing::new(Class::Read, code::SQLITE_IOERR_READ), 1),
    (Failing::new(Class::Truncate, code::SQLITE_IOERR_TRUNCATE), 1),
    (Failing::new(Class::Delete, code::SQLITE_IOERR_DELETE), 1),
    (Failing::new(Class::ShmMap, code::SQLITE_IOERR_SHMMAP), 1),
];

/// The operations that fail in turn, of so many: in the short form with gaps, for each way to fail others.
fn places(operations: u64, (failing, stride): (Failing, usize)) -> impl Iterator<Item = u64> {
    let stride = if rounds() > 1 { 1 } else { stride };
    let way = WRITES.iter().position(|(way, _)| way.effect == failing.effect).unwrap_or(0);
    (1 + (way % stride) as u64..=operations).step_by(stride)
}

/// A story, and the files of a host that has played its first stage.
struct Stage1 {
    ledger: Ledger,
    stages: Vec<Stage>,
    files: Image,
}

impl Stage1 {
    async fn new() -> Self {
        let (ledger, mut stages) = short_story();
        let (faults, folder) = (quick(), scratch());
        faults.record();
        play(&faults, folder.path(), &ledger, &[stages.remove(0)]).await;
        let log = faults.take_log();
        let mut disk = Disk::new(&log);
        disk.advance(log.len());
        Self { ledger, stages, files: disk.kill() }
    }

    fn folder(&self) -> tempfile::TempDir {
        let folder = scratch();
        self.files.write_to(folder.path()).expect("the files fit");
        without_reserve(folder.path());
        folder
    }

    /// How many operations of a class the rest of the story has.
    async fn count(&self, faults: &Faults, class: Class) -> u64 {
        let (folder, before) = (self.folder(), faults.count(class, None));
        play(faults, folder.path(), &self.ledger, &self.stages).await;
        faults.count(class, None) - before
    }

    /// Plays the rest of the story once for each operation of the class, with that one failing, and then with that and all
    /// later ones failing until somebody mends the disk.
    async fn sweep(&self, way: (Failing, usize)) {
        let (faults, failing) = (quick(), way.0);
        let operations = self.count(&faults, failing.class).await;
        let mut runs = 0;
        for nth in places(operations, way) {
            let fault = Fault::nth(failing.class, nth, failing.effect);
            for fault in [fault, fault.lasting()] {
                self.play(&faults, failing, fault).await;
                runs += 1;
            }
        }
        println!(
            "{:?} {:?}: {operations} operations, {runs} runs, {} struck",
            failing.class,
            failing.effect,
            faults.struck()
        );
        // When a host stops, the deletion of its log is the last operation of all, and may come after the end of the story.
        assert!(faults.struck() >= runs / 2 || failing.class == Class::Delete, "{} of {runs} runs", faults.struck());
    }

    async fn play(&self, faults: &Faults, failing: Failing, fault: Fault) {
        let _said = Said(fault);
        let folder = self.folder();
        faults.record();
        faults.inject(fault);
        let player = Player::new(faults, folder.path(), &self.ledger);
        for stage in &self.stages {
            player.stage(stage).await;
        }
        faults.heal();
        player.met.borrow().iter().for_each(|error| failing.check_commit(error));
        player.refused.borrow().iter().for_each(|error| failing.check_open(error));
        self.is_complete(&player.journal()).await;
        let log = faults.take_log();
        player.stop();
        if fault == fault.lasting() {
            return self.is_complete(&open_on(faults, folder.path()).expect("it opens again")).await;
        }
        let mut disk = Disk::new(&log);
        disk.advance(log.len());
        self.is_complete_in(faults, &disk.crash(Variant::NothingUnsynced)).await;
    }

    /// All was acknowledged, and all is there.
    async fn is_complete(&self, journal: &SqliteJournal) {
        assert_eq!(check::progress(journal, &self.ledger).await, Ok(self.ledger.complete()));
    }

    async fn is_complete_in(&self, faults: &Faults, image: &Image) {
        let folder = scratch();
        image.write_to(folder.path()).expect("the image fits");
        self.is_complete(&open_on(faults, folder.path()).expect("it opens after a loss of power")).await;
    }
}

/// Says with a failure which fault it was.
struct Said(Fault);

impl Drop for Said {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("with {:?}", self.0);
        }
    }
}

#[tokio::test]
async fn c02_every_nth_write_fails() {
    let stage = Stage1::new().await;
    for way in &WRITES[..2] {
        stage.sweep(*way).await;
    }
}

#[tokio::test]
async fn c02_every_nth_write_is_short() {
    let stage = Stage1::new().await;
    for way in &WRITES[2..] {
        stage.sweep(*way).await;
    }
}

#[tokio::test]
async fn c02_every_nth_sync_open_read_and_the_rest_fail() {
    let stage = Stage1::new().await;
    for way in OTHERS {
        stage.sweep(way).await;
    }
}

/// Opens a journal in an empty folder once for each operation that this takes, with that one and all after it failing, then with
/// only that one failing; then it opens, on what that has left.
async fn sweep_first_opening((failing, stride): (Failing, usize)) {
    let (ledger, stages) = short_story();
    let faults = quick();
    let before = faults.count(failing.class, None);
    drop(open_on(&faults, scratch().path()).expect("it opens"));
    let operations = faults.count(failing.class, None) - before;
    let refused = std::cell::Cell::new(0);
    let open = |folder: &Path| match open_on(&faults, folder) {
        Ok(journal) => drop(journal),
        Err(error) => {
            failing.check_open(&error);
            refused.set(refused.get() + 1);
        }
    };
    for nth in places(operations, (failing, 2 * stride)) {
        let _said = Said(Fault::nth(failing.class, nth, failing.effect));
        let folder = scratch();
        without_reserve(folder.path());
        faults.record();
        faults.inject(Fault::nth(failing.class, nth, failing.effect).lasting());
        open(folder.path());
        faults.heal();
        faults.inject(Fault::nth(failing.class, nth, failing.effect));
        open(folder.path());
        faults.heal();
        let journal = open_on(&faults, folder.path()).expect("the fault is gone");
        drop(journal);
        play(&faults, folder.path(), &ledger, &stages[..1]).await;
        let log = faults.take_log();
        let mut disk = Disk::new(&log);
        disk.advance(log.len());
        let folder = scratch();
        disk.crash(Variant::NothingUnsynced).write_to(folder.path()).expect("the image fits");
        let journal = open_on(&faults, folder.path()).expect("it opens after a loss of power");
        assert_eq!(check::progress(&journal, &ledger).await, Ok(vec![1; ledger.lanes()]));
    }
    println!("{:?} {:?}: {operations} operations, {} refusals", failing.class, failing.effect, refused.get());
    assert!(refused.get() > 0 || matches!(failing.class, Class::Delete | Class::Truncate));
}

#[tokio::test]
async fn c02_every_nth_operation_of_the_first_opening_fails() {
    for way in WRITES.into_iter().chain(OTHERS) {
        sweep_first_opening(way).await;
    }
}
