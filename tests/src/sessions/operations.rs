//! Owned operations, ends of commands, activity, faults and forms as ops of a client, and what a restart does to them.

use mainstay_driver::{Host, OpenSession, recover_operations};
use mainstay_journal::{Journal as _, Options, SqliteJournal, Transition};
use mainstay_protocol::{
    Digest, ElicitationId, Ordinal, SessionId, SubmissionId, TenantId, Timestamp,
    content::{ItemBody, Notice},
    op::{Accepted, ApprovalAnswer, FormAnswer, Op, Refusal},
    record::{
        RecordBody, StoredRecord,
        v1::{
            Activity, Archive, CommandEnded, CommandKind, CommandOutcome, CommandReason, OperationOwner, TurnOutcome,
        },
    },
};
use mainstay_session::{Command, Question, decide};

use crate::support::{Session, World, kinds, turn_ended};

const SCRIPT: &str = r#"
[[rule]]
when = { tool = "effect_pure" }
output = [{ text = "done" }]
[[rule]]
when = { tool = "write_file" }
output = [{ text = "done" }]
[[rule]]
when = { message = "hold" }
output = [{ call = { name = "effect_pure", arguments = { note = "held", hold = true } } }]
[[rule]]
when = { message = "write" }
output = [{ call = { name = "write_file", arguments = { path = "b.txt", content = "x\n" } } }]
[[rule]]
output = [{ text = "hello" }]
"#;

fn id(text: &str) -> SubmissionId {
    SubmissionId::new(text).expect("legal")
}

async fn send(session: &Session, submission: &str, op: Op) -> Result<Accepted, Refusal> {
    session.host.op(&session.id, Some(id(submission)), op).await
}

fn begin() -> Op {
    Op::BeginCheckpoint { owner: OperationOwner::Client, related: vec![id("asked-by")] }
}

fn archive() -> Archive {
    Archive { name: "one.archive".to_owned(), sha256: Digest::of(b"archive"), bytes: 7, head: Ordinal(1) }
}

fn fail(command: &str) -> Op {
    Op::FailCheckpoint { command: id(command), message: "no room".to_owned() }
}

fn ends(records: &[StoredRecord]) -> Vec<CommandEnded> {
    let ended = |record: &StoredRecord| match &*record.body {
        RecordBody::CommandEnded(ended) => Some(ended.clone()),
        _ => None,
    };
    records.iter().filter_map(ended).collect()
}

async fn world() -> (World, Host, Session) {
    let world = World::new(SCRIPT).effects().files();
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    (world, host, session)
}

