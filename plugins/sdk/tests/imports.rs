//! The stand-in host and the typed helpers over it.

use mainstay_sdk::prelude::*;
use mainstay_sdk::testing::{Host, items};

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Settings {
    limit: u32,
    #[serde(default)]
    words: Vec<String>,
}

#[test]
fn configuration_is_typed_and_its_errors_name_the_key() {
    let host = Host::new().config(r#"{"limit": 3}"#).enter();
    assert_eq!(config(), Ok(Settings { limit: 3, words: vec![] }));
    drop(host);
    let _host = Host::new().config(r#"{"limit": 3, "words": [1]}"#).enter();
    let error = config::<Settings>().unwrap_err();
    assert_eq!(error.code, "bad-config");
    assert!(error.message.contains("`words[0]`"), "{}", error.message);
}

#[test]
fn session_state_round_trips_and_needs_a_session() {
    let host = Host::new().session("s").enter();
    assert_eq!(session_state::get::<u32>("count"), Ok(None));
    session_state::set("count", &7).unwrap();
    session_state::set("a", "x").unwrap();
    assert_eq!(session_state::get("count"), Ok(Some(7)));
    assert_eq!(session_state::list_keys("", Some("a"), 10).unwrap(), ["count"]);
    session_state::remove("count").unwrap();
    assert_eq!(session_state::get::<u32>("count"), Ok(None));
    assert_eq!(session_state::get::<u32>("a").unwrap_err().code, "bad-state");
    assert_eq!(session_state::set("", &1).unwrap_err().kind, ErrorKind::InvalidArgument);
    drop(host);
    let _host = Host::new().enter();
    assert_eq!(session_state::get::<u32>("count").unwrap_err().kind, ErrorKind::NotFound);
}

#[test]
fn plugin_state_counts_and_checks_versions() {
    let _host = Host::new().enter();
    assert_eq!(plugin_state::add("calls", 2), Ok(2));
    assert_eq!(plugin_state::add("calls", 0), Ok(2));
    assert_eq!(plugin_state::put_if_version("v", b"1", None), Ok(1));
    assert_eq!(plugin_state::put_if_version("v", b"2", None).unwrap_err().kind, ErrorKind::Conflict);
    assert_eq!(plugin_state::put_if_version("v", b"2", Some(1)), Ok(2));
}

#[test]
fn what_was_not_granted_is_denied() {
    let _host = Host::new().session("s").enter();
    let errors = [
        transcript::open().unwrap_err(),
        current_step::request().unwrap_err(),
        catalog::tool_names().unwrap_err(),
        secrets::placeholder("KEY").unwrap_err(),
        models::generate(&models::GenerationRequest::new("hi")).unwrap_err(),
    ];
    assert!(errors.iter().all(|error| error.kind == ErrorKind::Denied && error.code == "not-granted"));
}

#[test]
fn the_whole_history_and_whole_blobs_can_be_read() {
    let bodies = ["a", "b", "c"].map(|text| ItemBody::Message(Message::user(text)));
    let _host = Host::new().transcript(items(bodies.to_vec())).blob("r", "text/plain", b"hello").enter();
    let view = transcript::open().unwrap();
    assert_eq!(view.len(), 3);
    assert_eq!(view.all().iter().map(|item| item.ordinal).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(blobs::read_all("r", 5), Ok(b"hello".to_vec()));
    assert_eq!(blobs::read_all("r", 4).unwrap_err().kind, ErrorKind::LimitExceeded);
}

#[test]
fn logs_and_progress_can_be_read_back() {
    let host = Host::new().enter();
    info!("read {} lines", 3);
    progress::report("half", Some(1), Some(2));
    assert_eq!(host.logs(), ["read 3 lines"]);
    assert_eq!(host.progress(), ["half"]);
}

#[test]
#[should_panic(expected = "was called outside a component")]
fn without_a_host_an_import_says_what_to_do() {
    let _ = context::attempt();
}
