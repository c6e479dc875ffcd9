//! Turns by number: how each went, both ways, and past damage.

use std::path::Path;

use mainstay_journal::{
    Damage, Damaged, Execution, Journal, Place, Range, ReadError, RunState, SqliteJournal, testing,
};
use mainstay_protocol::{
    Ordinal,
    record::{
        RecordBody,
        v1::{Reason, StopReason, TurnEnded, TurnOutcome},
    },
};

use super::script::{Script, commit_all, open};

/// A session whose turns ended in these ways, and that has one more turn which runs.
async fn story(journal: &SqliteJournal, ends: &[fn(TurnEnded) -> RecordBody]) -> Script {
    let mut script = Script::new("notes");
    commit_all(journal, [script.create()]).await;
    for end in ends {
        commit_all(journal, [script.submit("hello"), script.start("hello")]).await;
        let mut before = script.clone();
        let mut last = script.finish("hi");
        let RecordBody::TurnCompleted(ended) = last.records[1].body.clone() else { panic!("another kind") };
        last.records[1].body = end(ended);
        script.state = before.records(last.records.iter().map(|record| record.body.clone()).collect()).state;
        last.state = script.state.clone();
        commit_all(journal, [last]).await;
    }
    commit_all(journal, [script.submit("hello"), script.start("hello")]).await;
    script
}

const ENDS: [fn(TurnEnded) -> RecordBody; 4] = [
    |mut ended| {
        (ended.steps, ended.tool_calls, ended.failed_tool_calls, ended.usage.input_tokens) = (3, 5, 2, 700);
        RecordBody::TurnCompleted(ended)
    },
    |mut ended| {
        ended.stop = Some(StopReason::CancelledByPerson);
        RecordBody::TurnAborted(ended)
    },
    |mut ended| {
        ended.reason = Some(Reason::new("provider-error", "it is overloaded"));
        RecordBody::TurnFailed(ended)
    },
    RecordBody::TurnRejected,
];

async fn page(journal: &SqliteJournal, script: &Script, range: Range<u64>) -> (Vec<u64>, bool) {
    let page = journal.executions(&script.tenant, &script.session, range).await.unwrap();
    assert_eq!(page.damaged, []);
    (page.rows.iter().map(|execution| execution.number).collect(), page.more)
}

#[tokio::test]
async fn each_turn_is_told_from_its_two_records() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let script = story(&journal, &ENDS).await;
    let (tenant, session) = (&script.tenant, &script.session);
    let told = journal.executions(tenant, session, Range::forward(10)).await.unwrap().rows;
    let how = |execution: &Execution| (execution.state, execution.outcome, execution.stop_reason);
    let expected = [
        (RunState::Completed, Some(TurnOutcome::Completed), None),
        (RunState::Aborted, Some(TurnOutcome::Cancelled), Some(StopReason::CancelledByPerson)),
        (RunState::Failed, Some(TurnOutcome::Failed), Some(StopReason::ProviderError)),
        (RunState::Failed, Some(TurnOutcome::Rejected), None),
        (RunState::Running, None, None),
    ];
    assert_eq!(told.iter().map(how).collect::<Vec<_>>(), expected);

    let records = journal.records(tenant, session, Range::forward(100)).await.unwrap().rows;
    let at = |ordinal: Ordinal| &records[ordinal.0 as usize - 1];
    for (execution, accepted) in told.iter().zip(1..) {
        assert_eq!((execution.number, execution.accepted.0), (accepted, accepted));
        let RecordBody::TurnStarted(started) = &*at(execution.first).body else { panic!("{execution:?}") };
        assert_eq!((&execution.turn, &execution.submission), (&started.turn, &started.submission));
        assert_eq!(execution.started_at, at(execution.first).at);
        let last = execution.last.map(at);
        assert_eq!(execution.ended_at, last.map(|record| record.at));
        assert_eq!(last.map(|record| &record.body.turn_ended().unwrap().turn), last.map(|_| &execution.turn));
    }
    let first = &told[0];
    let counted = (first.steps, first.tool_calls, first.failed_tool_calls, first.usage.input_tokens);
    assert_eq!(counted, (3, 5, 2, 700));
    // run_count and aborted_run_count, from both sides.
    let ended = told.iter().filter(|execution| execution.state != RunState::Running).count();
    let aborted = told.iter().filter(|execution| execution.state == RunState::Aborted).count();
    assert_eq!(script.state.run_counts(), (ended as u64, aborted as u64));
}

