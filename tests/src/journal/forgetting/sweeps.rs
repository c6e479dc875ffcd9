//! Removing what is left of many sessions at once: one piece at a time, never in the way of others, and again where it failed.

use std::{
    num::NonZeroUsize,
    path::Path,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Waker},
};

use mainstay_faults::{Class, Effect, Fault, Faults, Role, code};
use mainstay_journal::{Journal, Options, ReserveState, SqliteJournal, testing};

use super::{super::script::commit_all, AT, Script, fill, forget, pending, rows, swept};

const SESSIONS: usize = 8;
const ROWS: i64 = 2_000;

/// Sessions with many rows each.
async fn large(journal: &SqliteJournal) -> Vec<Script> {
    let mut scripts: Vec<_> = (0..SESSIONS).map(|number| Script::new(&format!("s{number}"))).collect();
    for script in &mut scripts {
        commit_all(journal, [script.create()]).await;
    }
    let sql = format!(
        "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT {ROWS})
         INSERT INTO plugin_state (tenant, session, plugin, key, ordinal, value)
         SELECT tenant, session, 'files', 'k' || n, 1, x'00' FROM heads, n"
    );
    testing::execute_sql(journal.folder(), &sql).unwrap();
    scripts
}

/// After each group: the rows of all sessions, how many of those that were forgotten are left, and whether the late one is there.
fn look(folder: &Path) -> (i64, i64, i64) {
    let late = "SELECT count(*) FROM sessions WHERE id = 'late'";
    (rows(folder), pending(folder), testing::query_number(folder, late).unwrap())
}

/// Forgets all of the sessions at once, and a commit comes behind that. Gives what was seen after each group from the first on that
/// forgot something.
async fn forget_all(group: usize) -> Vec<(i64, i64, i64)> {
    let folder = tempfile::tempdir().unwrap();
    let (seen, gate) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(())));
    let mut options = Options::default();
    options.group = NonZeroUsize::new(group).unwrap();
    let (of, looks, closed) = (folder.path().to_owned(), seen.clone(), gate.clone());
    options.probe = Some(Arc::new(move |point| match point {
        "journal.before-commit" => drop(closed.lock().unwrap()),
        "journal.after-commit" => looks.lock().unwrap().push(look(&of)),
        _ => {}
    }));
    let journal = SqliteJournal::open(folder.path(), options).unwrap();
    let scripts = large(&journal).await;
    seen.lock().unwrap().clear();

    let mut late = Script::new("late");
    let mut context = Context::from_waker(Waker::noop());
    let mut jobs: Vec<_> = scripts.iter().map(|script| journal.forget(&script.tenant, &script.session, AT)).collect();
    let mut commit = journal.commit(late.create());
    let shut = gate.lock().unwrap();
    assert!(jobs.iter_mut().all(|job| Pin::as_mut(job).poll(&mut context).is_pending()));
    assert!(Pin::as_mut(&mut commit).poll(&mut context).is_pending());
    drop(shut);
    for job in jobs {
        job.await.unwrap();
    }
    commit.await.unwrap();
    swept(&journal).await;
    assert_eq!(rows(folder.path()), 2, "the late one's");
    let mut seen = std::mem::take(&mut *seen.lock().unwrap());
    seen.drain(..seen.iter().position(|(_, pending, _)| *pending > 0).unwrap());
    seen
}

#[tokio::test]
async fn others_are_admitted_however_many_are_forgotten() {
    for group in [1, 128] {
        let seen = forget_all(group).await;
        let admitted = seen.iter().position(|(.., late)| *late > 0).unwrap();
        assert!(seen[admitted].1 > 0 && admitted <= 2 * SESSIONS, "after {admitted} groups: {seen:?}");
        let removed: Vec<_> = seen.windows(2).map(|pair| pair[0].0 - pair[1].0).filter(|rows| *rows > 0).collect();
        assert!(removed.iter().all(|rows| *rows <= 520), "one piece a group: {removed:?}");
        assert!(removed.len() as i64 > SESSIONS as i64 * ROWS / 520, "{removed:?}");
    }
}

#[tokio::test]
async fn a_piece_that_found_no_room_is_removed_with_later_commits() {
    let (faults, folder) = (Arc::new(Faults::register()), tempfile::tempdir().unwrap());
    let armed = Arc::new(Mutex::new(false));
    let mut options = Options::default();
    options.vfs = Some(faults.name());
    let (of, disk) = (armed.clone(), faults.clone());
    options.probe = Some(Arc::new(move |point| {
        // The name is gone, and from here on the disk is full.
        if point == "journal.before-reply" && std::mem::take(&mut *of.lock().unwrap()) {
            for role in [Role::Wal, Role::Database] {
                disk.inject(Fault::each(Class::Write, Effect::Fail(code::SQLITE_FULL)).of(role));
            }
        }
    }));
    let journal = SqliteJournal::open(folder.path(), options).unwrap();
    let script = fill(&journal, "notes", 10).await;
    *armed.lock().unwrap() = true;
    forget(&journal, &script).await.unwrap();
    while journal.metrics().refused_full == 0 {
        tokio::task::yield_now().await;
    }
    assert!(pending(folder.path()) == 1 && journal.metrics().reserve == ReserveState::Held);
    faults.heal();
    swept(&journal).await;
    assert_eq!(rows(folder.path()), 0);
}
