//! `replay_equals_state`: folding all records of a session gives what its row holds, whatever happened in it.

use mainstay_journal::{Journal as _, Options, SqliteJournal};
use mainstay_protocol::{
    TenantId,
    op::{ApprovalAnswer, Op},
    record::v1::{Activity, OperationOwner},
};
use mainstay_session::{State, evolve};

use crate::support::{Session, World};

const EVERYTHING: &str = r#"
[[rule]]
when = { message = "calls" }
output = [
    { reasoning = "why", private = "p" },
    { text = "I call" },
    { call = { name = "effect_pure", arguments = { note = "a" } } },
    { call = { name = "effect_asked", arguments = { note = "b" } } },
    { call = { name = "nobody", arguments = {} } },
]
[[rule]]
when = { message = "fails" }
output = [{ error = { kind = "internal", message = "no" } }]
[[rule]]
output = [{ text = "ok" }]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn replay_equals_state() {
    let world = World::new(EVERYTHING).effects().hooks("input = { do = \"reject\", only = \"bad\" }");
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    for message in ["hello", "bad", "fails", "calls"] {
        session.turn(message).await;
    }
    let approval = session.approvals().await.remove(0);
    around(&session).await;
    host.shutdown().await;
    drop((host, session));
    compare(&world).await;
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    session.answer(&approval, ApprovalAnswer::Approve).await.expect("accepted");
    host.quiesced(&session.id).await;
    session.turn("bye").await;
    host.shutdown().await;
    drop((host, session));
    compare(&world).await;
}

/// What happens beside the turns; the last checkpoint is left running.
async fn around(session: &Session) {
    let begin = || Op::BeginCheckpoint { owner: OperationOwner::Client, related: Vec::new() };
    session.op(Op::ReportActivity { activity: Activity::Background, details: None }).await.expect("accepted");
    session.op(Op::ReportFault { code: "far".to_owned(), message: "away".to_owned() }).await.expect("accepted");
    let command = session.op(begin()).await.expect("accepted").submission;
    session.op(Op::FailCheckpoint { command, message: "no room".to_owned() }).await.expect("accepted");
    let (command, related) = (session.op(begin()).await.expect("accepted").submission, "more".parse().expect("legal"));
    session.op(Op::CorrelateCheckpoint { command, related }).await.expect("accepted");
}

async fn compare(world: &World) {
    let journal = SqliteJournal::open(&world.data_dir(), Options::default()).expect("the journal");
    let (tenant, session) = (TenantId::default_tenant(), "s".parse().expect("legal"));
    let opened = journal.open_session(&tenant, &session).await.expect("a read").expect("a session");
    let mut replayed = State::default();
    let mut after = mainstay_protocol::Ordinal(0);
    loop {
        let range = mainstay_journal::Range::forward(100).after(after);
        let page = journal.records(&tenant, &session, range).await.expect("records");
        for record in &page.rows {
            assert_eq!(record.ordinal, after.next(), "ordinals_have_no_gap");
            after = record.ordinal;
            evolve(&mut replayed, &record.body);
        }
        if !page.more {
            break;
        }
    }
    assert_eq!(replayed, opened.state);
    assert!(journal.verify(&tenant, &session).await.expect("a verdict").expect("a session").is_sound());
}
