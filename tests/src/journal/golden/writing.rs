//! Writes a store with some of everything that a build can write, through the public API: what becomes the golden store of its
//! format. `tests/golden/README.md` says how.

use std::{collections::BTreeSet, fs, path::Path};

use mainstay_journal::{
    GenerationChange, GenerationOrigin, GenerationRow, Journal as _, NewSubmission, Range, SessionsQuery,
    SqliteJournal, StateWrite, Transition, host_session, host_tenant, testing,
};
use mainstay_protocol::{
    Digest, ItemId, PluginName, TenantId, Timestamp,
    blob::NewBlob,
    content::{CallResult, Item, ItemBody, Message, Notice, Part, PrivatePart, Role, ToolCall},
    record::{NewRecord, RecordBody},
};
use mainstay_session::QueuedMessage;
use serde_json::{Value, json};

use super::super::script::{Script, commit_all};

/// The example of a kind, with some fields changed.
fn body(kind: &str, changes: Value) -> RecordBody {
    let example = RecordBody::examples().into_iter().find(|body| body.kind() == kind).expect("an example");
    let mut fields: Value = serde_json::from_slice(&example.encode()).unwrap();
    let Value::Object(changes) = changes else { panic!("changes are fields") };
    fields.as_object_mut().unwrap().extend(changes);
    let body = RecordBody::decode(kind, fields.to_string().as_bytes()).unwrap();
    assert_eq!(body.kind(), kind, "{fields}");
    assert!(!matches!(body, RecordBody::Unknown(_)), "{kind}: {fields}");
    body
}

/// The ids of the session's nth turn.
fn turn(number: u64) -> Value {
    json!({
        "turn": format!("01982f3a-5a10-7c3e-9b1f-2d4c6e8a0b{number:02}"),
        "submission": format!("01982f3a-59f2-7a11-8c44-0f1e2d3c4b{number:02}"),
        "accepted": number,
    })
}

/// A record of a turn: its ids, and other changes.
fn of(number: u64, kind: &str, changes: Value) -> RecordBody {
    let (Value::Object(mut all), Value::Object(changes)) = (turn(number), changes) else {
        panic!("changes are fields")
    };
    all.extend(changes);
    body(kind, Value::Object(all))
}

fn large(word: &str) -> String {
    format!("{word} ").repeat(1_500)
}

/// What the session's nth message says.
fn message(number: u64) -> String {
    if number == 6 { large("waiting") } else { "go on".to_owned() }
}

/// The transition of some records, with the items and messages that come with them.
fn step(script: &mut Script, bodies: &[RecordBody]) -> Transition {
    let mut transition = script.records(bodies.to_vec());
    for (index, body) in bodies.iter().enumerate() {
        if let Some(span) = body.items() {
            let ids = (span.first.0..).take(span.count as usize);
            transition.items.extend(ids.enumerate().map(|(at, id)| item(script, body, at, ItemId(id))));
        }
        match body {
            RecordBody::MessageAccepted(accepted) => {
                transition.queued.push(QueuedMessage {
                    submission: accepted.submission.clone(),
                    accepted: accepted.accepted,
                    delivery: accepted.delivery,
                    at: script.now,
                    content: vec![Part::Text(message(accepted.accepted.0))],
                });
                transition.submission = Some(NewSubmission {
                    submission: accepted.submission.clone(),
                    digest: accepted.digest,
                    accepted: Some(accepted.accepted),
                    record: index,
                });
            }
            RecordBody::TurnStarted(started) => transition.unqueued.push(started.accepted),
            _ => {}
        }
    }
    transition
}

