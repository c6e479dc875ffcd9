//! Each way in which a turn ends has a typed reason and its outcome.

use mainstay_protocol::{
    StepIndex,
    model::FinishReason,
    record::{
        RecordBody,
        v1::{HookNotes, Reason, SessionFault, StopReason, TurnOutcome},
    },
};

use crate::{
    Command, InputRuling,
    testing::{Story, command, kinds, turn},
};

#[track_caller]
fn check(story: &Story, outcome: TurnOutcome, stop: Option<StopReason>) {
    let last = story.records.iter().rev().find(|record| record.turn_ended().is_some()).expect("an end");
    assert_eq!(last.turn_outcome(), Some(outcome));
    assert_eq!(last.turn_ended().and_then(|end| end.stop), stop);
    assert_eq!(story.state.last_outcome(), Some(outcome));
}

#[test]
fn an_interrupt_cancels() {
    let mut story = Story::in_a_step();
    story.told(Command::Interrupt { submission: command("stop"), turn: turn() });
    check(&story, TurnOutcome::Cancelled, Some(StopReason::CancelledByPerson));
}

#[test]
fn the_runtime_interrupts() {
    let mut story = Story::in_a_step();
    story.told(Command::StopTurn { turn: turn(), stop: StopReason::HostStopped, message: "leaving".to_owned() });
    check(&story, TurnOutcome::Interrupted, Some(StopReason::HostStopped));
    assert_eq!(story.state.run_counts(), (1, 1));
    assert!(
        story.tell(Command::StopTurn { turn: turn(), stop: StopReason::HostStopped, message: String::new() }).is_err()
    );
}

#[test]
fn a_restart_interrupts() {
    let mut story = Story::in_a_step();
    story.told(Command::Resume { route: None, metadata: None, requires: None, retry_open_step: false });
    check(&story, TurnOutcome::Interrupted, Some(StopReason::HostRestarted));
}

#[test]
fn a_hook_rejects() {
    let mut story = Story::new();
    let submission = command("message");
    let content = vec![mainstay_protocol::content::Part::Text("hello".to_owned())];
    let delivery = mainstay_protocol::op::Delivery::Queue;
    story.told(Command::Submit { submission: submission.clone(), content, delivery });
    let ruling = InputRuling::Reject(Reason::new("rude", "no"));
    story.told(Command::StartTurn { turn: turn(), submission, ruling, hooks: HookNotes::default() });
    check(&story, TurnOutcome::Rejected, Some(StopReason::RejectedByHook));
}

#[test]
fn a_step_fails_for_the_reason_that_it_is_given() {
    for stop in [StopReason::ProviderError, StopReason::QuotaExceeded] {
        let mut story = Story::in_a_step();
        let reason = Reason::new("overloaded", "completed");
        story.told(Command::FailStep { turn: turn(), step: StepIndex(0), attempts: Vec::new(), stop, reason });
        check(&story, TurnOutcome::Failed, Some(stop));
    }
}

#[test]
fn a_cut_output_completes_and_says_why() {
    let cases = [
        (FinishReason::Complete, None),
        (FinishReason::Length, Some(StopReason::OutputLength)),
        (FinishReason::Filtered, Some(StopReason::OutputFiltered)),
    ];
    for (finish, stop) in cases {
        let mut story = Story::in_a_step();
        story.answers(0, finish);
        story.told(Command::FinishTurn { turn: turn(), hooks: HookNotes::default() });
        check(&story, TurnOutcome::Completed, stop);
    }
}

#[test]
fn a_turn_that_fails_with_calls_gives_each_its_one_result() {
    let mut story = Story::in_a_step();
    story.answers(2, FinishReason::ToolCalls);
    let stop = StopReason::RequiredBuildMissing;
    let records = story.told(Command::FailTurn { turn: turn(), stop, message: "another build".to_owned() });
    assert_eq!(kinds(&records), ["call_ended", "call_ended", "turn_failed"]);
    check(&story, TurnOutcome::Failed, Some(stop));
}

#[test]
fn a_fault_after_a_completed_turn_leaves_it_completed() {
    let mut story = Story::in_a_step();
    story.answers(0, FinishReason::Complete);
    story.told(Command::FinishTurn { turn: turn(), hooks: HookNotes::default() });
    let before = story.state.clone();
    let fault = SessionFault {
        code: "runtime-failed".to_owned(),
        message: "it went away".to_owned(),
        turn: Some(turn()),
        build: None,
        stderr: String::new(),
        parks: false,
    };
    assert!(matches!(&story.told(Command::Fault { fault })[..], [RecordBody::SessionFault(_)]));
    check(&story, TurnOutcome::Completed, None);
    assert_eq!((story.state.run_counts(), story.state.is_parked()), (before.run_counts(), false));
}
