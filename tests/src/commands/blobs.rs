//! `mainstay session blob`: the whole output of a tool, from a running host and from a folder that no host has.

use mainstay_protocol::blob::WholeOutput;
use mainstay_server::{Limits, Server};

use super::{mainstay, stderr, stdout};
use crate::support::{Session, World};

const SCRIPT: &str = r#"
[[rule]]
when = { step = 0 }
output = [{ call = { name = "effect_pure", arguments = { note = "large", pad = 1500000 } } }]
[[rule]]
output = [{ text = "done" }]
"#;

/// Runs the command while nothing else runs on this test's threads.
fn run(world: &World, arguments: &[&str]) -> (Option<i32>, Vec<u8>, String) {
    let output = tokio::task::block_in_place(|| mainstay(world, arguments));
    let error = stderr(&output);
    (output.status.code(), output.stdout, error)
}

/// All ways to fetch a blob, wherever it comes from.
fn check_fetching(world: &World, whole: &WholeOutput) {
    let reference = whole.blob.to_string();
    let (code, piped, error) = run(world, &["session", "blob", "s", &reference]);
    assert_eq!((code, piped.len() as u64), (Some(0), whole.bytes), "{error}");
    assert_eq!(mainstay_protocol::Digest::of(&piped), whole.blob.digest());

    let (code, printed, error) = run(world, &["session", "blob", "s", &reference, "--output", "whole.json"]);
    assert_eq!((code, printed), (Some(0), Vec::new()), "{error}");
    assert!(std::fs::read(world.path().join("whole.json")).expect("the file") == piped);

    let unknown = format!("blob:{}", "0".repeat(64));
    let (code, printed, error) = run(world, &["session", "blob", "s", &unknown]);
    assert_eq!((code, printed), (Some(1), Vec::new()));
    assert!(error.contains("keeps no blob by the reference"), "{error}");
    let (code, _, error) = run(world, &["session", "blob", "nobody", &reference]);
    assert!(code == Some(1) && error.contains("nobody"), "{code:?} {error}");
    let (code, _, error) = run(world, &["session", "blob", "s", "blob:12"]);
    assert!(code == Some(2) && error.contains("no reference to a blob"), "{code:?} {error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_output_is_fetched_with_a_host_and_without() {
    let world = World::new(SCRIPT).effects();
    let host = world.host().await;
    let session = Session::open(&host, "s").await;
    session.turn("go").await;
    let result = session.results().await.pop().expect("a result");
    let whole = WholeOutput::of(result.extras.as_deref()).expect("the whole is kept");
    assert!(whole.bytes > 1 << 20, "more than one read gives");

    let server = Server::start(host.clone(), &world.data_dir(), Limits::default()).expect("a server");
    check_fetching(&world, &whole);
    server.stop().await;
    host.shutdown().await;
    drop((session, host));
    check_fetching(&world, &whole);

    let shown = tokio::task::block_in_place(|| mainstay(&world, &["session", "show", "s", "--transcript"]));
    let text = stdout(&shown) + &stderr(&shown);
    assert!(
        text.contains(&format!("whole output: {} (application/json, {} bytes)", whole.blob, whole.bytes)),
        "{text}"
    );
}
