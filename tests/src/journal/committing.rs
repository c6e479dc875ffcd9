//! One transition: all of it or nothing, at the head it was decided at.

use mainstay_journal::{CommitError, Journal, Range, StateWrite};
use mainstay_protocol::{Ordinal, PluginName, Seq, op::Accepted};

use super::script::{Script, commit_all, head, open, refusal};

#[tokio::test]
async fn what_is_committed_is_there_after_a_reopen() {
    let folder = tempfile::tempdir().unwrap();
    let mut script = Script::new("notes");
    let journal = open(folder.path());
    let mut commits = commit_all(&journal, [script.create()]).await;
    commits.extend(commit_all(&journal, script.turn_without_tools("hello", "hi there")).await);
    let waiting = script.submit("and then?");
    let content = waiting.queued[0].clone();
    commits.extend(commit_all(&journal, [waiting]).await);
    drop(journal);

    let journal = open(folder.path());
    let (tenant, session) = (&script.tenant, &script.session);
    let opened = journal.open_session(tenant, session).await.unwrap().unwrap();
    assert_eq!(opened.state, script.state);
    assert_eq!((opened.head, opened.metadata.as_deref()), (Ordinal(7), Some(r#"{"a":1}"#)));
    assert_eq!(opened.labels.0["owner"], "someone");

    let records = journal.records(tenant, session, Range::forward(100)).await.unwrap();
    let committed: Vec<_> = commits.iter().flat_map(|commit| commit.records.clone()).collect();
    assert_eq!((records.rows, records.damaged, records.more), (committed, Vec::new(), false));
    let items = journal.items(tenant, session, Range::forward(100)).await.unwrap().rows;
    assert_eq!(items.len(), 2);
    assert_eq!(items[1].private_part.as_ref().unwrap().bytes, [0, 255, 1]);
    assert_eq!(journal.queued(tenant, session, content.accepted).await.unwrap(), Some(content));
    assert!(journal.verify(tenant, session).await.unwrap().unwrap().is_sound());
}

#[tokio::test]
async fn the_answer_to_an_op_has_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    let commits = commit_all(&journal, [script.create(), script.submit("hello"), script.start("hello")]).await;
    let accepted = commits[1].accepted.clone().unwrap();
    assert_eq!((accepted.ordinal, accepted.seq, accepted.already), (Ordinal(2), None, false));
    let seqs: Vec<_> = commits[2].records.iter().map(|record| record.seq).collect();
    assert_eq!(seqs, [Some(Seq(1)), None], "turn_started is a feed event, step_opened is none");

    let (_, again) = journal.submission(&script.tenant, &script.session, &accepted.submission).await.unwrap().unwrap();
    assert_eq!(again, Accepted { already: true, ..accepted });
}

#[tokio::test]
async fn a_transition_on_an_old_state_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    commit_all(&journal, [script.create()]).await;
    let mut other = script.clone();
    commit_all(&journal, [script.submit("first")]).await;

    let mut late = other.submit("too late");
    late.submission.as_mut().unwrap().submission = "another-op".parse().unwrap();
    let error = refusal(&journal, late).await;
    assert_eq!(error, CommitError::Conflict { expected: Ordinal(1), found: Ordinal(2) });
    assert_eq!(head(&journal, &script).await, Ordinal(2));
    let mut absent = Script::new("absent");
    absent.create();
    let error = refusal(&journal, absent.submit("to nobody")).await;
    assert_eq!(error, CommitError::Conflict { expected: Ordinal(1), found: Ordinal(0) });
}

#[tokio::test]
async fn a_submission_is_accepted_once() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    let commits = commit_all(&journal, [script.create(), script.submit("hello")]).await;
    let first = commits[1].accepted.clone().unwrap();

    let mut again = script.submit("hello");
    again.submission.as_mut().unwrap().submission = first.submission.clone();
    let digest = again.submission.as_ref().unwrap().digest;
    let error = refusal(&journal, again).await;
    let accepted = Accepted { already: true, ..first.clone() };
    assert_eq!(error, CommitError::Duplicate { submission: first.submission, digest, accepted });
    assert_eq!(head(&journal, &script).await, Ordinal(2));
}

#[tokio::test]
async fn contradictions_are_refused_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    commit_all(&journal, [script.create(), script.submit("hello"), script.start("hello")]).await;

    let integrity = |error: &CommitError| matches!(error, CommitError::Integrity { .. });
    let mut empty = script.clone().finish("x");
    empty.records.clear();
    let mut skewed = script.clone().finish("x");
    skewed.records.pop();
    let mut twice = script.clone().finish("x");
    twice.unqueued.push(mainstay_protocol::AcceptedOrdinal(1));
    let mut rewritten = script.clone().finish("x");
    rewritten.items[0].id = mainstay_protocol::ItemId(1);
    for transition in [empty, skewed, twice, rewritten] {
        let error = refusal(&journal, transition).await;
        assert!(integrity(&error), "{error}");
    }
    assert_eq!(head(&journal, &script).await, Ordinal(4));
    commit_all(&journal, [script.finish("fine")]).await;
}

#[tokio::test]
async fn plugin_state_is_part_of_its_transition() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    let plugin = PluginName::new("files").unwrap();
    let write = |key: &str, value: Option<&[u8]>| StateWrite {
        plugin: plugin.clone(),
        key: key.to_owned(),
        value: value.map(<[u8]>::to_vec),
    };
    let mut first = script.create();
    first.plugin_state = vec![
        write("a/1", Some(b"one")),
        write("a/2", Some(b"two")),
        write("b", Some(b"")),
        write("a/1", Some(b"eins")),
    ];
    let mut second = script.submit("x");
    second.plugin_state = vec![write("a/2", None)];
    commit_all(&journal, [first, second]).await;

    let (tenant, session) = (&script.tenant, &script.session);
    let value = |key: &'static str| journal.state_value(tenant, session, &plugin, key);
    assert_eq!(value("a/1").await.unwrap().as_deref(), Some(&b"eins"[..]));
    assert_eq!(value("a/2").await.unwrap(), None);
    assert_eq!(value("b").await.unwrap().as_deref(), Some(&b""[..]));
    assert_eq!(journal.state_keys(tenant, session, &plugin, "a/").await.unwrap(), ["a/1"]);
    assert_eq!(journal.state_keys(tenant, session, &plugin, "").await.unwrap(), ["a/1", "b"]);
}
