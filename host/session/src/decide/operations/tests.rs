//! Owned operations and ends of commands, row by row.

use mainstay_protocol::{
    Digest, Ordinal, SubmissionId,
    content::{ItemBody, Notice},
    op::{MAX_RELATED, MAX_TEXT_BYTES, Refusal},
    record::{
        RecordBody,
        v1::{Archive, CommandEnded, CommandKind, CommandOutcome, CommandReason, OperationOwner},
    },
};

use crate::{
    Command, CommandEnd, Refused, pending,
    testing::{Story, command, kinds},
};

fn begin(id: &str) -> Command {
    let (kind, owner) = (CommandKind::Checkpoint, OperationOwner::Daemon);
    Command::BeginOperation { command: command(id), kind, owner, related: vec![command("first")] }
}

fn archive(name: &str) -> Archive {
    Archive { name: name.to_owned(), sha256: Digest::of(name.as_bytes()), bytes: 7, head: Ordinal(1) }
}

fn save(id: &str, name: &str) -> Command {
    Command::SaveCheckpoint { command: command(id), archive: archive(name) }
}

fn fail(id: &str) -> Command {
    Command::FailOperation { command: command(id), message: "no room".to_owned() }
}

fn defer(id: &str) -> Command {
    Command::DeferOperation { command: command(id), message: "later".to_owned() }
}

fn end(id: &str, kind: CommandKind, reason: Option<CommandReason>) -> Command {
    let message = "as it says".to_owned();
    Command::EndCommand { command: command(id), kind, end: CommandEnd { reason, message } }
}

