//! Counts of payloads over arbitrary histories.

use std::{collections::BTreeSet, path::Path};

use mainstay_journal::{Journal, SqliteJournal, Transition};
use mainstay_protocol::{AcceptedOrdinal, Ordinal, TenantId, blob::NewBlob, content::Part};
use proptest::prelude::*;

use super::{Script, beside, commit_all, items, number, open, text};

#[derive(Clone, Copy, Debug)]
enum Move {
    Submit {
        session: usize,
        text: usize,
    },
    /// The message that waits alone starts its turn, which ends at once.
    Take {
        session: usize,
        answer: usize,
    },
    Withdraw {
        session: usize,
    },
    Keep {
        session: usize,
        text: usize,
    },
    Reopen,
}

const SESSIONS: usize = 3;

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let (session, text) = (0..SESSIONS, 0..4_usize);
    let one = prop_oneof![
        4 => (session.clone(), text.clone()).prop_map(|(session, text)| Move::Submit { session, text }),
        3 => (session.clone(), text.clone()).prop_map(|(session, answer)| Move::Take { session, answer }),
        2 => session.clone().prop_map(|session| Move::Withdraw { session }),
        2 => (session, text).prop_map(|(session, text)| Move::Keep { session, text }),
        1 => Just(Move::Reopen),
    ];
    prop::collection::vec(one, 1..24)
}

/// A session and what waits in it: number and text.
struct Owner {
    script: Script,
    waiting: Vec<(u64, usize)>,
    accepted: u64,
}

/// Two sessions of one tenant, and one of another.
fn owners() -> Vec<Owner> {
    let owner = |number: usize| {
        let mut script = Script::new(&format!("s{number}"));
        script.tenant = TenantId::new(if number == 2 { "stranger" } else { "default" }).unwrap();
        Owner { script, waiting: Vec::new(), accepted: 0 }
    };
    (0..SESSIONS).map(owner).collect()
}

/// Two small texts and two large ones.
fn texts() -> [String; 4] {
    [text(10), text(3_000), text(5_000), text(300_000)]
}

impl Owner {
    async fn submit(&mut self, journal: &SqliteJournal, number: usize) {
        self.accepted += 1;
        self.waiting.push((self.accepted, number));
        commit_all(journal, [self.script.submit(&texts()[number])]).await;
    }

    async fn take(&mut self, journal: &SqliteJournal, answer: usize) {
        // The script names the message that was accepted last.
        let [(accepted, number)] = self.waiting[..] else { return };
        if accepted == self.accepted {
            self.waiting.clear();
            let start = self.script.start(&texts()[number]);
            commit_all(journal, [start, self.script.finish(&texts()[answer])]).await;
        }
    }

    async fn with(&mut self, journal: &SqliteJournal, change: impl FnOnce(&mut Transition)) {
        let mut transition = beside(&mut self.script);
        change(&mut transition);
        commit_all(journal, [transition]).await;
    }
}

/// Counts are what refers to each payload, and one more where a session keeps it; each payload is there once a tenant, and none is
/// there that nobody uses.
fn counts_agree(folder: &Path, kept: usize) {
    let references = "(SELECT tenant, session, blob FROM items WHERE blob NOT NULL
        UNION ALL SELECT tenant, session, private_blob FROM items WHERE private_blob NOT NULL
        UNION ALL SELECT tenant, session, blob FROM queue WHERE blob NOT NULL)";
    let differing = format!(
        "SELECT count(*) FROM blob_uses u WHERE u.media_type IS NULL AND uses <> (SELECT count(*) FROM {references} r
             WHERE r.tenant = u.tenant AND r.session = u.session AND r.blob = u.blob)"
    );
    assert_eq!(number(folder, &differing), 0);
    let all = format!("SELECT (SELECT ifnull(sum(uses), 0) FROM blob_uses) - (SELECT count(*) FROM {references})");
    assert_eq!(number(folder, &all), kept as i64);
    let sessions =
        "SELECT count(*) FROM blobs b WHERE uses <> (SELECT count(*) FROM blob_uses u WHERE u.blob = b.blob)";
    assert_eq!(number(folder, sessions), 0);
    assert_eq!(number(folder, "SELECT count(*) FROM blobs WHERE uses = 0"), 0);
    let pieces =
        "SELECT (SELECT ifnull(sum((size + 262143) / 262144), 0) FROM blobs) - (SELECT count(*) FROM blob_pieces)";
    assert_eq!(number(folder, pieces), 0);
}

async fn run(moves: Vec<Move>) {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = open(folder.path());
    let (mut owners, mut kept) = (owners(), BTreeSet::new());
    for owner in &mut owners {
        commit_all(&journal, [owner.script.create()]).await;
    }
    for step in moves {
        match step {
            Move::Submit { session, text } => owners[session].submit(&journal, text).await,
            Move::Take { session, answer } => owners[session].take(&journal, answer).await,
            Move::Withdraw { session } => {
                let owner = &mut owners[session];
                if let Some((accepted, _)) = owner.waiting.pop() {
                    owner.with(&journal, |transition| transition.unqueued.push(AcceptedOrdinal(accepted))).await;
                }
            }
            Move::Keep { session, text } => {
                kept.insert((session, text));
                let blob = NewBlob::new("text/plain", texts()[text].clone().into_bytes());
                owners[session].with(&journal, |transition| transition.blobs.push(blob)).await;
            }
            Move::Reopen => {
                drop(journal);
                journal = open(folder.path());
            }
        }
        counts_agree(folder.path(), kept.len());
    }
    for owner in &owners {
        all_is_read(&journal, owner).await;
    }
}

async fn all_is_read(journal: &SqliteJournal, owner: &Owner) {
    let script = &owner.script;
    items(journal, script).await;
    for (accepted, number) in &owner.waiting {
        let waiting = journal.queued(&script.tenant, &script.session, AcceptedOrdinal(*accepted)).await.unwrap();
        assert_eq!(waiting.unwrap().content, [Part::Text(texts()[*number].clone())]);
    }
    let opened = journal.open_session(&script.tenant, &script.session).await.unwrap().unwrap();
    assert!(opened.head > Ordinal(0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn payloads_are_counted_right_in_every_history(moves in moves()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(run(moves));
    }
}
