//! The journal on a disk that fails, fills up, loses power or rots: C02 and C06. The story that the tests play is in `ledger`
//! with what must be there after each of its steps; `check` compares a journal with it.
//!
//! With `MAINSTAY_TORTURE` set to a number, each test goes that many times as far: more images, more places, longer stories.

mod bytes;
mod check;
mod errors;
mod ledger;
mod limits;
mod play;
mod power;
mod process;
mod processes;

use std::{num::NonZeroU64, path::Path, sync::Arc};

use mainstay_faults::Faults;
use mainstay_journal::{OpenError, Options, SqliteJournal};

/// How far to go: 1 in `make test`.
fn rounds() -> u64 {
    std::env::var("MAINSTAY_TORTURE").ok().map_or(1, |rounds| rounds.parse().expect("MAINSTAY_TORTURE is a number"))
}

/// A folder for a store: in memory where the system has room for that, as the tests bring their own idea of durable.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary folder")
}

/// A file system that does no real sync.
fn quick() -> Faults {
    let faults = Faults::register();
    faults.skip_syncs(true);
    faults
}

/// Puts something in the place of the disk reserve, so that the journal has none. With a reserve, it refuses for a while after
/// the disk was full; what that is good for has tests of its own.
fn without_reserve(folder: &Path) {
    std::fs::create_dir_all(folder.join("reserve")).expect("a folder");
}

/// A journal whose log is so short that it is moved into the database within a story.
fn open_on(faults: &Faults, folder: &Path) -> Result<SqliteJournal, OpenError> {
    open_with_log(faults, folder, SHORT_LOG)
}

/// In bytes.
const SHORT_LOG: NonZeroU64 = NonZeroU64::new(1 << 20).expect("not zero");
const LONG_LOG: NonZeroU64 = NonZeroU64::new(1 << 30).expect("not zero");

fn open_with_log(faults: &Faults, folder: &Path, log: NonZeroU64) -> Result<SqliteJournal, OpenError> {
    let (mut options, faults) = (Options::default(), *faults);
    options.vfs = Some(faults.name());
    // Room that no test here needs, and that takes time to make.
    options.reserve = NonZeroU64::MIN;
    options.log = log;
    options.probe = Some(Arc::new(move |point| {
        if point == "journal.log-renewed" {
            faults.renewed("journal.sqlite-wal");
        }
    }));
    SqliteJournal::open(folder, options)
}
