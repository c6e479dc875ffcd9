//! E01: which code serves a session.

use mainstay_protocol::{Digest, PluginName, feed::FeedBody, receipt::Receipt};
use mainstay_session::Command;

use super::session::Session;

fn receipt(build: &str) -> Receipt {
    Receipt {
        plugin: plugin(),
        version: "1.0.0".to_owned(),
        sha256: Digest::of(build.as_bytes()),
        interface: "0.1.0".to_owned(),
        grant: Digest::of(b"grant"),
        host: "mainstay 0.2.0".to_owned(),
    }
}

fn plugin() -> PluginName {
    PluginName::new("files").unwrap()
}

fn serve(build: &str) -> Command {
    Command::Serve { receipts: vec![receipt(build)] }
}

fn resume() -> Command {
    Command::Resume { route: None, metadata: None, requires: None, retry_open_step: false }
}

#[tokio::test(flavor = "multi_thread")]
async fn e01_each_runtime_identity_leaves_a_receipt_and_the_last_one_is_current() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::create(folder.path()).await;
    session.commit([serve("one")]).await.unwrap();
    assert_eq!(session.report(serve("one")).await, 0, "the same code leaves nothing");
    let first = session.events().await;
    let mut session = session.reopened(folder.path()).await;
    session.commit([resume(), serve("two")]).await.unwrap();
    let session = session.reopened(folder.path()).await;
    let events = session.events().await;
    let receipts: Vec<_> = events
        .iter()
        .map(|event| match &event.body {
            FeedBody::RuntimeReceipt(receipt) => (event.ordinal, receipt.receipt_id, receipt.receipt.sha256),
            other => panic!("not a receipt: {other:?}"),
        })
        .collect();
    let [(one, first_id, first_code), (two, second_id, second_code)] = receipts[..] else { panic!("{receipts:?}") };
    assert!(one < two && first_id != second_id && events[0].seq < events[1].seq);
    assert_eq!((first_code, second_code), (Digest::of(b"one"), Digest::of(b"two")));
    assert_eq!(events[..1], first[..], "the first one is unchanged");
    assert_eq!(session.state.serving().get(&plugin()), Some(&second_id), "the last one is current");
}
