//! What a verification does beside a host that forgets sessions meanwhile, and what its searches cost.

use std::{
    cell::Cell,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use super::*;
use crate::{
    connection::{self, StoreFile},
    migrations::{self, FORMAT},
};

/// A store with two sessions that have no records yet.
fn store(folder: &Path) -> Connection {
    let file = StoreFile::of(folder, None);
    crate::lock::private_file(&file.path).unwrap();
    let mut connection = connection::open_writer(&file).unwrap();
    migrations::migrate(&mut connection, &file.path).unwrap();
    let sessions = "
        INSERT INTO tenants (tenant, id, sessions) VALUES (1, 'default', 2);
        INSERT INTO sessions (tenant, id, session, created_at, labels) VALUES (1, 'a', 1, 0, '{}'), (1, 'b', 2, 0, '{}');
        INSERT INTO heads (tenant, session, head, chain, active_at, minute)
            SELECT tenant, session, 0, zeroblob(32), 0, 0 FROM sessions";
    connection.execute_batch(sessions).unwrap();
    connection
}

fn reader(folder: &Path) -> Connection {
    connection::open_reader(&StoreFile::of(folder, None)).unwrap()
}

/// Forgets the first session that there is, with all of its rows.
fn forget_first(host: &Connection) {
    let forget = "
        BEGIN;
        INSERT INTO forgotten (tenant, id, session, at) SELECT tenant, id, NULL, 5 FROM sessions ORDER BY session LIMIT 1;
        DELETE FROM heads WHERE session = (SELECT min(session) FROM sessions);
        DELETE FROM sessions WHERE session = (SELECT min(session) FROM sessions);
        COMMIT";
    host.execute_batch(forget).unwrap();
}

#[test]
fn a_session_that_is_forgotten_before_its_turn_is_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let host = store(folder.path());
    let times = Cell::new(0);
    // Called between finding a session and looking at it.
    let renew = || {
        times.set(times.get() + 1);
        forget_first(&host);
    };
    let report = all(&reader(folder.path()), Depth::Full, FORMAT, &renew, &mut |_| {}).unwrap();
    assert!(report.is_sound(), "{report:#?}");
    assert!(times.get() >= 2 && report.counts.sessions == 0, "{report:#?}");
}

#[test]
fn nor_is_one_that_is_found_by_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let host = store(folder.path());
    let (renew, mut tell) = (|| forget_first(&host), |_| {});
    let mut ledger = Ledger::new(Depth::Full, FORMAT, &mut tell).letting_go(&renew);
    let before_all = SessionKey { tenant: i64::MIN, session: i64::MIN };
    check_by_number(&reader(folder.path()), before_all, &mut ledger).unwrap();
    let report = ledger.finish();
    assert!(report.is_sound() && report.counts.sessions == 0, "{report:#?}");
}

#[test]
fn orphans_are_found_without_reading_all_rows() {
    let folder = tempfile::tempdir().unwrap();
    let host = store(folder.path());
    let many = "
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000)
        INSERT INTO records (tenant, session, ordinal, at, kind, digest, body) SELECT 1, 1, i, 0, 1, x'', '' FROM n;
        PRAGMA foreign_keys = off;
        INSERT INTO records (tenant, session, ordinal, at, kind, digest, body)
            VALUES (1, 7, 1, 0, 1, x'', ''), (1, 7, 2, 0, 1, x'', ''), (3, 1, 1, 0, 1, x'', '')";
    host.execute_batch(many).unwrap();
    let mut reader = reader(folder.path());
    let (thousands, mut tell) = (Arc::new(AtomicU64::new(0)), |_| {});
    let seen = thousands.clone();
    let count = move || {
        seen.fetch_add(1, Relaxed);
        false
    };
    reader.progress_handler(1_000, Some(count)).unwrap();
    let mut ledger = Ledger::new(Depth::Quick, FORMAT, &mut tell);
    store::check_orphans(&reader, &mut ledger).unwrap();
    assert!(thousands.load(Relaxed) < 10, "{thousands:?} thousand steps for 20,003 rows");
    let messages: Vec<_> = ledger.finish().findings.into_iter().map(|finding| finding.message).collect();
    assert!(messages.len() == 2 && messages[0].contains("number 7 of tenant 1"), "{messages:?}");
    assert!(messages[1].contains("number 1 of tenant 3"), "{messages:?}");
}

#[test]
fn a_count_of_users_that_is_wrong_in_any_way_is_not_summed_up_away() {
    let folder = tempfile::tempdir().unwrap();
    let host = store(folder.path());
    let payloads = "
        INSERT INTO blobs (blob, tenant, digest, size, uses) VALUES (1, 1, randomblob(32), 1, 2), (2, 1, randomblob(32), 1, 1);
        INSERT INTO blob_uses (tenant, session, blob, uses) VALUES (1, 1, 1, 5), (1, 2, 1, 1), (1, 2, 2, 1)";
    host.execute_batch(payloads).unwrap();
    let wrong = || {
        let mut tell = |_| {};
        let mut ledger = Ledger::new(Depth::Full, FORMAT, &mut tell);
        let last = blobs::check_users(&host, i64::MIN, &mut ledger).unwrap();
        (last, ledger.finish().damaged)
    };
    assert_eq!(wrong(), (None, 0), "the sum is right: no payload is looked at");
    for bit in 0..64 {
        let flip = "UPDATE blobs SET uses = (uses | ?1) - (uses & ?1) WHERE blob = 2";
        host.execute(flip, [1_i64 << bit]).unwrap();
        assert_eq!(wrong(), (Some(2), 1), "bit {bit}");
        host.execute(flip, [1_i64 << bit]).unwrap();
    }
    host.execute("UPDATE blobs SET uses = 3 - uses", []).unwrap();
    assert_eq!(wrong(), (Some(2), 2), "one too few and one too many");
}
