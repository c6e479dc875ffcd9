//! Large outputs of tools: the model gets them cut in the middle, and the session keeps the whole, for people and plugins.

use mainstay_driver::Host;
use mainstay_protocol::{
    blob::{BlobInfo, BlobReference, WholeOutput},
    content::{CallResult, plain_text},
    news::News,
    record::RecordBody,
};
use serde_json::{Value, json};

use crate::support::{Session, World, world::guest};

const PAD: usize = 200_000;

const LARGE: &str = r#"
[[rule]]
when = { tool = "read_whole" }
output = [{ text = "read" }]
[[rule]]
when = { tool = "effect_pure", result = "bytes left out" }
output = [{ text = "it was cut" }]
[[rule]]
when = { message = "large" }
output = [{ call = { name = "effect_pure", arguments = { note = "large", pad = 200000 } } }]
[[rule]]
when = { message = "fail" }
output = [{ call = { name = "effect_pure", arguments = { note = "small" } } }]
[[rule]]
when = { message = "read" }
output = [{ call = { name = "read_whole", arguments = { offset = 0, max = 15 } } }]
[[rule]]
output = [{ text = "done" }]
"#;

/// A world with the tools of `effects` and these imports granted to them.
fn world(script: &str, imports: &str) -> World {
    let tools = ["effect_pure", "effect_once_parallel", "read_whole"];
    let allowed: String = tools.map(|tool| format!("[tool.{tool}]\napproval = \"unneeded\"\n")).concat();
    World::new(script).entry(&format!(
        r#"
        [plugin.effects]
        path = {:?}
        grant.dirs = [{{ host = "effects", guest = "/effects", access = "read-write" }}]
        grant.imports = {imports}
        {allowed}
        "#,
        guest("effects")
    ))
}

async fn last_result(session: &Session) -> CallResult {
    session.results().await.pop().expect("a result")
}

/// Where the whole of the last result is.
async fn whole_of(session: &Session) -> WholeOutput {
    WholeOutput::of(last_result(session).await.extras.as_deref()).expect("the result has a whole output")
}

async fn read_all(host: &Host, session: &Session, blob: &BlobReference) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let piece = host.blob_read(&session.id, blob, bytes.len() as u64).await.expect("it is read");
        let piece = piece.expect("the session keeps it");
        if piece.is_empty() {
            return bytes;
        }
        bytes.extend(piece);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_output_reaches_the_model_cut_and_is_kept_whole() {
    let world = world(LARGE, "[]");
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    session.turn("large").await;
    assert_eq!(session.last_message().await, "it was cut");
    let result = last_result(&session).await;
    let seen = plain_text(&result.content);
    assert!(seen.len() < 41_000 && seen.contains("bytes left out"), "{}", seen.len());
    assert!(!seen.contains("blob:"), "the reference is not for models");

    let whole = whole_of(&session).await;
    let expected = BlobInfo { media_type: "application/json".to_owned(), size: whole.bytes };
    assert_eq!(host.blob_info(&session.id, &whole.blob).await.expect("it is read"), Some(expected));
    host.shutdown().await;
    drop((session, host));

    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    let bytes = read_all(&host, &session, &whole.blob).await;
    assert_eq!(bytes.len() as u64, whole.bytes);
    let output: Value = serde_json::from_slice(&bytes).expect("JSON");
    assert_eq!(output["pad"].as_str().map(str::len), Some(PAD));
    assert_eq!(output["arguments"]["note"], "large");

    let other = Session::open(&host, "other").await;
    assert_eq!(host.blob_info(&other.id, &whole.blob).await.expect("it is read"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_that_the_model_gets_whole_is_not_kept_apart() {
    let world = world(LARGE, "[]");
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    session.turn("fail").await;
    assert_eq!(last_result(&session).await.extras, None);
}

/// What `read_whole` says of the last result.
async fn read_by_plugin(session: &Session, message: &str) -> Value {
    session.turn(message).await;
    serde_json::from_str(&plain_text(&last_result(session).await.content)).expect("JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_reads_the_whole_by_the_reference_in_the_result() {
    let world = world(LARGE, r#"["blobs", "transcript"]"#);
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    session.turn("large").await;
    let whole = whole_of(&session).await;
    let found = read_by_plugin(&session, "read").await;
    let stat = json!({ "media_type": "application/json", "size": whole.bytes });
    assert_eq!(found, json!({ "stat": stat, "read": r#"{"arguments":{""# }));

    // Another session of the same tenant gets hold of the reference.
    let arguments = format!("{{ blob = \"{}\", offset = 0, max = 15 }}", whole.blob);
    let script = LARGE.replace("{ offset = 0, max = 15 }", &arguments);
    std::fs::write(world.path().join("scripts/script.toml"), script).expect("a script");
    assert_eq!(read_by_plugin(&session, "read").await["stat"], stat);
    let other = Session::open(&host, "other").await;
    let nothing = json!({ "stat": "not-found", "read": "not-found" });
    assert_eq!(read_by_plugin(&other, "read").await, nothing);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_grant_a_plugin_reads_nothing() {
    let world = world(LARGE, r#"["transcript"]"#);
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    session.turn("large").await;
    let denied = json!({ "stat": "denied", "read": "denied" });
    assert_eq!(read_by_plugin(&session, "read").await, denied);
}

const EARLY: &str = r#"
[[rule]]
when = { message = "go", step = 0 }
output = [
    { call = { name = "effect_pure", arguments = { note = "held", hold = true } } },
    { call = { name = "effect_once_parallel", arguments = { note = "early", pad = 100000 } } },
]
[[rule]]
output = [{ text = "done" }]
"#;

/// A crash must not lose the whole of a result that is durable, nor the result of a whole.
#[tokio::test(flavor = "multi_thread")]
async fn the_whole_of_an_early_result_is_durable_with_it() {
    let world = world(EARLY, "[]");
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    let mut news = host.follow(&session.id);
    session.submit("go").await;
    let early = |news: &News| match news {
        News::Record(record) => matches!(&*record.body, RecordBody::CallEnded(ended) if ended.index.0 == 1),
        _ => false,
    };
    Session::wait_for(&mut news, early).await;
    let whole = whole_of(&session).await;
    assert_eq!(read_all(&host, &session, &whole.blob).await.len() as u64, whole.bytes);
    host.shutdown().await;
    drop((session, host));

    world.release();
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    host.quiesced(&session.id).await;
    assert_eq!(read_all(&host, &session, &whole.blob).await.len() as u64, whole.bytes);
    assert_eq!(session.last_message().await, "done");
}
