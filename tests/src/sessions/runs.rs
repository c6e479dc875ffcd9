//! Runs of calls: parallel ones overlap, and the result of one that must not run twice is durable as soon as it is there.

use mainstay_protocol::{content::plain_text, news::News, record::RecordBody};

use crate::support::{Session, World, kinds, turn_ended};

const PAIR: &str = r#"
[[rule]]
when = { tool = "effect_pure" }
output = [{ text = "done" }]
[[rule]]
when = { message = "go" }
output = [
    { call = { name = "effect_pure", arguments = { note = "held", hold = true } } },
    { call = { name = "effect_once_parallel", arguments = { note = "early" } } },
]
[[rule]]
output = [{ text = "done" }]
"#;

/// Starts both calls, and waits until the one that must not run twice has its result while the other still runs.
async fn until_early(world: &World) -> Session {
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    let mut news = host.follow(&session.id);
    session.submit("go").await;
    let early = |news: &News| match news {
        News::Record(record) => matches!(&*record.body, RecordBody::CallEnded(ended) if ended.index.0 == 1),
        _ => false,
    };
    Session::wait_for(&mut news, early).await;
    session
}

#[tokio::test(flavor = "multi_thread")]
async fn an_early_result_commits_at_once_and_results_stand_in_call_order() {
    let world = World::new(PAIR).effects();
    let session = until_early(&world).await;
    assert_eq!(session.calls().await.len(), 1);
    world.release();
    session.host.quiesced(&session.id).await;
    let records = session.records().await;
    assert_eq!(turn_ended(&records).0, "turn_completed");
    assert_eq!(kinds(&records).iter().filter(|kind| **kind == "run_started").count(), 1, "they ran together");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_an_early_result_and_runs_the_pure_call_again() {
    let world = World::new(PAIR).effects();
    {
        let session = until_early(&world).await;
        session.host.shutdown().await;
    }
    world.release();
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    host.quiesced(&session.id).await;
    let (kind, ended) = turn_ended(&session.records().await);
    assert_eq!((kind.as_str(), ended.tool_calls, ended.failed_tool_calls), ("turn_completed", 2, 0));
    let ran = |note: &str| world.log("log.jsonl").iter().filter(|line| line["arguments"]["note"] == note).count();
    assert_eq!((ran("early"), ran("held")), (1, 2));
    assert!(session.results().await.iter().all(|result| !plain_text(&result.content).is_empty()));
}
