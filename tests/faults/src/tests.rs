//! The file system under a plain SQLite connection, and the model of the disk on logs made by hand.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::{Class, Disk, Effect, Event, Fault, Faults, FileId, Log, Role, Variant, code};

fn open(faults: &Faults, folder: &Path) -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let connection = Connection::open_with_flags_and_vfs(folder.join("db"), flags, faults.name()).unwrap();
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())).unwrap();
    connection.pragma_update(None, "synchronous", "full").unwrap();
    connection
}

fn count(connection: &Connection) -> u32 {
    connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap()
}

const CREATE: &str = "CREATE TABLE t (a BLOB)";
const INSERT: &str = "INSERT INTO t VALUES (randomblob(9000))";

#[test]
fn connections_share_a_log_through_it_and_operations_are_counted() {
    let (faults, folder) = (Faults::register(), tempfile::tempdir().unwrap());
    let (one, other) = (open(&faults, folder.path()), open(&faults, folder.path()));
    one.execute_batch(CREATE).unwrap();
    let before = faults.count(Class::Sync, Some(Role::Wal));
    one.execute_batch(INSERT).unwrap();
    assert_eq!(faults.count(Class::Sync, Some(Role::Wal)) - before, 1);
    assert_eq!(count(&other), 1);
    other.execute_batch(INSERT).unwrap();
    assert_eq!(count(&one), 2);
    let syncs = faults.count(Class::Sync, Some(Role::Database));
    one.pragma(None, "wal_checkpoint", "TRUNCATE", |_| Ok(())).unwrap();
    assert!(faults.count(Class::Sync, Some(Role::Database)) > syncs);
    assert!(faults.count(Class::ShmMap, None) > 0 && faults.count(Class::Truncate, Some(Role::Wal)) > 0);
    drop((one, other));
    assert!(faults.count(Class::Delete, Some(Role::Wal)) > 0);
    assert_eq!(count(&Connection::open(folder.path().join("db")).unwrap()), 2, "the platform finds the same");
}

#[test]
fn the_nth_operation_fails_once_or_for_good() {
    let (faults, folder) = (Faults::register(), tempfile::tempdir().unwrap());
    let connection = open(&faults, folder.path());
    connection.execute_batch(CREATE).unwrap();
    faults.inject(Fault::nth(Class::Write, 2, Effect::Fail(code::SQLITE_FULL)).of(Role::Wal));
    let error = connection.execute_batch(INSERT).unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DiskFull));
    connection.execute_batch(INSERT).unwrap();
    faults.inject(Fault::each(Class::Sync, Effect::Fail(code::SQLITE_IOERR_FSYNC)));
    for _ in 0..2 {
        let error = connection.execute_batch(INSERT).unwrap_err();
        assert_eq!(error.sqlite_error().unwrap().extended_code, code::SQLITE_IOERR_FSYNC);
    }
    assert_eq!(faults.struck(), 3);
    faults.heal();
    connection.execute_batch(INSERT).unwrap();
    assert_eq!(count(&connection), 2);
}

#[test]
fn waits_for_a_lock_pass_at_once_where_they_are_skipped() {
    let (faults, folder) = (Faults::register(), tempfile::tempdir().unwrap());
    let (holder, waiter) = (open(&faults, folder.path()), open(&faults, folder.path()));
    holder.execute_batch(CREATE).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    faults.skip_sleeps(true);
    waiter.busy_timeout(std::time::Duration::from_secs(86_400)).unwrap();
    let error = waiter.execute_batch(INSERT).unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy));
}

/// What is left after a crash at each position of a recording of three commits.
fn survivors(faults: &Faults, variant: fn(u64) -> Variant) -> Vec<(usize, Option<u32>)> {
    let folder = tempfile::tempdir().unwrap();
    faults.record();
    let connection = open(faults, folder.path());
    connection.execute_batch(CREATE).unwrap();
    for _ in 0..3 {
        connection.execute_batch(INSERT).unwrap();
        faults.mark("acknowledged");
    }
    drop(connection);
    let log = faults.take_log();
    let mut disk = Disk::new(&log);
    let at = |position: usize| {
        disk.advance(position);
        let folder = tempfile::tempdir().unwrap();
        disk.crash(variant(position as u64)).write_to(folder.path()).unwrap();
        let connection = Connection::open(folder.path().join("db")).unwrap();
        let whole: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(whole, "ok");
        let found = connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0));
        (log.marks(position).count(), found.ok())
    };
    (0..=log.len()).map(at).collect()
}

