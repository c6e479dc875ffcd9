//! E05: faults that a lifecycle save records.

use mainstay_protocol::{feed::FeedBody, record::v1::SessionFault};
use mainstay_session::Command;

use super::session::Session;

#[tokio::test(flavor = "multi_thread")]
async fn e05_a_launch_failure_that_is_saved_twice_is_one_fault_with_its_message() {
    const MESSAGE: &str = "the worker \"ada\" did not start:\n\texit status 127 \u{2014} not found";
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::create(folder.path()).await;
    for attempt in 0..2 {
        let fault = SessionFault {
            code: "launch-failed".to_owned(),
            message: MESSAGE.to_owned(),
            turn: None,
            build: None,
            stderr: String::new(),
            parks: false,
        };
        let page = session.decide([Command::Fault { fault }]).unwrap();
        let saved = session.apply(page, Some("launch-1")).await;
        assert_eq!(saved.is_ok(), attempt == 0);
    }
    let events = session.events().await;
    let [event] = &events[..] else { panic!("{events:?}") };
    let FeedBody::SessionFault(fault) = &event.body else { panic!("{event:?}") };
    assert_eq!(fault.message, MESSAGE);
}
