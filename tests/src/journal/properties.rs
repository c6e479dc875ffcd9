//! Named invariants over arbitrary schedules.

use futures::future::join_all;
use mainstay_journal::{Journal, Options, Range, SqliteJournal, Transition};
use mainstay_protocol::Ordinal;
use proptest::prelude::*;

use super::script::Script;

#[derive(Clone, Debug)]
enum Move {
    /// These sessions commit at once; where `stale` is set, on an old state.
    Commit(Vec<(usize, bool)>),
    /// The host stops and starts.
    Reopen,
}

const SESSIONS: usize = 4;

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let jobs = prop::collection::vec((0..SESSIONS, prop::bool::weighted(0.2)), 1..8);
    let one = prop_oneof![9 => jobs.prop_map(Move::Commit), 1 => Just(Move::Reopen)];
    prop::collection::vec(one, 1..12)
}

/// The session's next transition, and whether it is to be committed: a stale one is decided where the session no longer is.
fn next(script: &mut Script, stale: bool) -> (Transition, bool) {
    let fresh = script.state.head() == Ordinal(0);
    match (fresh, stale) {
        (true, _) => (script.create(), true),
        (false, false) => (script.submit("x"), true),
        (false, true) => (Script::new(script.session.as_str()).create(), false),
    }
}

async fn run(moves: Vec<Move>) {
    let folder = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.group = std::num::NonZeroUsize::new(3).unwrap();
    let open = || SqliteJournal::open(folder.path(), options.clone()).unwrap();
    let mut journal = open();
    let mut scripts: Vec<_> = (0..SESSIONS).map(|number| Script::new(&format!("s{number}"))).collect();
    for step in moves {
        match step {
            Move::Reopen => {
                drop(journal);
                journal = open();
            }
            Move::Commit(jobs) => {
                let next = jobs.iter().map(|(session, stale)| next(&mut scripts[*session], *stale));
                let (transitions, expected): (Vec<_>, Vec<_>) = next.unzip();
                let outcomes = join_all(transitions.into_iter().map(|transition| journal.commit(transition))).await;
                let committed: Vec<_> = outcomes.iter().map(Result::is_ok).collect();
                assert_eq!(committed, expected);
            }
        }
    }
    for script in &scripts {
        ordinals_have_no_gap_in(&journal, script).await;
    }
}

async fn ordinals_have_no_gap_in(journal: &SqliteJournal, script: &Script) {
    let page = journal.records(&script.tenant, &script.session, Range::forward(1_000)).await.unwrap();
    let ordinals: Vec<_> = page.rows.iter().map(|record| record.ordinal).collect();
    let expected: Vec<_> = (1..=script.state.head().0).map(Ordinal).collect();
    assert_eq!(ordinals, expected);
    if let Some(verdict) = journal.verify(&script.tenant, &script.session).await.unwrap() {
        assert!(verdict.is_sound(), "{verdict:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ordinals_have_no_gap(moves in moves()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(run(moves));
    }
}