/// The state remembers only the last ends; the records know of the others.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_ends_once_however_many_others_ended_since() {
    let (_world, _host, session) = world().await;
    let end = |command: &str| Op::EndCommand {
        command: id(command),
        kind: CommandKind::CompleteCheckpoint,
        reason: Some(CommandReason::CommandFailed),
        message: "no room".to_owned(),
    };
    for number in 0..20 {
        let command = format!("command-{number}");
        let first = send(&session, &format!("first-{number}"), end(&command)).await.expect("accepted");
        assert!(!first.already, "{command}");
    }
    let again = send(&session, "again", end("command-0")).await.expect("accepted");
    assert!(again.already);
    assert_eq!(ends(&session.records().await).len(), 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_from_its_beginning_to_its_archive() {
    let (_world, _host, session) = world().await;
    let begun = send(&session, "one", begin()).await.expect("accepted");
    assert_eq!((&begun.submission, begun.already), (&id("one"), false));
    assert!(send(&session, "one", begin()).await.expect("accepted").already, "the same op is accepted once");
    let refused = send(&session, "two", begin()).await.expect_err("one at a time");
    assert_eq!(refused, Refusal::OperationRunning { running: id("one") });
    let correlate = Op::CorrelateCheckpoint { command: id("one"), related: id("more") };
    send(&session, "c", correlate).await.expect("accepted");
    let operation = session.view().await.operation.expect("it runs");
    assert_eq!(operation.related, [id("asked-by"), id("more")]);
    let save = |command: &str| Op::SaveCheckpoint { command: id(command), archive: archive() };
    assert_eq!(send(&session, "s1", save("two")).await, Err(Refusal::StaleOwner { command: id("two") }));
    send(&session, "s2", save("one")).await.expect("accepted");
    let view = session.view().await;
    assert_eq!((view.operation, view.archive, view.checkpoint_warning), (None, Some(archive()), None));
    let before = session.records().await;
    let late = send(&session, "f", fail("one")).await.expect("a late report is no error");
    assert_eq!((late.already, late.ordinal), (true, before.last().expect("records").ordinal));
    assert_eq!(session.records().await.len(), before.len());
    let ended = ends(&before);
    assert_eq!(ended.len(), 1);
    assert_eq!((ended[0].outcome, ended[0].owner), (CommandOutcome::Completed, Some(OperationOwner::Client)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_checkpoint_warns_people_and_models_see_nothing_of_it() {
    let (_world, _host, session) = world().await;
    session.turn("hi").await;
    send(&session, "one", begin()).await.expect("accepted");
    let complete =
        Op::EndCommand { command: id("one"), kind: CommandKind::Checkpoint, reason: None, message: String::new() };
    assert_eq!(send(&session, "e", complete).await, Err(Refusal::ArchiveMissing { command: id("one") }));
    send(&session, "f", fail("one")).await.expect("accepted");
    let view = session.view().await;
    assert_eq!((view.archive, view.checkpoint_warning.as_deref()), (None, Some("no room")));
    let text = "the checkpoint failed: no room".to_owned();
    let notice = ItemBody::Notice(Notice { code: "checkpoint_failed".to_owned(), text });
    assert_eq!(session.items().await.last().map(|item| item.body.clone()), Some(notice));
    assert_eq!(turn_ended(&session.turn("hi").await).0, "turn_completed");
    send(&session, "two", begin()).await.expect("accepted");
    let defer = Op::DeferCheckpoint { command: id("two"), message: "busy".to_owned() };
    send(&session, "d", defer).await.expect("accepted");
    assert_eq!(session.view().await.checkpoint_warning.as_deref(), Some("no room"));
    let outcomes: Vec<_> = ends(&session.records().await).iter().map(|end| end.outcome).collect();
    assert_eq!(outcomes, [CommandOutcome::Failed, CommandOutcome::Rejected]);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_end_beside_a_running_turn() {
    let (world, host, session) = world().await;
    let mut news = host.follow(&session.id);
    session.submit("hold").await;
    Session::wait_for_record(&mut news, "run_started").await;
    let ended = |command: &str, reason| Op::EndCommand {
        command: id(command),
        kind: CommandKind::CompleteCheckpoint,
        reason: Some(reason),
        message: "as it says".to_owned(),
    };
    send(&session, "1", ended("a", CommandReason::ControllerDisconnected)).await.expect("accepted");
    send(&session, "2", ended("b", CommandReason::CommandFailed)).await.expect("accepted");
    assert!(send(&session, "3", ended("b", CommandReason::CommandFailed)).await.expect("accepted").already);
    let view = session.view().await;
    assert!(view.turn.is_some() && view.last_outcome.is_none(), "the turn goes on");
    world.release();
    host.quiesced(&session.id).await;
    let records = session.records().await;
    assert_eq!(turn_ended(&records).0, "turn_completed");
    assert_eq!(session.view().await.last_outcome, Some(TurnOutcome::Completed));
    let notices = session.items().await.iter().filter(|item| matches!(item.body, ItemBody::Notice(_))).count();
    assert_eq!((ends(&records).len(), notices), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn activity_is_recorded_when_it_changes_and_a_fault_once() {
    let (_world, _host, session) = world().await;
    let report = |activity, details: Option<&str>| Op::ReportActivity { activity, details: details.map(str::to_owned) };
    let idle = session.op(report(Activity::Idle, None)).await.expect("accepted");
    let again = session.op(report(Activity::Idle, None)).await.expect("accepted");
    assert_eq!((idle.already, again.already, again.ordinal), (false, true, idle.ordinal));
    session.op(report(Activity::Background, Some("tests"))).await.expect("accepted");
    let about = session.view().await.activity.expect("it was told");
    assert_eq!((about.activity, about.details.as_deref()), (Activity::Background, Some("tests")));
    let fault = || Op::ReportFault { code: "launch-failed".to_owned(), message: "no such program".to_owned() };
    assert!(!send(&session, "fault", fault()).await.expect("accepted").already);
    assert!(send(&session, "fault", fault()).await.expect("accepted").already);
    let records = session.records().await;
    let expected = ["session_configured", "activity_changed", "activity_changed", "session_fault"];
    assert_eq!(kinds(&records), expected);
    assert_eq!(session.view().await.row.phase, "idle", "a reported fault parks nothing");
}

/// The host ends what the one before it left, once, and starts nothing else of an idle session.
#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_checkpoint_is_ended_when_the_host_starts() {
    let (world, host, session) = world().await;
    send(&session, "one", begin()).await.expect("accepted");
    host.shutdown().await;
    drop((host, session));
    let host = world.host().await;
    let session = Session { host: host.clone(), id: SessionId::new("s").expect("legal") };
    let records = session.records().await;
    assert_eq!(kinds(&records), ["session_configured", "operation_begun", "command_ended"]);
    let end = &ends(&records)[0];
    assert_eq!((end.outcome, end.reason), (CommandOutcome::Cancelled, Some(CommandReason::ControllerRestarted)));
    assert_eq!((&end.command, &end.related[..]), (&id("one"), &[id("asked-by")][..]));
    assert_eq!(session.view().await.operation, None);
    let late = send(&session, "f", fail("one")).await.expect("accepted");
    assert!(late.already, "its owner comes too late");
    assert_eq!(ends(&session.records().await).len(), 1);
    send(&session, "two", begin()).await.expect("accepted");
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_can_be_recovered_without_a_host() {
    let (world, host, session) = world().await;
    let other = Session::open(&host, "other").await;
    send(&session, "one", begin()).await.expect("accepted");
    send(&other, "two", begin()).await.expect("accepted");
    Session::open(&host, "none").await;
    host.shutdown().await;
    drop((host, session, other));
    let journal = SqliteJournal::open(&world.data_dir(), Options::default()).expect("the journal");
    assert_eq!(recover_operations(&journal, Timestamp(1)).await.expect("recovered"), 2);
    assert_eq!(recover_operations(&journal, Timestamp(2)).await.expect("recovered"), 0);
}

/// Asks a form in the running turn of a session, as a tool will that needs a person.
async fn plant_form(world: &World) -> ElicitationId {
    let journal = SqliteJournal::open(&world.data_dir(), Options::default()).expect("the journal");
    let (tenant, session) = (TenantId::default_tenant(), SessionId::new("s").expect("legal"));
    let opened = journal.open_session(&tenant, &session).await.expect("read").expect("it exists");
    let elicitation = ElicitationId::new("form").expect("legal");
    let question = Question {
        turn: opened.state.turn().expect("it runs").id.clone(),
        elicitation: elicitation.clone(),
        step: None,
        call: None,
        request: r#"{"title":"who are you?"}"#.to_owned(),
        build: None,
    };
    let decided = decide(&opened.state, Command::AskInput(question), Timestamp(1)).expect("accepted");
    let transition =
        Transition::new(tenant.clone(), session.clone(), opened.state.head(), decided.records, decided.state);
    journal.commit(transition).await.expect("committed");
    elicitation
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_waits_over_a_restart_and_its_one_answer_lets_the_turn_go_on() {
    let (world, host, session) = world().await;
    session.turn("write").await;
    host.shutdown().await;
    drop((host, session));
    let elicitation = plant_form(&world).await;
    let host = world.host().await;
    let session = Session { host: host.clone(), id: SessionId::new("s").expect("legal") };
    let view = session.view().await;
    assert_eq!(view.row.phase, "waiting");
    assert_eq!((view.elicitations[0].elicitation.clone(), view.elicitations.len()), (elicitation.clone(), 1));
    assert_eq!(view.elicitations[0].request, r#"{"title":"who are you?"}"#);
    let approval = session.approvals().await.remove(0);
    session.answer(&approval, ApprovalAnswer::Approve).await.expect("accepted");
    host.quiesced(&session.id).await;
    assert!(session.view().await.turn.is_some() && session.calls().await.is_empty(), "nothing runs while a form waits");
    let answer = |values: &str| Op::Answer {
        elicitation: elicitation.clone(),
        answer: FormAnswer::Accept,
        values: Some(values.to_owned()),
    };
    let invalid = session.op(answer("[]")).await.expect_err("refused");
    assert!(matches!(invalid, Refusal::InvalidForm { .. }));
    session.op(answer(r#"{"name":"me"}"#)).await.expect("accepted");
    host.quiesced(&session.id).await;
    assert_eq!(turn_ended(&session.records().await).0, "turn_completed");
    let again = session.op(answer("{}")).await.expect_err("refused");
    assert_eq!(again, Refusal::ElicitationResolved { elicitation: elicitation.clone() });
    let unknown = ElicitationId::new("unknown").expect("legal");
    let op = Op::Answer { elicitation: unknown.clone(), answer: FormAnswer::Decline, values: None };
    assert_eq!(session.op(op).await, Err(Refusal::UnknownElicitation { elicitation: unknown }));
    let resolved = host.open_session(OpenSession { session: Some(session.id.clone()), ..OpenSession::default() }).await;
    assert!(resolved.is_ok() && session.view().await.elicitations.is_empty());
}