/// What a record's nth item says. Some have payloads in rows of their own.
fn item(script: &Script, body: &RecordBody, at: usize, id: ItemId) -> Item {
    let message = |role, text: String| ItemBody::Message(Message { role, content: vec![Part::Text(text)] });
    let mut private_part = None;
    let said = match body {
        RecordBody::StepCompleted(completed) if at > 0 => {
            let call = &completed.calls[at - 1];
            let arguments = r#"{"path":"notes.md"}"#.to_owned();
            ItemBody::ToolCall(ToolCall { call_id: call.call_id.clone(), name: call.tool.clone(), arguments })
        }
        RecordBody::StepCompleted(completed) => {
            let bytes = if completed.step.0 == 0 { vec![0, 255, 1] } else { large("private").into_bytes() };
            private_part = Some(PrivatePart { context_group: "openai".to_owned(), bytes });
            message(Role::Assistant, "I look".to_owned())
        }
        RecordBody::CallEnded(ended) => ItemBody::ToolResult(CallResult {
            call_id: ended.call_id.clone(),
            name: ended.tool.clone(),
            content: vec![Part::Text(large("result")), Part::Json("{\"lines\":3}".to_owned())],
            is_error: ended.is_error,
            extras: Some("{\"exit\":0}".to_owned()),
        }),
        RecordBody::NoticeAdded(_) | RecordBody::CommandEnded(_) => {
            ItemBody::Notice(Notice { code: "command-failed".to_owned(), text: "the archive store refused".to_owned() })
        }
        RecordBody::ContextCompacted(_) => ItemBody::Reasoning("so far: notes were read".to_owned()),
        _ => message(Role::User, "read my notes".to_owned()),
    };
    let (turn, at) = (body.turn().cloned(), script.now);
    Item { id, turn, step: None, call: None, at, body: said, private_part, extras: None }
}

/// A session with a record of each kind that a session can have.
fn every_kind() -> (Script, Vec<Transition>) {
    let mut script = Script::new("every-kind");
    let none = || json!({});
    let build = json!({"plugin": "files", "sha256": Digest::of(b"files")});
    let allowed = json!({"calls": [{"index": 0, "verdict":
        {"allowed": {"build": build, "effect": "idempotent", "execution": "parallel"}}}], "hooks": {}});
    let run = |attempt: u32| json!({"calls": [{"index": 0, "attempt": attempt, "build": build}]});
    let accepted = |number| of(number, "message_accepted", json!({"bytes": message(number).len()}));
    let quiet = |step: u32, item: u64| json!({"step": step, "items": {"first": item, "count": 1}, "calls": [], "last_message": item, "finish": {"reason": "complete"}});
    let stories = vec![
        vec![body("session_configured", none())],
        vec![accepted(1)],
        vec![of(1, "turn_started", json!({"items": {"first": 1, "count": 6}}))],
        vec![of(1, "turn_aborted", none())],
        vec![accepted(2)],
        vec![of(2, "turn_started", json!({"items": null})), of(2, "turn_rejected", none())],
        vec![accepted(3)],
        vec![of(3, "turn_started", none()), of(3, "step_opened", none())],
        vec![of(3, "step_completed", none()), of(3, "calls_decided", none()), of(3, "approval_requested", none())],
        vec![of(3, "approval_resolved", none())],
        vec![of(3, "calls_decided", allowed.clone()), of(3, "run_started", run(1))],
        vec![of(3, "run_interrupted", none())],
        vec![of(3, "elicitation_requested", none())],
        vec![of(3, "elicitation_resolved", none())],
        vec![of(3, "calls_decided", allowed), of(3, "run_started", run(2))],
        vec![of(3, "call_ended", none()), of(3, "step_opened", json!({"step": 1}))],
        vec![of(3, "step_completed", quiet(1, 11))],
        vec![of(3, "turn_continued", json!({"item": 12})), of(3, "step_opened", json!({"step": 2}))],
        vec![
            of(3, "step_completed", quiet(2, 13)),
            of(3, "usage_recorded", none()),
            of(3, "turn_completed", json!({"last_message": 13})),
        ],
        vec![accepted(4)],
        vec![of(4, "turn_started", json!({"items": {"first": 14, "count": 1}}))],
        vec![of(4, "turn_failed", none())],
        vec![body("session_fault", none())],
        vec![body("session_retried", none()), body("receipt_recorded", none())],
        vec![body("model_changed", none()), body("activity_changed", none())],
        vec![body("operation_begun", none())],
        vec![body("operation_correlated", none())],
        vec![
            body("checkpoint_saved", none()),
            body(
                "command_ended",
                json!({"kind": "checkpoint", "outcome": "completed", "reason": null, "notice": null}),
            ),
        ],
        vec![body("command_ended", json!({"command": "01982f3b-0c11-7b9a-9d8e-5a4b3c2d1e10", "notice": 15}))],
        vec![body("notice_added", json!({"item": 16}))],
        vec![body("context_compacted", json!({"keep_from": 14, "summary": 17}))],
        vec![accepted(5)],
        vec![accepted(6)],
    ];
    let transitions = stories.iter().map(|bodies| step(&mut script, bodies)).collect();
    (script, transitions)
}

