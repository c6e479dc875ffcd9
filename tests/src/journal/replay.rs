//! The last batches of a session, and pages from its end.

use mainstay_journal::{
    Batch, Damage, Damaged, Journal, MAX_PAGE_BYTES, Place, Range, ReadError, SqliteJournal, testing,
};
use mainstay_protocol::{ItemId, Ordinal, SessionId, Timestamp, content::Item};

use super::script::{Script, commit_all, open};

/// Commits of `turns` turns after the one that creates the session: three a turn, of one, two and two records.
async fn write(journal: &SqliteJournal, turns: usize) -> (Script, Vec<Vec<u64>>) {
    let mut script = Script::new("notes");
    let mut commits = commit_all(journal, [script.create()]).await;
    for _ in 0..turns {
        commits.extend(commit_all(journal, script.turn_without_tools("question", "answer")).await);
    }
    let ordinals = commits.iter().map(|commit| commit.records.iter().map(|record| record.ordinal.0).collect());
    (script, ordinals.collect())
}

async fn replay(journal: &SqliteJournal, script: &Script, batches: u32) -> (u64, Vec<Batch>) {
    let mut replay = journal.replay(&script.tenant, &script.session, batches).await.unwrap();
    let (after, length) = (replay.after().0, replay.len());
    assert_eq!((replay.head(), replay.is_empty()), (script.state.head(), length == 0));
    let mut read = Vec::new();
    while let Some(batch) = replay.next().await.unwrap() {
        read.push(batch);
    }
    assert_eq!((read.len(), replay.len()), (length, 0));
    (after, read)
}

fn ordinals(batches: &[Batch]) -> Vec<Vec<u64>> {
    batches.iter().map(|batch| batch.records.iter().map(|record| record.ordinal.0).collect()).collect()
}

#[tokio::test]
async fn a_session_is_opened_with_exactly_its_last_batches() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let (script, commits) = write(&journal, 3).await;
    assert_eq!(commits.len(), 10);
    for asked in [0, 1, 2, 3, 9, 10, 11, 1_000, u32::MAX] {
        let last = &commits[commits.len().saturating_sub(asked as usize)..];
        let (after, batches) = replay(&journal, &script, asked).await;
        assert_eq!(ordinals(&batches), last, "{asked}");
        let first = last.first().map_or(script.state.head().0 + 1, |batch| batch[0]);
        assert_eq!(after, first - 1, "{asked}");
    }
    let (_, batches) = replay(&journal, &script, 3).await;
    let items: Vec<Vec<_>> = batches.iter().map(|batch| batch.items.iter().map(|item| item.id).collect()).collect();
    assert_eq!(items, [vec![], vec![ItemId(5)], vec![ItemId(6)]], "with the items that their records name");
    assert!(batches[2].items[0].private_part.is_some());
}

#[tokio::test]
async fn a_batch_of_many_or_of_large_items_is_replayed_whole() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let (mut script, _) = write(&journal, 0).await;
    let large = "x".repeat(6 << 20);
    for texts in [vec!["short"; 2_500], vec![&*large; 4]] {
        let turn = [script.submit("question"), script.start("question"), script.finish_with(&texts)];
        commit_all(&journal, turn).await;
        let (_, batches) = replay(&journal, &script, 1).await;
        let [batch] = &batches[..] else { panic!("{} batches", batches.len()) };
        assert_eq!((batch.items.len(), batch.damaged.len()), (texts.len(), 0));
        assert!(batch.items.windows(2).all(|pair| pair[0].id.next() == pair[1].id), "each once, in order");
    }
}

#[tokio::test]
async fn a_page_of_large_items_ends_before_it_is_too_large_and_says_that_there_are_more() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let (mut script, _) = write(&journal, 0).await;
    let large = "x".repeat(6 << 20);
    let turn = [script.submit("question"), script.start("question"), script.finish_with(&[&*large; 5])];
    commit_all(&journal, turn).await;
    let mut seen = Vec::new();
    loop {
        let after = seen.last().copied().unwrap_or_default();
        let page = journal.items(&script.tenant, &script.session, Range::forward(1_000).after(after)).await.unwrap();
        let bytes: usize = page.rows.iter().map(Item::bytes).sum();
        assert!(bytes < MAX_PAGE_BYTES + large.len() + 1_000, "{bytes}");
        seen.extend(page.rows.iter().map(|item| item.id));
        if !page.more {
            break;
        }
        assert!(!page.rows.is_empty(), "a page that is not the last one has a row");
    }
    assert_eq!(seen, (1..=6).map(ItemId).collect::<Vec<_>>());
}

