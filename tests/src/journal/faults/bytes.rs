//! C02 on files that have rotted: cut short, or with flipped bits. Whatever the journal makes of them has a type, and what it
//! calls sound is what was committed.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use mainstay_faults::{Disk, Image, Numbers};
use mainstay_journal::{
    CommitError, Journal, OpenError, Range, ReadError, ReadOnlyJournal, SessionsQuery, SqliteJournal, testing,
    verify::Depth,
};
use mainstay_protocol::TenantId;

use super::{
    check,
    ledger::{Ledger, short_story},
    open_on,
    play::play,
    quick, rounds, scratch,
};

/// The files of a journal that was closed, and those of one whose host was killed, with much of it in the log.
struct Healthy {
    ledger: Ledger,
    closed: Image,
    killed: Image,
}

const DATABASE: &str = "journal.sqlite";
const LOG: &str = "journal.sqlite-wal";

impl Healthy {
    async fn new() -> Self {
        let (ledger, stages) = short_story();
        let (faults, folder) = (quick(), scratch());
        faults.record();
        play(&faults, folder.path(), &ledger, &stages).await;
        let log = faults.take_log();
        let image = |position| {
            let mut disk = Disk::new(&log);
            disk.advance(position);
            disk.kill()
        };
        let last = |event: &mainstay_faults::Event| matches!(event, mainstay_faults::Event::Mark(_));
        let at = log.events().iter().rposition(last).expect("a mark") + 1;
        let (closed, killed) = (image(log.len()), image(at));
        assert!(!closed.files.contains_key(LOG) && killed.files[LOG].len() > 100_000);
        Self { ledger, closed, killed }
    }
}