#[tokio::test]
async fn pages_of_turns_run_both_ways_and_tell_whether_there_is_more() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let script = story(&journal, &ENDS).await;
    let page = async |range| page(&journal, &script, range).await;
    assert_eq!(page(Range::forward(2)).await, (vec![1, 2], true));
    assert_eq!(page(Range::forward(3).after(2)).await, (vec![3, 4, 5], false));
    assert_eq!(page(Range::backward(2)).await, (vec![5, 4], true));
    assert_eq!(page(Range::backward(2).before(3)).await, (vec![2, 1], false));
    assert_eq!(page(Range::backward(2).before(1)).await, (vec![], false));
    assert_eq!(page(Range::forward(u32::MAX).after(1).before(4)).await, (vec![2, 3], false));
    let zero = journal.executions(&script.tenant, &script.session, Range::backward(0)).await.unwrap_err();
    assert_eq!(zero, ReadError::ZeroLimit);
    let nobody = "nobody".parse().unwrap();
    let none = journal.executions(&script.tenant, &nobody, Range::forward(1)).await.unwrap();
    assert!(none.rows.is_empty() && none.damaged.is_empty() && !none.more);
}

/// A page past a turn that is damaged by some SQL; the turn is reported and no other.
async fn check_damage(folder: &Path, sql: &str, number: u64, damage: Damage) {
    let journal = open(folder);
    let script = story(&journal, &ENDS).await;
    testing::execute_sql(folder, sql).unwrap();
    let page = journal.executions(&script.tenant, &script.session, Range::backward(10)).await.unwrap();
    assert_eq!(page.damaged, [Damaged { at: Place::Execution(number), damage }], "{sql}");
    let told: Vec<_> = page.rows.iter().map(|execution| execution.number).collect();
    assert_eq!(told, [5, 4, 3, 2, 1].into_iter().filter(|told| *told != number).collect::<Vec<_>>(), "{sql}");
    let alone = Range::forward(1).after(number - 1);
    let page = journal.executions(&script.tenant, &script.session, alone).await.unwrap();
    assert_eq!((page.rows.len(), page.damaged.len(), page.more), (0, 1, true), "a page of damage alone ends too");
}

#[tokio::test]
async fn a_page_goes_on_past_a_turn_that_is_damaged() {
    let cases = [
        ("UPDATE records SET body = substr(body, 2) WHERE ordinal = 3", 1, Damage::Digest),
        ("UPDATE records SET at = at + 1 WHERE ordinal = 11", 2, Damage::Digest),
        ("UPDATE records SET digest = x'00' WHERE ordinal = 8", 2, Damage::Shape),
        ("DELETE FROM records WHERE ordinal = 16", 3, Damage::Missing),
        ("DELETE FROM records WHERE ordinal = 18", 4, Damage::Missing),
        ("UPDATE executions SET ended = ended - 1 WHERE number = 2", 2, Damage::Reference),
        ("UPDATE executions SET started = started + 1 WHERE number = 1", 1, Damage::Reference),
        ("UPDATE executions SET ended = 11 WHERE number = 1", 1, Damage::Reference),
    ];
    for (sql, number, damage) in cases {
        let folder = tempfile::tempdir().unwrap();
        check_damage(folder.path(), sql, number, damage).await;
    }
}

#[tokio::test]
async fn a_turn_whose_beginning_is_lost_can_end() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let mut script = story(&journal, &ENDS[..1]).await;
    // As after a migration that could not read the record.
    testing::execute_sql(folder.path(), "DELETE FROM executions WHERE number = 2").unwrap();
    commit_all(&journal, [script.finish("hi")]).await;
    let page = journal.executions(&script.tenant, &script.session, Range::forward(10)).await.unwrap();
    assert_eq!(page.damaged, [Damaged { at: Place::Execution(2), damage: Damage::Reference }]);
    commit_all(&journal, script.turn_without_tools("hello", "hi")).await;
    let page = journal.executions(&script.tenant, &script.session, Range::backward(1)).await.unwrap();
    assert_eq!((page.rows[0].number, page.rows[0].state), (3, RunState::Completed));
}

#[tokio::test]
async fn a_turn_whose_beginning_is_lost_can_end_behind_one_whose_end_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let journal = open(folder.path());
    let mut script = story(&journal, &ENDS[..1]).await;
    // As after a migration that could read neither record.
    let sql = "DELETE FROM executions WHERE number = 2; UPDATE executions SET ended = NULL";
    testing::execute_sql(folder.path(), sql).unwrap();
    commit_all(&journal, [script.finish("hi")]).await;
    let page = journal.executions(&script.tenant, &script.session, Range::forward(10)).await.unwrap();
    assert_eq!(page.damaged, [Damaged { at: Place::Execution(2), damage: Damage::Reference }]);
    commit_all(&journal, script.turn_without_tools("hello", "hi")).await;
    let page = journal.executions(&script.tenant, &script.session, Range::backward(1)).await.unwrap();
    assert_eq!((page.rows[0].number, page.rows[0].state), (3, RunState::Completed));
}