#[tokio::test]
async fn more_than_a_thousand_are_clamped() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let (script, commits) = write(&journal, 334).await;
    assert_eq!(commits.len(), 1_003);
    let replay = journal.replay(&script.tenant, &script.session, u32::MAX).await.unwrap();
    assert_eq!((replay.len(), replay.after()), (1_000, Ordinal(commits[2].last().copied().unwrap())));
}

#[tokio::test]
async fn pages_run_from_the_newest_backwards() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let (script, _) = write(&journal, 2).await;
    let (tenant, session) = (&script.tenant, &script.session);
    let page = journal.items(tenant, session, Range::backward(3)).await.unwrap();
    assert_eq!((page.rows.iter().map(|item| item.id.0).collect::<Vec<_>>(), page.more), (vec![4, 3, 2], true));
    let page = journal.items(tenant, session, Range::backward(3).before(ItemId(2))).await.unwrap();
    assert_eq!((page.rows.iter().map(|item| item.id.0).collect::<Vec<_>>(), page.more), (vec![1], false));
    let page = journal.records(tenant, session, Range::backward(1).before(Ordinal(11))).await.unwrap();
    assert_eq!((page.rows[0].ordinal, page.more), (Ordinal(10), true));
    let page = journal.executions(tenant, session, Range::backward(1)).await.unwrap();
    assert_eq!((page.rows[0].number, page.more), (2, true));
    let page = journal.executions(tenant, session, Range::backward(1).before(2)).await.unwrap();
    assert_eq!((page.rows[0].number, page.more), (1, false));
    assert_eq!(journal.items(tenant, session, Range::backward(0)).await.unwrap_err(), ReadError::ZeroLimit);
    assert_eq!(journal.records(tenant, session, Range::backward(0)).await.unwrap_err(), ReadError::ZeroLimit);
    assert_eq!(journal.executions(tenant, session, Range::backward(0)).await.unwrap_err(), ReadError::ZeroLimit);
}

#[tokio::test]
async fn what_is_committed_meanwhile_is_after_the_head() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let (mut script, commits) = write(&journal, 1).await;
    let mut replay = journal.replay(&script.tenant, &script.session, 1).await.unwrap();
    commit_all(&journal, script.turn_without_tools("later", "later")).await;
    let batch = replay.next().await.unwrap().unwrap();
    assert_eq!(ordinals(&[batch]), [commits.last().unwrap().clone()]);
    assert_eq!((replay.next().await.unwrap(), replay.head()), (None, Ordinal(6)));
}

#[tokio::test]
async fn damage_is_reported_in_its_batch_and_a_lost_mark_joins_two() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let (script, _) = write(&journal, 1).await;
    drop(journal);
    let sql = "UPDATE records SET body = '{}' WHERE ordinal = 4; UPDATE records SET chain = NULL WHERE ordinal = 6";
    testing::execute_sql(folder.path(), sql).unwrap();
    let journal = open(folder.path());
    let (after, batches) = replay(&journal, &script, 2).await;
    assert_eq!((after, ordinals(&batches)), (2, vec![vec![3], vec![5, 6]]), "the head ends a batch without its mark");
    let damaged = Damaged { at: Place::Record(Ordinal(4)), damage: Damage::Digest };
    assert_eq!((&batches[0].damaged, &batches[1].damaged), (&vec![damaged], &Vec::new()));
}

#[tokio::test]
async fn there_is_none_of_a_session_that_never_was_and_a_forgotten_one_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let (script, _) = write(&journal, 1).await;
    let nobody = SessionId::new("nobody").unwrap();
    let mut none = journal.replay(&script.tenant, &nobody, 5).await.unwrap();
    assert_eq!((none.len(), none.head(), none.next().await.unwrap()), (0, Ordinal(0), None));
    journal.forget(&script.tenant, &script.session, Timestamp(1)).await.unwrap();
    assert_eq!(journal.replay(&script.tenant, &script.session, 5).await.unwrap_err(), ReadError::Gone);
}
