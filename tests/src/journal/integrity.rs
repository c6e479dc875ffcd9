//! The rules that every transition keeps: a violation is one typed error, and nothing of the transition is left.

mod columns;

use std::path::Path;

use mainstay_journal::{CommitError, Journal, SqliteJournal, StateWrite, Transition, testing};
use mainstay_protocol::{
    AcceptedOrdinal, ItemId, Ordinal, PluginName, Timestamp,
    op::Labels,
    record::{RecordBody, v1::SessionRetried},
};
use mainstay_session::{State, evolve};

use super::script::{Script, commit_all, head, open, refusal};

/// Rows of all tables that a transition writes to, and of the feed's numbers.
fn rows(folder: &Path) -> i64 {
    let tables = [
        "sessions",
        "heads",
        "records",
        "feed",
        "items",
        "queue",
        "submissions",
        "plugin_state",
        "executions",
        "kinds",
    ];
    let counts = tables.map(|table| format!("(SELECT count(*) FROM {table})")).join(" + ");
    testing::query_number(folder, &format!("SELECT {counts} + (SELECT ifnull(max(seq), 0) FROM sqlite_sequence)"))
        .unwrap()
}

fn retried() -> RecordBody {
    RecordBody::SessionRetried(SessionRetried { cause: "requested".to_owned() })
}

fn number(folder: &Path, sql: &str) -> i64 {
    testing::query_number(folder, sql).unwrap()
}

/// The state of some records, as far along as it must be.
fn state_of(bodies: impl IntoIterator<Item = RecordBody>, head: Ordinal) -> State {
    let mut state = State::default();
    bodies.into_iter().for_each(|body| evolve(&mut state, &body));
    while state.head() < head {
        evolve(&mut state, &retried());
    }
    state
}

fn bodies(transitions: &[Transition]) -> Vec<RecordBody> {
    transitions.iter().flat_map(|transition| transition.records.iter().map(|record| record.body.clone())).collect()
}

/// A session of one turn, and the journal that holds it.
async fn one_turn(folder: &Path) -> (SqliteJournal, Script, Vec<Transition>) {
    let (journal, mut script) = (open(folder), Script::new("notes"));
    let mut transitions = vec![script.create()];
    transitions.extend(script.turn_without_tools("hello", "hi"));
    commit_all(&journal, transitions.clone()).await;
    (journal, script, transitions)
}

/// Expects the refusal of a transition by a rule, and that nothing of it is there.
async fn check(journal: &SqliteJournal, script: &Script, transition: Transition, expected: &str) {
    let (before, at) = (rows(journal.folder()), head(journal, script).await);
    let error = refusal(journal, transition).await;
    assert!(!error.is_retryable());
    assert!(matches!(error, CommitError::Integrity { rule } if rule == expected), "{error} is not: {expected}");
    assert_eq!((rows(journal.folder()), head(journal, script).await), (before, at), "{expected}");
    let report = journal.verify(&script.tenant, &script.session).await.unwrap().unwrap();
    assert!(report.is_sound(), "{expected}: {report:?}");
}

/// Commits on a state that counts less than the one before: that of the same records, each changed or left out.
async fn check_falls(change: fn(RecordBody) -> Option<RecordBody>, expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script, transitions) = one_turn(folder.path()).await;
    let mut transition = script.clone().records(vec![retried()]);
    transition.state = state_of(bodies(&transitions).into_iter().filter_map(change), transition.state.head());
    check(&journal, &script, transition, expected).await;
    commit_all(&journal, [script.submit("and it goes on")]).await;
}

#[tokio::test]
async fn what_counts_does_not_fall() {
    let without_end = |body: RecordBody| body.turn_ended().is_none().then_some(body);
    check_falls(without_end, "the count of turns does not fall").await;
    let without_messages = |body| (!matches!(body, RecordBody::MessageAccepted(_))).then_some(body);
    check_falls(without_messages, "the count of accepted messages does not fall").await;
    let without_items = |body| match body {
        RecordBody::TurnStarted(mut started) => {
            started.items = None;
            Some(RecordBody::TurnStarted(started))
        }
        RecordBody::StepCompleted(mut completed) => {
            completed.items = None;
            Some(RecordBody::StepCompleted(completed))
        }
        other => Some(other),
    };
    check_falls(without_items, "the last item of a session does not go back").await;
}