/// Plugins come, go and are refused; one build was chosen by a person.
async fn write_host(journal: &SqliteJournal) {
    let row = |version: &str, at, origin| GenerationRow {
        plugin: PluginName::new("files").unwrap(),
        sha256: Digest::of(version.as_bytes()),
        package: Digest::of(format!("package {version}").as_bytes()),
        version: version.to_owned(),
        activated_at: Timestamp(at),
        origin,
    };
    let first = row("0.1.0", 1_700_000_000_000, GenerationOrigin::Manifest);
    let second = row("0.2.0", 1_700_000_001_000, GenerationOrigin::Override { entry: Digest::of(b"entry") });
    let changes = [
        ("plugin_activated", first.clone(), Some(GenerationChange::Activate(first.clone()))),
        ("plugin_refused", second.clone(), None),
        ("plugin_swapped", second.clone(), Some(GenerationChange::Activate(second))),
        ("plugin_drained", first, None),
    ];
    for ((kind, row, change), at) in changes.into_iter().zip(1_700_000_000_000..) {
        let body = body(kind, json!({"plugin": row.plugin, "sha256": row.sha256, "version": row.version}));
        let records = vec![NewRecord { at: Timestamp(at), body }];
        journal.append_host_records(records, change.into_iter().collect()).await.unwrap();
    }
    journal.set_global("greeting".to_owned(), Some(b"hello".to_vec())).await.unwrap();
}

/// The whole store.
async fn write(folder: &Path) {
    let journal = super::open(folder);
    write_host(&journal).await;
    let (_, mut transitions) = every_kind();
    let plugin = PluginName::new("files").unwrap();
    transitions[3].plugin_state.push(StateWrite { plugin, key: "seen".to_owned(), value: Some(b"notes.md".to_vec()) });
    transitions[3].blobs.push(NewBlob::new("image/png", large("pixels").into_bytes()));
    commit_all(&journal, transitions).await;

    // A turn that runs, and an operation.
    let mut running = Script::new("running");
    commit_all(&journal, [running.create(), running.submit("hello"), running.start("hello")]).await;
    commit_all(&journal, [running.records(vec![body("operation_begun", json!({}))])]).await;
    let mut stranger = Script::new("every-kind");
    stranger.tenant = TenantId::new("stranger").unwrap();
    commit_all(&journal, [stranger.create()]).await;
    commit_all(&journal, stranger.turn_without_tools(&large("question"), &large("result"))).await;
    let mut forgotten = Script::new("forgotten");
    commit_all(&journal, [forgotten.create()]).await;
    commit_all(&journal, forgotten.turn_without_tools("hello", &large("forgotten"))).await;
    journal.forget(&forgotten.tenant, &forgotten.session, forgotten.now).await.unwrap();
    while testing::query_number(folder, "SELECT count(*) FROM forgotten WHERE session IS NOT NULL").unwrap() > 0 {
        journal.set_global("round".to_owned(), None).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_to_be_has_every_kind_and_is_sound() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path()).await;
    super::is_sound(folder.path());
    let journal = super::open(folder.path());
    let mut kinds = BTreeSet::new();
    let mut sessions = vec![(host_tenant(), host_session())];
    for tenant in ["default", "stranger"].map(|tenant| TenantId::new(tenant).unwrap()) {
        let page = journal.sessions(&tenant, SessionsQuery { limit: 100, before: None }).await.unwrap();
        sessions.extend(page.rows.into_iter().map(|row| (tenant.clone(), row.session)));
    }
    assert_eq!(sessions.len(), 4);
    for (tenant, session) in &sessions {
        let report = journal.verify(tenant, session).await.unwrap().unwrap();
        assert!(report.is_sound(), "{tenant} {session}: {report:#?}");
        let page = journal.records(tenant, session, Range::forward(1_000)).await.unwrap();
        kinds.extend(page.rows.iter().map(|record| record.body.kind().to_owned()));
    }
    let known = RecordBody::KINDS.iter().map(|kind| kind.name).filter(|kind| *kind != "legacy_notice");
    let missing: Vec<_> = known.filter(|kind| !kinds.contains(*kind)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// `cargo test -p mainstay-tests write_golden_store -- --ignored` writes `tests/golden/journal-2`, once.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes the golden store of this build's format into the source tree"]
async fn write_golden_store() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path()).await;
    let format = testing::query_number(folder.path(), "SELECT user_version FROM pragma_user_version").unwrap();
    let target = super::stores().join(format!("journal-{format}"));
    fs::create_dir(&target).expect("a golden store is written once, and kept as it is");
    fs::copy(folder.path().join("journal.sqlite"), target.join("journal.sqlite")).unwrap();
}
