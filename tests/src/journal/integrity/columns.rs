//! What the row of a session says beside its state.

use mainstay_journal::{Journal, testing};
use mainstay_protocol::{Timestamp, record::RecordBody};

use super::{
    super::script::{Script, commit_all, open},
    number, one_turn,
};

#[tokio::test]
async fn a_record_that_is_dated_earlier_keeps_its_time_and_moves_no_activity() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script, _) = one_turn(folder.path()).await;
    let before = journal.open_session(&script.tenant, &script.session).await.unwrap().unwrap().active_at;
    script.now = Timestamp(1_600_000_000_000);
    let record = commit_all(&journal, [script.submit("yesterday")]).await[0].records[0].clone();
    assert_eq!(record.at, Timestamp(1_600_000_000_001));
    let opened = journal.open_session(&script.tenant, &script.session).await.unwrap().unwrap();
    assert_eq!((opened.active_at, opened.head), (before, record.ordinal));
    assert!(journal.verify(&script.tenant, &script.session).await.unwrap().unwrap().is_sound());
}

#[tokio::test]
async fn the_row_of_a_session_says_what_its_state_says() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script, _) = one_turn(folder.path()).await;
    let row = |expected: i64| {
        let sql =
            "SELECT turns * 100000 + aborted * 10000 + accepted * 1000 + item * 100 + busy * 10 + operating FROM heads";
        assert_eq!(number(folder.path(), sql), expected);
    };
    row(101_200);
    commit_all(&journal, [script.submit("more")]).await;
    row(102_210);
    assert!(journal.sessions_with_operations().await.unwrap().is_empty());

    let examples = RecordBody::examples();
    let example = |kind: &str| examples.iter().find(|body| body.kind() == kind).expect("an example").clone();
    commit_all(&journal, [script.records(vec![example("operation_begun")])]).await;
    row(102_211);
    let operating = journal.sessions_with_operations().await.unwrap();
    assert_eq!(operating.iter().map(|row| &row.session).collect::<Vec<_>>(), [&script.session]);
    commit_all(&journal, [script.records(vec![example("operation_correlated"), example("checkpoint_saved")])]).await;
    let RecordBody::CommandEnded(mut ended) = example("command_ended") else { panic!("another kind") };
    (ended.kind, ended.notice) = (mainstay_protocol::record::v1::CommandKind::Checkpoint, None);
    commit_all(&journal, [script.records(vec![RecordBody::CommandEnded(ended)])]).await;
    row(102_210);
    assert!(journal.sessions_with_operations().await.unwrap().is_empty());
}

#[tokio::test]
async fn columns_of_indexes_are_written_only_when_they_change() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    commit_all(&journal, [script.create(), script.submit("one")]).await;
    let trigger = "CREATE TRIGGER guard BEFORE UPDATE OF minute, busy, operating ON heads
                   BEGIN SELECT RAISE(ABORT, 'an index is written'); END";
    testing::execute_sql(folder.path(), trigger).unwrap();
    commit_all(&journal, [script.submit("two")]).await;
    script.now.0 += 60_000;
    assert!(journal.commit(script.submit("a minute later")).await.is_err(), "the guard stands");
}
