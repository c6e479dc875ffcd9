//! E08, E11, E13, E14: commands that end, and the operation that one of them owns.

use mainstay_driver::recover_operations;
use mainstay_journal::{CommitError, testing::execute_sql};
use mainstay_protocol::{
    Digest, Ordinal, Timestamp,
    content::ItemBody,
    feed::{FeedBody, FeedEvent},
    op::Refusal,
    record::v1::{Archive, CommandEnded, CommandKind, CommandOutcome, CommandReason, OperationOwner, TurnOutcome},
};
use mainstay_session::{Command, CommandEnd, Refused};

use super::session::{Session, ended, finish, start, submission, submit};

fn begin(command: &str) -> Command {
    Command::BeginOperation {
        command: submission(command),
        kind: CommandKind::Checkpoint,
        owner: OperationOwner::Daemon,
        related: vec![submission("related-1")],
    }
}

fn archive(name: &str) -> Archive {
    Archive { name: name.to_owned(), sha256: Digest::of(name.as_bytes()), bytes: 100, head: Ordinal(1) }
}

fn save(command: &str, name: &str) -> Command {
    Command::SaveCheckpoint { command: submission(command), archive: archive(name) }
}

fn fail(command: &str) -> Command {
    Command::FailOperation { command: submission(command), message: "the archive store refused".to_owned() }
}

fn defer(command: &str) -> Command {
    Command::DeferOperation { command: submission(command), message: "a turn runs".to_owned() }
}

fn end(command: &str, kind: CommandKind, end: CommandEnd) -> Command {
    Command::EndCommand { command: submission(command), kind, end }
}