/// Tells apart what opening and reading made of damaged files.
#[derive(Debug, Default)]
struct Tally(BTreeMap<&'static str, u64>);

impl Tally {
    fn count(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }
}

/// Opens damaged files and looks at everything in them. With `whole`, what is called sound must have all steps of the story.
async fn look(image: &Image, ledger: &Ledger, whole: bool, tally: &mut Tally, case: &str) {
    let folder = scratch();
    image.write_to(folder.path()).expect("the image fits");
    let faults = quick();
    // Any error of opening has a type; what it must not do is to panic.
    let Ok(journal) = open_on(&faults, folder.path()) else {
        tally.count("does not open");
        return;
    };
    let all = ReadOnlyJournal::open(folder.path()).ok().and_then(|store| store.verify(Depth::Full, |_| {}).ok());
    if all.is_some_and(|report| report.is_sound()) {
        tally.count("sound as a whole");
        let found = check::progress(&journal, ledger).await;
        let found = found.unwrap_or_else(|complaint| panic!("{case}: called sound, but {complaint}"));
        assert!(!whole || found == ledger.complete(), "{case}: called sound, but {found:?} steps are left");
    }
    for steps in &ledger.sessions {
        match journal.verify(&steps[0].tenant, &steps[0].session).await {
            Ok(Some(report)) if report.is_sound() => {
                tally.count("sound");
                let found = check::history(&journal, steps, &mut BTreeSet::new()).await;
                let found = found.unwrap_or_else(|complaint| panic!("{case}: called sound, but {complaint}"));
                assert!(!whole || found == steps.len(), "{case}: called sound, but {found} steps are left");
            }
            Ok(Some(_)) => tally.count("reported by verify"),
            Ok(None) => tally.count("no such session"),
            Err(ReadError::Corrupt | ReadError::Damaged { .. } | ReadError::Io { .. } | ReadError::TooNew { .. }) => {
                tally.count("an error of verify");
            }
            Err(error) => panic!("{case}: {error:?}"),
        }
    }
    look_around(&journal, ledger).await;
    let next = ledger.sessions[0].last().expect("a step");
    match journal.commit(next.clone()).await {
        Err(CommitError::Closed) => panic!("{case}: the writer is gone"),
        Err(CommitError::Busy | CommitError::DiskFull) => panic!("{case}: neither busy nor full"),
        _ => {}
    }
}

/// Reads everything that can be read; the answers don't matter here, only that there are some.
async fn look_around(journal: &SqliteJournal, ledger: &Ledger) {
    let _ = journal.sessions_with_work().await;
    let _ = journal.sessions(&TenantId::default_tenant(), SessionsQuery { limit: 100, before: None }).await;
    let _ = journal.generations().await;
    for steps in &ledger.sessions {
        let (tenant, session) = (&steps[0].tenant, &steps[0].session);
        let _ = journal.open_session(tenant, session).await;
        let _ = journal.records(tenant, session, Range::backward(1_000)).await;
        let _ = journal.items(tenant, session, Range::backward(1_000)).await;
    }
}

fn cut(image: &Image, file: &str, length: usize) -> Image {
    let mut image = image.clone();
    image.files.get_mut(file).expect("the file").truncate(length);
    image
}

#[tokio::test]
async fn c02_a_truncated_file_is_never_taken_for_a_whole_one() {
    let healthy = Healthy::new().await;
    let mut tally = Tally::default();
    let size = healthy.closed.files[DATABASE].len();
    let pages = (0..size).step_by(4096 * if rounds() > 1 { 1 } else { 3 });
    // What has at most one byte is to SQLite a store that was not made yet, and a kill at the right moment leaves one such. That one
    // which was made is not taken for it has tests of its own.
    for length in pages.flat_map(|at| [at, at + 1, at + 2_000]).skip(2) {
        let image = cut(&healthy.closed, DATABASE, length);
        look(&image, &healthy.ledger, true, &mut tally, &format!("the database cut to {length} of {size}")).await;
    }
    println!("{tally:?}");
    assert!(tally.0.contains_key("does not open"), "{tally:?}");
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    // The lock's file says who tried last.
    let others = entries.filter(|entry| entry.file_name() != "lock");
    others
        .map(|entry| (entry.file_name().into_string().expect("a name"), std::fs::read(entry.path()).expect("a file")))
        .collect()
}

#[tokio::test]
async fn c02_a_database_that_lost_all_but_its_log_is_not_begun_anew() {
    let healthy = Healthy::new().await;
    let mut gone = healthy.killed.clone();
    gone.files.remove(DATABASE);
    for image in [cut(&healthy.killed, DATABASE, 0), cut(&healthy.killed, DATABASE, 1), gone] {
        let folder = scratch();
        image.write_to(folder.path()).expect("the image fits");
        let error = ReadOnlyJournal::open(folder.path()).unwrap_err();
        assert!(matches!(error, OpenError::Emptied), "{error:?}");
        let error = open_on(&quick(), folder.path()).unwrap_err();
        assert!(matches!(error, OpenError::Emptied), "{error:?}");
        assert_eq!(files(folder.path()), image.files, "the log is what is left of the journal");
    }
}

#[tokio::test]
async fn c02_a_truncated_log_is_as_if_the_rest_had_not_happened() {
    let healthy = Healthy::new().await;
    let mut tally = Tally::default();
    let size = healthy.killed.files[LOG].len();
    let mut numbers = Numbers::new(1);
    for _ in 0..30 * rounds() {
        let length = numbers.below(size as u64) as usize;
        let image = cut(&healthy.killed, LOG, length);
        look(&image, &healthy.ledger, false, &mut tally, &format!("the log cut to {length} of {size}")).await;
    }
    println!("{tally:?}");
    assert!(tally.0.contains_key("sound"));
}

async fn flip(image: &Image, file: &str, ledger: &Ledger, whole: bool, flips: u64, seed: u64) -> Tally {
    let (mut numbers, mut tally) = (Numbers::new(seed), Tally::default());
    for _ in 0..flips {
        let mut image = image.clone();
        let content = image.files.get_mut(file).expect("the file");
        let (at, bit) = (numbers.below(content.len() as u64) as usize, numbers.below(8));
        content[at] ^= 1 << bit;
        look(&image, ledger, whole, &mut tally, &format!("bit {bit} of byte {at} of {file} flipped")).await;
    }
    println!("{tally:?}");
    tally
}

#[tokio::test]
async fn c02_a_flipped_bit_in_the_database_is_never_taken_for_sound() {
    let healthy = Healthy::new().await;
    let tally = flip(&healthy.closed, DATABASE, &healthy.ledger, true, 200 * rounds(), 2).await;
    assert!(tally.0.contains_key("reported by verify") && tally.0.contains_key("sound"), "{tally:?}");
}

#[tokio::test]
async fn c02_a_flipped_bit_in_the_log_is_never_taken_for_sound() {
    let healthy = Healthy::new().await;
    flip(&healthy.killed, LOG, &healthy.ledger, false, 60 * rounds(), 3).await;
}

/// Changes that leave a store which is not what was committed. Not among them are values of the host that are gone: nothing tells of
/// these.
const CHANGES: [&str; 17] = [
    "UPDATE submissions SET digest = zeroblob(32)",
    "UPDATE submissions SET accepted = accepted + 1",
    "UPDATE submissions SET ordinal = 1",
    "DELETE FROM submissions",
    "DELETE FROM submissions WHERE accepted = 1 AND session = 1",
    "UPDATE tenants SET id = 'another' WHERE id = 'default'",
    "UPDATE tenants SET sessions = sessions + 1",
    "UPDATE sessions SET id = 'another' WHERE id = 's0'",
    "UPDATE sessions SET labels = '{}'",
    "UPDATE sessions SET metadata = '{}'",
    "UPDATE plugin_state SET value = x'00' WHERE value IS NOT NULL",
    "UPDATE generations SET sha256 = zeroblob(32)",
    "UPDATE generations SET version = '0.2.0'",
    "DELETE FROM generations WHERE retired_at IS NULL",
    "DELETE FROM generations WHERE generation = 1",
    "UPDATE globals SET value = x'00'",
    "PRAGMA writable_schema = on;
     UPDATE sqlite_schema SET sql = replace(sql, 'activated_at', 'activated_as') WHERE name = 'generations'",
];

#[tokio::test]
async fn c02_nothing_that_was_changed_is_called_sound() {
    let healthy = Healthy::new().await;
    let mut missed = Vec::new();
    for change in CHANGES {
        let folder = scratch();
        healthy.closed.write_to(folder.path()).expect("the image fits");
        testing::execute_sql(folder.path(), change).expect("a change");
        let report = ReadOnlyJournal::open(folder.path()).expect("it opens").verify(Depth::Full, |_| {});
        if report.is_ok_and(|report| report.is_sound()) {
            missed.push(change);
        }
    }
    assert!(missed.is_empty(), "called sound: {missed:#?}");
}