#[tokio::test]
async fn aborted_turns_and_the_context_epoch_do_not_fall() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    let mut transitions = vec![script.create()];
    for group in ["openai", "anthropic"] {
        transitions.extend([script.submit("hello"), script.start("hello")]);
        let mut before = script.clone();
        let mut last = script.finish("hi");
        last.records[0].body = change_group(last.records[0].body.clone(), group);
        last.records[1].body = aborted(last.records[1].body.clone());
        script.state = before.records(bodies(std::slice::from_ref(&last))).state;
        last.state = script.state.clone();
        transitions.push(last);
    }
    commit_all(&journal, transitions.clone()).await;
    let columns = "SELECT turns * 100 + aborted * 10 + context_epoch FROM heads";
    assert_eq!(number(folder.path(), columns), 221);

    let head = script.state.head().next();
    let all = bodies(&transitions);
    let completed = state_of(all.clone().into_iter().map(completed), head);
    let mut transition = script.clone().records(vec![retried()]);
    transition.state = completed;
    check(&journal, &script, transition, "the count of aborted turns does not fall").await;
    let one_group = state_of(all.into_iter().map(|body| change_group(body, "openai")), head);
    let mut transition = script.clone().records(vec![retried()]);
    transition.state = one_group;
    check(&journal, &script, transition, "the context epoch does not fall").await;
}

fn change_group(body: RecordBody, group: &str) -> RecordBody {
    match body {
        RecordBody::StepCompleted(mut completed) => {
            if let Some(owner) = &mut completed.context_owner {
                group.clone_into(&mut owner.context_group);
            }
            RecordBody::StepCompleted(completed)
        }
        other => other,
    }
}

fn aborted(body: RecordBody) -> RecordBody {
    match body {
        RecordBody::TurnCompleted(ended) => RecordBody::TurnAborted(ended),
        other => other,
    }
}

fn completed(body: RecordBody) -> RecordBody {
    match body {
        RecordBody::TurnAborted(ended) => RecordBody::TurnCompleted(ended),
        other => other,
    }
}

#[tokio::test]
async fn what_a_session_is_does_not_change() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, script, _) = one_turn(folder.path()).await;
    let again = |change: fn(&mut Labels)| {
        let RecordBody::SessionConfigured(mut configured) = bodies(&[Script::new("notes").create()]).remove(0) else {
            panic!("a session begins with its configuration");
        };
        configured.opening = mainstay_protocol::record::v1::Opening::Resumed;
        change(&mut configured.labels);
        RecordBody::SessionConfigured(configured)
    };
    let other = again(|labels| drop(labels.0.insert("owner".to_owned(), "somebody else".to_owned())));
    let same = again(|_| {});
    let none = again(|labels| labels.0.clear());

    let labels = "a session's labels are set once";
    check(&journal, &script, script.clone().records(vec![other.clone()]), labels).await;
    check(&journal, &script, script.clone().records(vec![other, same.clone()]), labels).await;
    let created = bodies(&[Script::new("notes").create()]);
    check(&journal, &script, script.clone().records(created), "a session is created once, by its first record").await;
    commit_all(&journal, [script.clone().records(vec![same, none])]).await;
    let opened = journal.open_session(&script.tenant, &script.session).await.unwrap().unwrap();
    assert_eq!((opened.created_at, &*opened.labels.0["owner"]), (Timestamp(1_700_000_000_001), "someone"));
}