fn refusal(result: Result<Vec<RecordBody>, Refused>) -> Refusal {
    match result {
        Err(Refused::Op(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn nothing(story: &mut Story, late: Command) {
    let before = story.state.clone();
    assert!(matches!(story.tell(late), Err(Refused::Stale(_))));
    assert_eq!(story.state, before);
}

fn ended(record: &RecordBody) -> &CommandEnded {
    match record {
        RecordBody::CommandEnded(ended) => ended,
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_operation_runs_at_a_time_and_the_refusal_names_it() {
    let mut story = Story::new();
    story.told(begin("one"));
    assert!(story.state.summary().operating);
    let running = command("one");
    assert_eq!(refusal(story.tell(begin("two"))), Refusal::OperationRunning { running });
    story.told(save("one", "a"));
    assert!(!story.state.summary().operating);
    assert_eq!(refusal(story.tell(begin("one"))), Refusal::AlreadyEnded { command: command("one") });
    story.told(begin("two"));
}

#[test]
fn the_owners_save_gives_one_success_and_a_late_report_nothing() {
    let mut story = Story::new();
    story.told(begin("one"));
    story.told(Command::CorrelateOperation { command: command("one"), related: command("second") });
    assert!(story.told(Command::CorrelateOperation { command: command("one"), related: command("second") }).is_empty());
    let records = story.told(save("one", "a"));
    assert_eq!(kinds(&records), ["checkpoint_saved", "command_ended"]);
    let end = ended(&records[1]);
    assert_eq!((end.outcome, end.reason, end.kind), (CommandOutcome::Completed, None, CommandKind::Checkpoint));
    assert_eq!((end.owner, end.notice), (Some(OperationOwner::Daemon), None));
    assert_eq!(end.related, [command("first"), command("second")]);
    assert_eq!(story.state.archive(), Some(&archive("a")));
    for late in [fail("one"), defer("one"), end_of("one")] {
        nothing(&mut story, late);
    }
    assert_eq!(refusal(story.tell(save("one", "b"))), Refusal::StaleOwner { command: command("one") });
}

fn end_of(id: &str) -> Command {
    end(id, CommandKind::Checkpoint, Some(CommandReason::ControllerDisconnected))
}

#[test]
fn a_stale_owner_can_neither_save_nor_fail_nor_defer_nor_correlate() {
    let mut story = Story::new();
    story.told(begin("owner"));
    let stale = Refusal::StaleOwner { command: command("other") };
    assert_eq!(refusal(story.tell(save("other", "a"))), stale);
    let correlate = Command::CorrelateOperation { command: command("other"), related: command("x") };
    assert_eq!(refusal(story.tell(correlate)), stale);
    for report in [fail("other"), defer("other"), end_of("other")] {
        nothing(&mut story, report);
    }
    let failed = end("other", CommandKind::Checkpoint, Some(CommandReason::CheckpointFailed));
    nothing(&mut story, failed);
}

#[test]
fn success_without_an_archive_is_an_error() {
    let mut story = Story::new();
    story.told(begin("one"));
    let missing = Refusal::ArchiveMissing { command: command("one") };
    assert_eq!(refusal(story.tell(end("one", CommandKind::Checkpoint, None))), missing);
    // What the command says it is does not help: the operation that it owns is a checkpoint.
    assert_eq!(refusal(story.tell(end("one", CommandKind::PluginCommand, None))), missing);
    let mut impossible = archive("a");
    impossible.head = Ordinal(99);
    let save = Command::SaveCheckpoint { command: command("one"), archive: impossible };
    assert!(matches!(refusal(story.tell(save)), Refusal::InvalidOp { .. }));
    assert!(story.state.operation().is_some() && story.state.archive().is_none());
}

#[test]
fn a_failure_sets_the_warning_a_deferral_leaves_it_and_both_keep_the_archive() {
    let mut story = Story::new();
    story.told(begin("one"));
    story.told(save("one", "a"));
    story.told(begin("two"));
    let records = story.told(defer("two"));
    assert_eq!(kinds(&records), ["command_ended"]);
    let end = ended(&records[0]);
    assert_eq!((end.outcome, end.reason), (CommandOutcome::Rejected, Some(CommandReason::CheckpointDeferred)));
    assert_eq!(story.state.checkpoint_warning(), None);
    nothing(&mut story, defer("two"));
    story.told(begin("three"));
    let records = story.told(fail("three"));
    let end = ended(records.last().expect("its end"));
    assert_eq!((end.outcome, end.reason), (CommandOutcome::Failed, Some(CommandReason::CheckpointFailed)));
    assert_eq!(story.state.checkpoint_warning(), Some("no room"));
    nothing(&mut story, fail("three"));
    story.told(begin("four"));
    story.told(defer("four"));
    assert_eq!(story.state.checkpoint_warning(), Some("no room"), "a deferral leaves the warning alone");
    assert_eq!(story.state.archive(), Some(&archive("a")), "the archive before is kept");
    story.told(begin("five"));
    story.told(save("five", "b"));
    assert_eq!((story.state.checkpoint_warning(), story.state.archive()), (None, Some(&archive("b"))));
}

#[test]
fn recovery_ends_an_operation_once_and_keeps_what_it_was() {
    let mut story = Story::new();
    nothing(&mut story, Command::RecoverOperation);
    story.told(begin("one"));
    let records = story.told(Command::RecoverOperation);
    let end = ended(&records[0]);
    assert_eq!(end.command, command("one"));
    assert_eq!((end.kind, end.owner), (CommandKind::Checkpoint, Some(OperationOwner::Daemon)));
    assert_eq!((end.outcome, end.reason), (CommandOutcome::Cancelled, Some(CommandReason::ControllerRestarted)));
    assert_eq!(end.related, [command("first")]);
    nothing(&mut story, Command::RecoverOperation);
}

#[test]
fn taking_a_session_up_ends_its_operation_too() {
    let mut story = Story::new();
    story.told(begin("one"));
    let resume = || Command::Resume { route: None, metadata: None, requires: None, retry_open_step: false };
    assert_eq!(kinds(&story.told(resume())), ["session_configured", "command_ended"]);
    assert_eq!(kinds(&story.told(resume())), ["session_configured"]);
}

#[test]
fn the_typed_reason_alone_says_how_a_command_ended_and_a_real_failure_is_a_notice() {
    let mut story = Story::in_a_turn();
    let owed = pending(&story.state);
    let items = story.items.len();
    for (id, reason) in [("a", CommandReason::ControllerDisconnected), ("b", CommandReason::OwnerLostOnRestart)] {
        let command = Command::EndCommand {
            command: command(id),
            kind: CommandKind::BeginCheckpoint,
            end: CommandEnd::because(reason, "it FAILED with an error"),
        };
        let records = story.told(command);
        assert_eq!(kinds(&records), ["command_ended"]);
        assert_eq!(ended(&records[0]).outcome, CommandOutcome::Cancelled);
    }
    assert_eq!(story.items.len(), items, "expected ends leave no trace in the transcript");
    let records = story.told(end("c", CommandKind::CompleteCheckpoint, Some(CommandReason::CommandFailed)));
    assert_eq!(kinds(&records), ["notice_added", "command_ended"]);
    let item = story.items.last().expect("an item");
    assert_eq!(ended(&records[1]).notice, Some(item.id));
    let text = "the completion of a checkpoint failed: as it says".to_owned();
    assert_eq!(item.body, ItemBody::Notice(Notice { code: "command_failed".to_owned(), text }));
    assert!(story.state.turn().is_some() && story.state.last_outcome().is_none(), "the turn goes on");
    assert_eq!((pending(&story.state), story.state.last_item()), (owed, item.id));
    for id in ["a", "b", "c"] {
        nothing(&mut story, end(id, CommandKind::BeginCheckpoint, Some(CommandReason::CommandFailed)));
    }
}

#[test]
fn texts_and_lists_are_bounded() {
    let mut story = Story::new();
    let related: Vec<SubmissionId> = (0..=MAX_RELATED).map(|number| command(&format!("r{number}"))).collect();
    let begin = |related: &[SubmissionId]| Command::BeginOperation {
        command: command("one"),
        kind: CommandKind::Checkpoint,
        owner: OperationOwner::Client,
        related: related.to_vec(),
    };
    assert!(matches!(refusal(story.tell(begin(&related))), Refusal::InvalidOp { .. }));
    story.told(begin(&related[..MAX_RELATED]));
    let correlate = |one: &SubmissionId| Command::CorrelateOperation { command: command("one"), related: one.clone() };
    assert!(matches!(refusal(story.tell(correlate(&related[MAX_RELATED]))), Refusal::InvalidOp { .. }));
    let message = format!("x{}", "ä".repeat(MAX_TEXT_BYTES));
    let records = story.told(Command::DeferOperation { command: command("one"), message });
    assert_eq!(ended(&records[0]).message.len(), MAX_TEXT_BYTES - 1);
}