#[test]
fn what_sqlite_acknowledged_survives_every_crash() {
    for variant in [
        |_| Variant::NothingUnsynced,
        |_| Variant::AllUnsynced,
        |_| Variant::LastWriteOnly,
        |_| Variant::Reversed,
        Variant::Sectors,
        Variant::Pages,
    ] {
        for (acknowledged, found) in survivors(&Faults::register(), variant) {
            let found = found.unwrap_or(0);
            assert!(found == acknowledged as u32 || found == acknowledged as u32 + 1, "{found} of {acknowledged}");
        }
    }
}

#[test]
fn a_swallowed_sync_loses_what_was_acknowledged() {
    let faults = Faults::register();
    faults.inject(Fault::each(Class::Sync, Effect::Swallow).of(Role::Wal));
    let found = survivors(&faults, |_| Variant::NothingUnsynced);
    assert!(found.iter().any(|(acknowledged, found)| found.unwrap_or(0) < *acknowledged as u32), "{found:?}");
}

const FILE: FileId = FileId(0);

fn written(offset: u64, bytes: &[u8]) -> Event {
    Event::Write { file: FILE, offset, bytes: bytes.into() }
}

fn content(events: Vec<Event>, variant: Variant) -> Option<Vec<u8>> {
    let mut log = Log::default();
    log.events.push(Event::Opened { file: FILE, name: "f".to_owned(), content: b"old".as_slice().into() });
    log.events.extend(events);
    let mut disk = Disk::new(&log);
    disk.advance(log.len());
    disk.crash(variant).files.remove("f")
}

#[test]
fn a_failed_sync_covers_nothing_and_neither_does_the_next() {
    let synced = |covers| Event::Sync { file: FILE, covers, folder: false };
    let failed = || vec![written(0, b"new"), Event::SyncFailed { file: FILE }];
    let nothing = Variant::NothingUnsynced;
    assert_eq!(content([failed(), vec![synced(3)]].concat(), nothing).unwrap(), b"old");
    assert_eq!(content([failed(), vec![synced(3)]].concat(), Variant::AllUnsynced).unwrap(), b"new");
    let renewed = [failed(), vec![Event::Renewed { file: FILE }]].concat();
    assert_eq!(content(renewed, nothing).unwrap(), b"new");
    let again = [failed(), vec![written(1, b"XY"), synced(4)]].concat();
    assert_eq!(content(again.clone(), nothing).unwrap(), b"oXY");
    assert_eq!(
        content(again, Variant::AllUnsynced).unwrap(),
        b"nXY",
        "what was in doubt does not cover what is durable"
    );
    assert_eq!(
        content(vec![written(0, b"new"), synced(1)], nothing).unwrap(),
        b"old",
        "it was written after the sync began"
    );
}

#[test]
fn a_deletion_is_durable_with_its_folder() {
    let gone = |folder| vec![Event::Delete { name: "f".to_owned(), folder }];
    assert_eq!(content(gone(false), Variant::NothingUnsynced).unwrap(), b"old");
    assert_eq!(content(gone(false), Variant::AllUnsynced), None);
    assert_eq!(content(gone(true), Variant::NothingUnsynced), None);
}

#[test]
fn a_torn_write_is_torn_at_sectors() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let content = content(vec![written(256, &[b'n'; 1024])], Variant::Sectors(seed)).unwrap();
        let piece =
            |from: usize, to: usize| content.get(from..to).is_some_and(|piece| piece.iter().all(|byte| *byte == b'n'));
        assert_eq!(&content[..3], b"old");
        seen.insert([piece(256, 512), piece(512, 1024), piece(1024, 1280)]);
    }
    assert_eq!(seen.len(), 8, "every combination of sectors");
}
