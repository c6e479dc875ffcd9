//! Forms, from question to answer.

use mainstay_protocol::{
    AcceptedOrdinal, CallIndex, Digest, ElicitationId, PluginName, StepIndex,
    content::Part,
    model::FinishReason,
    op::{MAX_FORM_BYTES, Refusal},
    record::{
        RecordBody,
        v1::{Build, CallOutcome, ElicitationResolution, HookNotes, StopReason},
    },
    tool::{Effect as EffectClass, Execution},
};

use crate::{
    Command, Effect, ElicitationAnswer, FinishedCall, Question, Refused, RuledCall, Ruling, ToolFacts, pending,
    testing::{Story, command, kinds, turn},
};

fn form(id: &str) -> ElicitationId {
    ElicitationId::new(id).expect("legal")
}

fn question(id: &str, request: &str) -> Question {
    let (elicitation, request) = (form(id), request.to_owned());
    Question { turn: turn(), elicitation, step: None, call: None, request, build: None }
}

fn ask(id: &str) -> Command {
    Command::AskInput(question(id, r#"{"title":"who"}"#))
}

fn answer(id: &str, values: Option<&str>) -> Command {
    let answer = values.map_or(ElicitationAnswer::Decline, |values| ElicitationAnswer::Accept(values.to_owned()));
    Command::AnswerInput { submission: command("answer"), elicitation: form(id), answer }
}

fn refusal(result: Result<Vec<RecordBody>, Refused>) -> Refusal {
    match result {
        Err(Refused::Op(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_form_is_asked_and_answered_once_and_the_turn_waits_for_it() {
    let mut story = Story::in_a_turn();
    let owed = pending(&story.state);
    let records = story.told(ask("one"));
    let RecordBody::ElicitationRequested(asked) = &records[0] else { panic!("{records:?}") };
    assert_eq!(
        (&asked.turn, asked.accepted, asked.request.as_str()),
        (&turn(), AcceptedOrdinal(1), r#"{"title":"who"}"#)
    );
    assert_eq!((pending(&story.state), story.state.summary().phase), (None, "waiting"));
    assert!(matches!(story.tell(ask("one")), Err(Refused::Stale(_))), "the same question is not asked twice");
    let records = story.told(answer("one", Some(r#"{"name":"me"}"#)));
    let RecordBody::ElicitationResolved(resolved) = &records[0] else { panic!("{records:?}") };
    assert_eq!((resolved.resolution, resolved.accepted), (ElicitationResolution::Accepted, AcceptedOrdinal(1)));
    assert_eq!(resolved.values.as_deref(), Some(r#"{"name":"me"}"#));
    assert_eq!((pending(&story.state), story.state.summary().phase), (owed, "running"));
    let again = Refusal::ElicitationResolved { elicitation: form("one") };
    assert_eq!(refusal(story.tell(answer("one", None))), again);
    let unknown = Refusal::UnknownElicitation { elicitation: form("two") };
    assert_eq!(refusal(story.tell(answer("two", None))), unknown);
    assert!(matches!(story.tell(ask("one")), Err(Refused::Stale(_))), "nor after its answer");
}

#[test]
fn forms_and_answers_are_objects_of_a_bounded_size() {
    let mut story = Story::in_a_turn();
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_FORM_BYTES));
    for bad in ["", "[]", "{", "1", "{}{}", &long] {
        let asked = story.tell(Command::AskInput(question("one", bad)));
        assert!(matches!(refusal(asked), Refusal::InvalidForm { .. }));
    }
    story.told(ask("one"));
    for bad in ["[1]", "x", &long] {
        assert!(matches!(refusal(story.tell(answer("one", Some(bad)))), Refusal::InvalidForm { .. }));
    }
    assert_eq!(story.state.pending_elicitations().len(), 1, "a refused answer resolves nothing");
    let records = story.told(answer("one", None));
    assert!(matches!(&records[0], RecordBody::ElicitationResolved(resolved)
        if resolved.resolution == ElicitationResolution::Declined && resolved.values.is_none()));
}

#[test]
fn the_end_of_a_turn_takes_its_forms_away() {
    let interrupt = |story: &mut Story| story.told(Command::Interrupt { submission: command("stop"), turn: turn() });
    let fail = |story: &mut Story| {
        let stop = StopReason::RequiredBuildMissing;
        story.told(Command::FailTurn { turn: turn(), stop, message: "gone".to_owned() })
    };
    type Ends = fn(&mut Story) -> Vec<RecordBody>;
    for (ends, kind) in [(interrupt as Ends, "turn_aborted"), (fail as Ends, "turn_failed")] {
        let mut story = Story::in_a_step();
        story.told(ask("one"));
        let records = ends(&mut story);
        assert_eq!(kinds(&records), ["step_completed", "elicitation_resolved", kind]);
        assert!(matches!(&records[1], RecordBody::ElicitationResolved(resolved)
            if resolved.resolution == ElicitationResolution::Dismissed));
        assert!(story.state.pending_elicitations().is_empty());
        let resolved = Refusal::ElicitationResolved { elicitation: form("one") };
        assert_eq!(refusal(story.tell(answer("one", None))), resolved);
        assert!(matches!(story.tell(ask("two")), Err(Refused::Stale(_))), "no turn, no question");
    }
}

#[test]
fn a_restart_asks_again_under_the_same_id_and_leaves_the_step_open() {
    let mut story = Story::in_a_step();
    story.told(ask("one"));
    let resume = Command::Resume { route: None, metadata: None, requires: None, retry_open_step: false };
    assert_eq!(kinds(&story.told(resume)), ["session_configured"]);
    assert_eq!(story.state.pending_elicitations()[0].elicitation, form("one"));
    story.told(answer("one", Some("{}")));
    let (turn, step) = (turn(), StepIndex(0));
    assert_eq!(pending(&story.state), Some(Effect::CallModel { turn, step }));
}

/// A call that asks has ended this start of it. Once the form is resolved it is planned again, and runs although it may run only
/// once: what its first start did is known.
#[test]
fn a_call_that_asks_runs_again_after_the_answer_also_across_a_restart() {
    let mut story = Story::in_a_step();
    story.answers(1, FinishReason::ToolCalls);
    let decide = || {
        let tool = ToolFacts {
            build: Build { plugin: PluginName::new("tools").expect("legal"), sha256: Digest::ZERO },
            effect: EffectClass::AtMostOnce,
            execution: Execution::Parallel,
            definition: Digest::ZERO,
            arguments: Digest::ZERO,
        };
        let calls = vec![RuledCall { index: CallIndex(0), ruling: Ruling::Allow(tool) }];
        Command::DecideCalls { turn: turn(), step: StepIndex(0), calls, hooks: HookNotes::default() }
    };
    assert_eq!(kinds(&story.told(decide())), ["calls_decided", "run_started"]);
    let mut asks = question("one", "{}");
    (asks.step, asks.call) = (Some(StepIndex(0)), Some(CallIndex(0)));
    story.told(Command::AskInput(asks));
    let resume = Command::Resume { route: None, metadata: None, requires: None, retry_open_step: false };
    assert_eq!(kinds(&story.told(resume)), ["session_configured"], "nothing of the call is unknown");
    story.told(answer("one", Some("{}")));
    let calls = vec![CallIndex(0)];
    assert_eq!(pending(&story.state), Some(Effect::DecideCalls { turn: turn(), step: StepIndex(0), calls }));
    let records = story.told(decide());
    let RecordBody::RunStarted(run) = &records[1] else { panic!("{records:?}") };
    assert_eq!(run.calls[0].attempt, 2);
    let result = FinishedCall {
        index: CallIndex(0),
        content: vec![Part::Text("done".to_owned())],
        is_error: false,
        extras: None,
        whole: None,
        outcome: CallOutcome::Returned,
        build: None,
        ms: 1,
    };
    story.told(Command::AcceptResults { turn: turn(), step: StepIndex(0), results: vec![result] });
    let mut late = question("two", "{}");
    (late.step, late.call) = (Some(StepIndex(0)), Some(CallIndex(0)));
    assert!(matches!(story.tell(Command::AskInput(late)), Err(Refused::Stale(_))), "a call with a result asks nothing");
}
