//! E04, E06, E09, E10: what the feed tells of a turn.

use mainstay_protocol::{
    ElicitationId, StepIndex,
    feed::{FeedBody, InputResolution, Question as Asked},
    record::v1::{HookNotes, Reason, SessionFault, StopReason, TurnOutcome},
};
use mainstay_session::{Command, ElicitationAnswer, InputRuling, Question};

use super::session::{Session, attempt, ended, finish, start, submission, submit, turn, whole_turn};

const FORM: &str = r#"{"title":"Which branch?","fields":[{"name":"branch","type":"text"}]}"#;

fn fault(code: &str, message: &str) -> Command {
    Command::Fault {
        fault: SessionFault {
            code: code.to_owned(),
            message: message.to_owned(),
            turn: None,
            build: None,
            stderr: String::new(),
            parks: false,
        },
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e04_a_form_is_asked_and_answered_and_a_fault_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::create(folder.path()).await;
    let elicitation = ElicitationId::new("form-1").unwrap();
    session.commit([submit("message")].into_iter().chain(start("message"))).await.unwrap();
    let question = Question {
        turn: turn(),
        elicitation: elicitation.clone(),
        step: None,
        call: None,
        request: FORM.to_owned(),
        build: None,
    };
    session.commit([Command::AskInput(question)]).await.unwrap();
    assert_eq!(session.state.pending_elicitations().len(), 1);
    let answer = ElicitationAnswer::Accept(r#"{"branch":"main"}"#.to_owned());
    session.commit([Command::AnswerInput { submission: submission("answer"), elicitation, answer }]).await.unwrap();
    session.commit(finish()).await.unwrap();
    let page = session.decide([fault("adapter-lost", "the adapter went away")]).unwrap();
    session.apply(page, Some("fault-1")).await.unwrap();
    let again = session.decide([fault("adapter-lost", "the adapter went away")]).unwrap();
    session.apply(again, Some("fault-1")).await.unwrap_err();
    let expected = ["turn_started", "input_required", "input_resolved", "turn_ended", "session_fault"];
    assert_eq!(session.kinds().await, expected);
    let events = session.events().await;
    let FeedBody::InputRequired(asked) = &events[1].body else { panic!("{:?}", events[1]) };
    assert_eq!((asked.turn.clone(), asked.accepted.map(|accepted| accepted.0)), (turn(), Some(1)));
    assert!(matches!(&asked.question, Asked::Form { request } if request == FORM), "{asked:?}");
    let FeedBody::InputResolved(resolved) = &events[2].body else { panic!("{:?}", events[2]) };
    assert_eq!((resolved.input.as_str(), resolved.resolution), ("form-1", InputResolution::Accepted));
    assert!(session.state.pending_elicitations().is_empty() && session.state.pending_approvals().is_empty());
    assert!(session.state.turn().is_none());
}

fn fail_step(stop: StopReason) -> Command {
    Command::FailStep {
        turn: turn(),
        step: StepIndex(0),
        attempts: vec![attempt()],
        stop,
        reason: Reason::new("overloaded", "try again later"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e06_a_provider_error_fails_the_turn_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::create(folder.path()).await;
    let page = [submit("command-1")].into_iter().chain(start("command-1"));
    session.commit(page.chain([fail_step(StopReason::ProviderError)])).await.unwrap();
    let events = session.events().await;
    assert_eq!(session.kinds().await, ["turn_started", "turn_ended"]);
    let end = ended(&events);
    assert_eq!(end.outcome, TurnOutcome::Failed);
    assert_eq!((end.command.as_str(), end.accepted.0), ("command-1", 1));
    assert_eq!(end.stop_reason.map(StopReason::as_str), Some("provider_error"));
}

#[tokio::test(flavor = "multi_thread")]
async fn e09_each_way_to_end_is_an_outcome_of_its_own_without_an_error_event() {
    let reject = Command::StartTurn {
        turn: turn(),
        submission: submission("message"),
        ruling: InputRuling::Reject(Reason::new("off-topic", "not about this project")),
        hooks: HookNotes::default(),
    };
    let stop = Command::StopTurn { turn: turn(), stop: StopReason::HostStopped, message: "shutting down".to_owned() };
    let interrupt = Command::Interrupt { submission: submission("interrupt"), turn: turn() };
    let started = || start("message").to_vec();
    let with = |command| started().into_iter().chain([command]).collect::<Vec<_>>();
    let cases = [
        (with(interrupt), TurnOutcome::Cancelled, StopReason::CancelledByPerson),
        (with(fail_step(StopReason::QuotaExceeded)), TurnOutcome::Failed, StopReason::QuotaExceeded),
        (vec![reject], TurnOutcome::Rejected, StopReason::RejectedByHook),
        (with(stop), TurnOutcome::Interrupted, StopReason::HostStopped),
    ];
    for (commands, outcome, reason) in cases {
        let folder = tempfile::tempdir().unwrap();
        let mut session = Session::create(folder.path()).await;
        session.commit([submit("message")].into_iter().chain(commands)).await.unwrap();
        assert_eq!(session.kinds().await, ["turn_started", "turn_ended"], "{outcome:?}");
        let events = session.events().await;
        let end = ended(&events);
        assert_eq!((end.outcome, end.stop_reason), (outcome, Some(reason)));
        assert_eq!(session.state.last_outcome(), Some(outcome));
        assert!(session.state.turn().is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e10_a_fault_after_a_completed_turn_leaves_it_completed() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::create(folder.path()).await;
    session.commit(whole_turn("message")).await.unwrap();
    session.commit([fault("adapter-lost", "the adapter went away")]).await.unwrap();
    assert_eq!(session.kinds().await, ["turn_started", "turn_ended", "session_fault"]);
    let events = session.events().await;
    assert_eq!(ended(&events).outcome, TurnOutcome::Completed);
    assert_eq!(session.state.last_outcome(), Some(TurnOutcome::Completed));
}