#[tokio::test]
async fn ids_and_numbers_fit() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script, _) = one_turn(folder.path()).await;
    let started = |script: &Script| {
        let mut next = script.clone();
        next.submit("more");
        next.start("more")
    };
    // The message of this one was never committed.
    let mut skipped = started(&script);
    skipped.expected = script.state.head();
    let head = "the state is the one after the transition's last record";
    check(&journal, &script, skipped, head).await;

    commit_all(&journal, [script.submit("more")]).await;
    let mut rewritten = script.clone().start("more");
    rewritten.items[0].id = ItemId(2);
    check(&journal, &script, rewritten, "items are appended").await;
    let mut missing = script.clone().start("more");
    missing.items.clear();
    let counted = "the last item of the state is the last one that was appended";
    check(&journal, &script, missing, counted).await;
    let mut unnamed = script.clone().start("more");
    unnamed.items.push(mainstay_protocol::content::Item { id: ItemId(9), ..unnamed.items[0].clone() });
    check(&journal, &script, unnamed, counted).await;
    let mut absent = script.clone().start("more");
    absent.unqueued.push(AcceptedOrdinal(7));
    check(&journal, &script, absent, "a message that leaves the queue was in it").await;

    let mut old = script.clone().submit("again");
    old.queued[0].accepted = AcceptedOrdinal(1);
    let order = "messages enter the queue in the order of their numbers";
    check(&journal, &script, old, order).await;
    let mut far = script.clone().submit("again");
    far.queued[0].accepted = AcceptedOrdinal(9);
    check(&journal, &script, far, "the state counts the messages that enter the queue").await;
    let mut answer = script.clone().submit("again");
    answer.submission.as_mut().unwrap().accepted = Some(AcceptedOrdinal(2));
    check(&journal, &script, answer, "an op is answered with the number of its own message").await;
}

#[tokio::test]
async fn turns_come_one_after_the_other_and_end_once() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script, transitions) = one_turn(folder.path()).await;
    let end = bodies(&transitions).pop().unwrap();
    check(&journal, &script, script.clone().records(vec![end.clone()]), "a turn ends once, while it runs").await;
    commit_all(&journal, [script.submit("more"), script.start("more")]).await;
    check(&journal, &script, script.clone().records(vec![end]), "the turn that ends is the one that runs").await;
    let begin = RecordBody::TurnStarted(match bodies(&[script.clone().start("x")]).remove(0) {
        RecordBody::TurnStarted(started) => mainstay_protocol::record::v1::TurnStarted { items: None, ..started },
        _ => panic!("a turn begins with its record"),
    });
    check(&journal, &script, script.clone().records(vec![begin]), "a turn begins when none runs").await;
    commit_all(&journal, [script.finish("well")]).await;
}

#[tokio::test]
async fn the_hosts_own_session_is_written_by_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script) = (open(folder.path()), Script::new("notes"));
    script.tenant = mainstay_journal::host_tenant();
    let error = refusal(&journal, script.create()).await;
    assert!(matches!(error, CommitError::Integrity { .. }), "{error}");
    assert_eq!(number(folder.path(), "SELECT count(*) FROM sessions"), 0);
}

#[tokio::test]
async fn a_violation_at_the_end_takes_everything_of_its_transition_back() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script, _) = one_turn(folder.path()).await;
    commit_all(&journal, [script.submit("more")]).await;
    let mut whole = script.clone().start("more");
    whole.plugin_state.push(StateWrite {
        plugin: PluginName::new("files").unwrap(),
        key: "k".to_owned(),
        value: Some(vec![1]),
    });
    let mut broken = whole.clone();
    broken.unqueued.push(AcceptedOrdinal(7));
    let events = number(folder.path(), "SELECT count(*) FROM feed");
    check(&journal, &script, broken, "a message that leaves the queue was in it").await;
    assert_eq!(number(folder.path(), "SELECT count(*) FROM feed"), events, "no event of it is there");
    commit_all(&journal, [whole]).await;
    assert_eq!(number(folder.path(), "SELECT count(*) FROM feed"), events + 1);
}

#[tokio::test]
async fn the_same_keyed_transition_twice_adds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (journal, mut script, _) = one_turn(folder.path()).await;
    let keyed = script.submit("once");
    let first = commit_all(&journal, [keyed.clone()]).await[0].accepted.clone().unwrap();
    let before = rows(folder.path());
    let error = refusal(&journal, keyed.clone()).await;
    let CommitError::Duplicate { submission, digest, accepted } = error else { panic!("{error}") };
    assert_eq!((submission, digest), (first.submission.clone(), keyed.submission.unwrap().digest));
    assert_eq!((accepted.ordinal, accepted.accepted, accepted.already), (first.ordinal, first.accepted, true));
    assert_eq!((rows(folder.path()), head(&journal, &script).await), (before, Ordinal(7)));
}