/// What the feed says of commands that ended.
fn commands(events: &[FeedEvent]) -> Vec<&CommandEnded> {
    let commands = events.iter().filter_map(|event| match &event.body {
        FeedBody::CommandEnded(ended) => Some(ended),
        _ => None,
    });
    commands.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn e08_only_typed_reasons_tell_expected_ends_from_failures() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::create(folder.path()).await;
    session.commit([submit("message")].into_iter().chain(start("message"))).await.unwrap();
    let before = session.items().await.len();
    let begin_checkpoint = CommandKind::BeginCheckpoint;
    // The words say "failed"; the reasons say that this was to be expected.
    let lost = CommandEnd::because(CommandReason::ControllerDisconnected, "failed: fatal error");
    session.commit([end("begin-1", begin_checkpoint, lost)]).await.unwrap();
    let lost = CommandEnd::because(CommandReason::OwnerLostOnRestart, "rejected: command failed");
    session.commit([end("begin-2", begin_checkpoint, lost)]).await.unwrap();
    assert_eq!(session.items().await.len(), before, "the expected ones never reach the transcript");
    let failed = CommandEnd::because(CommandReason::CommandFailed, "cancelled, all is well");
    session.commit([end("complete-1", CommandKind::CompleteCheckpoint, failed)]).await.unwrap();
    let items = session.items().await;
    assert_eq!(items.len(), before + 1);
    assert!(matches!(items.last(), Some(ItemBody::Notice(_))), "people read of the real one: {items:?}");
    assert!(session.state.turn().is_some(), "the turn is still active");
    assert_eq!(session.state.last_outcome(), None);
    session.commit(finish()).await.unwrap();
    assert_eq!(session.state.last_outcome(), Some(TurnOutcome::Completed));
    let events = session.events().await;
    assert_eq!(events.len(), 5, "{events:?}");
    assert_eq!(ended(&events).outcome, TurnOutcome::Completed);
    let ends: Vec<_> = commands(&events).iter().map(|ended| (ended.outcome, ended.kind)).collect();
    let expected = [
        (CommandOutcome::Cancelled, begin_checkpoint),
        (CommandOutcome::Cancelled, begin_checkpoint),
        (CommandOutcome::Failed, CommandKind::CompleteCheckpoint),
    ];
    assert_eq!(ends, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn e11_an_interrupted_checkpoint_is_ended_exactly_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::create(folder.path()).await;
    session.commit([begin("checkpoint-1")]).await.unwrap();
    let second = session.decide([begin("checkpoint-2")]).unwrap_err();
    assert!(matches!(second, Refused::Op(Refusal::OperationRunning { .. })), "{second}");
    let session = session.reopened(folder.path()).await;
    assert_eq!(recover_operations(&*session.journal, Timestamp(1)).await.unwrap(), 1);
    assert_eq!(recover_operations(&*session.journal, Timestamp(2)).await.unwrap(), 0);
    let events = session.events().await;
    let ends = commands(&events);
    let [end] = ends[..] else { panic!("{ends:?}") };
    assert_eq!((end.command.clone(), &end.related[..]), (submission("checkpoint-1"), &[submission("related-1")][..]));
    assert_eq!((end.owner, end.kind), (Some(OperationOwner::Daemon), CommandKind::Checkpoint));
    assert_eq!(end.reason, Some(CommandReason::ControllerRestarted));
}

#[tokio::test(flavor = "multi_thread")]
async fn e13_a_checkpoint_belongs_to_the_command_that_began_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::create(folder.path()).await;
    session.commit([begin("first")]).await.unwrap();
    session.commit([save("first", "old")]).await.unwrap();
    session.commit([begin("owner")]).await.unwrap();
    let without = session.decide([end("owner", CommandKind::Checkpoint, CommandEnd::completed())]).unwrap_err();
    assert!(matches!(without, Refused::Op(Refusal::ArchiveMissing { .. })), "{without}");
    let stale = session.decide([save("first", "stale")]).unwrap_err();
    assert!(matches!(stale, Refused::Op(Refusal::StaleOwner { .. })), "{stale}");
    assert_eq!(session.report(fail("first")).await, 0, "a stale owner's failure changes nothing");

    let before = session.events().await;
    let page = session.decide([save("owner", "new")]).unwrap();
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON records
        WHEN new.kind = (SELECT kind FROM kinds WHERE name = 'command_ended')
        BEGIN SELECT RAISE(ABORT, 'refused by a test'); END";
    execute_sql(folder.path(), refuse).unwrap();
    let failed = session.apply(page.clone(), None).await.unwrap_err();
    assert!(matches!(failed, CommitError::Integrity { .. }), "{failed}");
    execute_sql(folder.path(), "DROP TRIGGER refuse").unwrap();
    let mut session = session.reopened(folder.path()).await;
    assert_eq!(session.events().await, before, "a save that was rolled back leaves events as they were");
    assert_eq!(session.state.archive(), Some(&archive("old")), "and the archive");

    session.apply(page, None).await.unwrap();
    assert_eq!(session.report(fail("owner")).await, 0, "a late failure is ignored");
    let events = session.events().await;
    let ends: Vec<_> = commands(&events).iter().map(|end| (end.command.as_str(), end.outcome)).collect();
    assert_eq!(ends, [("first", CommandOutcome::Completed), ("owner", CommandOutcome::Completed)]);
    assert_eq!(session.state.archive(), Some(&archive("new")));
}

#[tokio::test(flavor = "multi_thread")]
async fn e14_a_checkpoint_that_fails_or_is_put_off_keeps_the_archive_before_it() {
    let cases = [
        (fail("owner"), CommandOutcome::Failed, CommandReason::CheckpointFailed),
        (defer("owner"), CommandOutcome::Rejected, CommandReason::CheckpointDeferred),
    ];
    for (report, outcome, reason) in cases {
        let folder = tempfile::tempdir().unwrap();
        let mut session = Session::create(folder.path()).await;
        session.commit([begin("first")]).await.unwrap();
        session.commit([save("first", "old")]).await.unwrap();
        session.commit([begin("owner")]).await.unwrap();
        assert!(session.report(report.clone()).await > 0);
        assert_eq!(session.report(report).await, 0, "reported twice");
        let events = session.events().await;
        let ends = commands(&events);
        let [_, end] = ends[..] else { panic!("{ends:?}") };
        assert_eq!((end.outcome, end.reason), (outcome, Some(reason)));
        assert_eq!(session.state.archive(), Some(&archive("old")));
        assert_eq!(session.state.checkpoint_warning().is_some(), outcome == CommandOutcome::Failed);
        assert!(session.state.operation().is_none());
    }
}
