//! A session that requires a build does not run on another one: it fails before anything of it is instantiated, when it is opened
//! and when a turn meets a swap.

use std::collections::BTreeMap;

use mainstay_driver::{Host, MissingBuild, OpenError, OpenSession};
use mainstay_protocol::{
    Digest, PluginName, SessionId,
    op::{ApprovalAnswer, Refusal},
    record::v1::{StopReason, TurnOutcome},
};

use crate::support::{Session, World, kinds, turn_ended, world::plugin};

const SCRIPT: &str = r#"
[[rule]]
when = { tool = "effect_pure" }
output = [{ text = "done" }]
[[rule]]
when = { tool = "write_file" }
output = [{ text = "done" }]
[[rule]]
when = { message = "write" }
output = [{ call = { name = "write_file", arguments = { path = "b.txt", content = "x\n" } } }]
[[rule]]
when = { message = "hold" }
output = [{ call = { name = "effect_pure", arguments = { note = "held", hold = true } } }]
[[rule]]
output = [{ text = "hello" }]
"#;

/// A world whose `input` hook logs each of its calls.
fn world() -> World {
    World::new(SCRIPT).files().effects().hooks("")
}

fn files() -> PluginName {
    PluginName::new("files").expect("legal")
}

fn active(host: &Host) -> Digest {
    host.plugins().into_iter().find(|view| view.plugin == files()).expect("files").sha256
}

fn requiring(builds: &[(PluginName, Digest)]) -> OpenSession {
    OpenSession {
        session: Some(SessionId::new("s").expect("legal")),
        create: true,
        requires: Some(builds.iter().cloned().collect::<BTreeMap<_, _>>()),
        ..OpenSession::default()
    }
}

async fn open(host: &Host, requires: &[(PluginName, Digest)]) -> Session {
    let opened = host.open_session(requiring(requires)).await.unwrap_or_else(|error| panic!("{error}"));
    Session { host: host.clone(), id: opened.session }
}

/// How often the `input` hook ran: it is the first code of a turn.
fn hook_calls(world: &World) -> usize {
    world.log("hooks.jsonl").iter().filter(|line| line["hook"] == "input").count()
}

#[track_caller]
fn missing(result: Result<mainstay_driver::Opened, OpenError>) -> MissingBuild {
    match result {
        Err(OpenError::RequiredBuildMissing(missing)) => missing,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn opening_names_the_plugin_and_both_digests_and_makes_nothing() {
    let world = world();
    let host = world.host().await;
    let (required, nobody) = (Digest::of(b"another build"), PluginName::new("nobody").expect("legal"));
    let found = Some(active(&host));
    let error = host.open_session(requiring(&[(files(), required)])).await;
    assert_eq!(missing(error), MissingBuild { plugin: files(), required, found });
    let error = host.open_session(requiring(&[(nobody.clone(), required)])).await;
    assert_eq!(missing(error), MissingBuild { plugin: nobody, required, found: None });
    assert!(host.sessions(10, None).await.expect("a list").0.is_empty());
    let session = open(&host, &[(files(), active(&host))]).await;
    assert_eq!(turn_ended(&session.turn("hi").await).0, "turn_completed");
    assert_eq!(session.view().await.requires, [(files(), active(&host))].into());
    // Another requirement is looked at before it takes the place of the old one.
    let error = host.open_session(requiring(&[(files(), required)])).await;
    assert_eq!(missing(error).required, required);
    assert_eq!(session.view().await.requires, [(files(), active(&host))].into());
    assert_eq!(hook_calls(&world), 1, "one turn ran");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_after_a_swap_fails_once_and_nothing_is_instantiated() {
    let world = world();
    let host = world.host().await;
    let session = open(&host, &[(files(), active(&host))]).await;
    host.swap(&files(), &plugin("files-next")).await.unwrap_or_else(|error| panic!("{error}"));
    let records = session.turn("hi").await;
    assert_eq!(kinds(&records), ["turn_started", "turn_failed"], "one terminal record, and no receipt of other code");
    let (_, end) = turn_ended(&records);
    assert_eq!(end.stop, Some(StopReason::RequiredBuildMissing));
    assert!(end.reason.is_some_and(|reason| reason.message.contains("requires build")));
    assert_eq!(hook_calls(&world), 0);
    assert_eq!(session.view().await.last_outcome, Some(TurnOutcome::Failed));
    // The old build comes back, or the requirement changes: the session runs again.
    let session = open(&host, &[(files(), active(&host))]).await;
    assert_eq!(turn_ended(&session.turn("hi").await).0, "turn_completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_step_after_a_swap_fails_the_turn() {
    let world = world();
    let host = world.host().await;
    let session = open(&host, &[(files(), active(&host))]).await;
    let mut news = host.follow(&session.id);
    session.submit("hold").await;
    Session::wait_for_record(&mut news, "run_started").await;
    host.swap(&files(), &plugin("files-next")).await.unwrap_or_else(|error| panic!("{error}"));
    world.release();
    host.quiesced(&session.id).await;
    let records = session.records().await;
    assert_eq!(turn_ended(&records).1.stop, Some(StopReason::RequiredBuildMissing));
    let (opened, failed) = ("step_opened", "turn_failed");
    assert_eq!(kinds(&records).iter().filter(|kind| **kind == opened).count(), 1, "the next step does not open");
    assert_eq!(kinds(&records).iter().filter(|kind| **kind == failed).count(), 1);
    assert_eq!(session.calls().await.len(), 1, "the call that ran on the old code has its result");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_answered_after_a_swap_does_not_run() {
    let world = world();
    let host = world.host().await;
    let session = open(&host, &[(files(), active(&host))]).await;
    session.turn("write").await;
    let approval = session.approvals().await.remove(0);
    host.swap(&files(), &plugin("files-next")).await.unwrap_or_else(|error| panic!("{error}"));
    session.answer(&approval, ApprovalAnswer::Approve).await.expect("accepted");
    host.quiesced(&session.id).await;
    let records = session.records().await;
    assert_eq!(turn_ended(&records).1.stop, Some(StopReason::RequiredBuildMissing));
    assert!(!kinds(&records).contains(&"run_started"));
    assert!(!world.path().join("workspace/b.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_with_work_waits_over_a_restart_until_its_build_is_back() {
    let world = world();
    let before = {
        let host = world.host().await;
        let session = open(&host, &[(files(), active(&host))]).await;
        session.turn("write").await;
        let before = active(&host);
        host.swap(&files(), &plugin("files-next")).await.unwrap_or_else(|error| panic!("{error}"));
        host.shutdown().await;
        before
    };
    let host = world.host().await;
    let session = Session { host: host.clone(), id: SessionId::new("s").expect("legal") };
    let found = Some(active(&host));
    assert_ne!(found, Some(before));
    let records = session.records().await.len();
    let plain = OpenSession { requires: None, ..requiring(&[]) };
    assert_eq!(missing(host.open_session(plain).await), MissingBuild { plugin: files(), required: before, found });
    let refusal = session.op(Session::message("hi")).await.expect_err("refused");
    assert_eq!(refusal, Refusal::RequiredBuildMissing { plugin: files(), required: before, found });
    assert_eq!(session.records().await.len(), records, "nothing is written");
    host.swap(&files(), &plugin("files")).await.unwrap_or_else(|error| panic!("{error}"));
    let approval = session.approvals().await.remove(0);
    session.answer(&approval, ApprovalAnswer::Approve).await.expect("accepted");
    host.quiesced(&session.id).await;
    assert_eq!(turn_ended(&session.records().await).0, "turn_completed");
    assert!(world.path().join("workspace/b.txt").exists());
}
