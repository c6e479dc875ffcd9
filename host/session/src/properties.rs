//! Properties of the core over random histories: ops in any state, effects with any outcome, and restarts in between. What is
//! checked are the invariants by name, on the records alone.

mod around;

use std::collections::BTreeMap;

use mainstay_protocol::{
    ApprovalId, CallIndex, Digest, PluginName, RouteName, StepIndex, SubmissionId, Timestamp, TurnId,
    content::{ItemBody, Message, Part, Role, ToolCall},
    model::{Finish, FinishReason},
    op::{ApprovalAnswer, Delivery, Labels},
    record::{
        RecordBody,
        v1::{Build, CallOutcome, ContextOwner, HookNotes, Reason},
    },
    tool::{Effect as EffectClass, Execution},
};
use proptest::prelude::*;

use self::around::{Around, around};
use crate::{
    Command, Decision, Effect, FinishedCall, InputRuling, Output, OutputItem, RuledCall, Ruling, State, ToolFacts,
    decide, evolve, pending,
};

/// What happens next in a history. The numbers choose among what is possible then.
#[derive(Clone, Debug)]
enum Happening {
    /// What is owed is done, with the outcome that the numbers choose.
    Effect(u8, u8),
    Submit,
    Answer(bool),
    Interrupt,
    /// The host dies and another one takes the session up.
    Restart(bool),
    /// Something beside the steps.
    Around(Around),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        8 => (any::<u8>(), any::<u8>()).prop_map(|(one, two)| Happening::Effect(one, two)),
        2 => Just(Happening::Submit),
        2 => any::<bool>().prop_map(Happening::Answer),
        1 => Just(Happening::Interrupt),
        1 => any::<bool>().prop_map(Happening::Restart),
        4 => around().prop_map(Happening::Around),
    ]
}

/// A session with its journal.
#[derive(Default)]
struct World {
    state: State,
    records: Vec<RecordBody>,
    results: BTreeMap<(TurnId, StepIndex, CallIndex), u32>,
    calls: Vec<(TurnId, StepIndex, CallIndex)>,
    submitted: u64,
    made: u64,
}

impl World {
    fn new() -> Self {
        let mut world = Self::default();
        let route = RouteName::new("default").expect("legal");
        world.apply(Command::Create { route, labels: Labels::default(), metadata: None, requires: None });
        world
    }

    fn id<T>(&mut self, make: fn(&str) -> Result<T, mainstay_protocol::InvalidId>) -> T {
        self.made += 1;
        make(&format!("id-{}", self.made)).expect("legal")
    }

    /// Decides and, if accepted, commits.
    fn apply(&mut self, command: Command) -> bool {
        let Ok(decision) = decide(&self.state, command, Timestamp(1)) else { return false };
        self.commit(decision);
        true
    }

    fn commit(&mut self, decision: Decision) {
        let mut last = self.state.last_item;
        for item in &decision.items {
            assert!(item.id > last, "item ids rise");
            last = item.id;
        }
        assert_eq!(decision.state.last_item, last, "each item is named by a record");
        for record in decision.records {
            self.note(&record.body);
            self.records.push(record.body);
        }
        let snapshot = decision.state.snapshot();
        let restored = State::restore(&snapshot, decision.state.queue.iter().cloned().collect());
        assert_eq!(restored.expect("a snapshot"), decision.state, "a stored state is read back as it was");
        self.state = decision.state;
    }

    fn note(&mut self, record: &RecordBody) {
        match record {
            RecordBody::StepCompleted(step) => {
                let calls = (0..step.calls.len()).map(|index| CallIndex(u32::try_from(index).expect("few")));
                self.calls.extend(calls.map(|index| (step.turn.clone(), step.step, index)));
            }
            RecordBody::CallEnded(ended) => {
                *self.results.entry((ended.turn.clone(), ended.step, ended.index)).or_default() += 1;
            }
            _ => {}
        }
    }

    fn happen(&mut self, happening: &Happening) {
        match happening {
            Happening::Effect(one, two) => self.effect(*one, *two),
            Happening::Around(around) => self.around(around),
            Happening::Submit => {
                let submission = self.id(SubmissionId::new);
                let content = vec![Part::Text("hello".into())];
                let accepted = self.apply(Command::Submit { submission, content, delivery: Delivery::Queue });
                self.submitted += u64::from(accepted);
            }
            Happening::Answer(approve) => {
                let Some(asked) = self.state.pending_approvals().into_iter().next() else { return };
                let submission = self.id(SubmissionId::new);
                let answer = if *approve { ApprovalAnswer::Approve } else { ApprovalAnswer::Deny };
                let command = || Command::Approve {
                    submission: submission.clone(),
                    approval: asked.approval.clone(),
                    answer,
                    comment: None,
                };
                assert!(self.apply(command()), "an asked question can be answered");
                assert!(!self.apply(command()), "answers_resolve_exactly_once");
            }
            Happening::Interrupt => {
                let Some(turn) = self.state.turn().map(|turn| turn.id.clone()) else { return };
                let submission = self.id(SubmissionId::new);
                assert!(self.apply(Command::Interrupt { submission, turn }), "a running turn can be called off");
                assert!(self.state.turn().is_none());
            }
            Happening::Restart(retry_open_step) => {
                let resume =
                    Command::Resume { route: None, metadata: None, requires: None, retry_open_step: *retry_open_step };
                assert!(self.apply(resume), "a session can be taken up in every state");
                let waits = self.state.turn().is_some_and(crate::Turn::is_waiting);
                assert!(self.state.operation().is_none(), "an interrupted operation is ended");
                let busy = self.state.turn().is_some() || !self.state.queue.is_empty();
                assert_eq!(pending(&self.state).is_some(), busy && !waits, "recovery is the ordinary path");
            }
        }
    }

    fn effect(&mut self, one: u8, two: u8) {
        let Some(effect) = pending(&self.state) else { return };
        let command = self.outcome(effect, one, two);
        assert!(self.apply(command.clone()), "what is owed can be done: {command:?}");
    }

    fn outcome(&mut self, effect: Effect, one: u8, two: u8) -> Command {
        match effect {
            Effect::StartTurn(queued) => self.start_turn(queued.submission, one),
            Effect::OpenStep { turn, step } => Command::OpenStep { turn, step },
            Effect::CallModel { turn, step } => self.model(turn, step, one, two),
            Effect::DecideCalls { turn, step, calls } => self.rule(turn, step, &calls, one, two),
            Effect::RunCalls { turn, step, calls } => {
                let wanted = 1 + usize::from(one) % calls.len();
                let finished = |index| finished(index, two.is_multiple_of(3));
                let results = calls.iter().take(wanted).map(|run| finished(run.index)).collect();
                Command::AcceptResults { turn, step, results }
            }
            Effect::CheckStop { turn, .. } if one.is_multiple_of(4) => {
                let message = Message { role: Role::User, content: vec![Part::Text("go on".into())] };
                Command::ContinueTurn { turn, message, hooks: HookNotes::default() }
            }
            Effect::CheckStop { turn, .. } => Command::FinishTurn { turn, hooks: HookNotes::default() },
        }
    }

    fn start_turn(&mut self, submission: SubmissionId, choice: u8) -> Command {
        let turn = self.id(TurnId::new);
        let ruling = if choice.is_multiple_of(5) {
            InputRuling::Reject(Reason::new("no", "no"))
        } else {
            InputRuling::Accept { message: Message::user(vec![Part::Text("hello".into())]), annotations: Vec::new() }
        };
        Command::StartTurn { turn, submission, ruling, hooks: HookNotes::default() }
    }

    fn model(&mut self, turn: TurnId, step: StepIndex, one: u8, two: u8) -> Command {
        if one.is_multiple_of(9) {
            let stop = mainstay_protocol::record::v1::StopReason::ProviderError;
            return Command::FailStep { turn, step, attempts: Vec::new(), stop, reason: Reason::new("overloaded", "") };
        }
        let calls = if step.0 > 5 { 0 } else { usize::from(one) % 4 };
        let text = ItemBody::Message(Message { role: Role::Assistant, content: vec![Part::Text("text".into())] });
        let mut items = vec![OutputItem { body: text, private_part: None }];
        for number in 0..calls {
            let call = ToolCall { call_id: format!("c{number}"), name: "tool".into(), arguments: "{}".into() };
            items.push(OutputItem { body: ItemBody::ToolCall(call), private_part: None });
        }
        let group = if two.is_multiple_of(2) { "one" } else { "two" };
        let context_owner =
            ContextOwner { route: RouteName::new("default").expect("legal"), context_group: group.to_owned() };
        let reason = if step.0 < 3 && two.is_multiple_of(7) { FinishReason::Paused } else { FinishReason::Complete };
        let finish = Finish { reason, detail: String::new(), model: None, response_id: None };
        Command::AcceptOutput { turn, step, output: Output { items, attempts: Vec::new(), context_owner, finish } }
    }

    fn rule(&mut self, turn: TurnId, step: StepIndex, calls: &[CallIndex], one: u8, two: u8) -> Command {
        let ruled = calls.iter().map(|&index| {
            let choice = one.wrapping_add(two.wrapping_mul(u8::try_from(index.0).unwrap_or(0)));
            let ruling = match choice % 5 {
                0 => Ruling::Deny(Reason::new("denied", "no")),
                1 | 2 => {
                    let approval = self.id(ApprovalId::new);
                    Ruling::Ask { tool: tool(choice), reasons: Vec::new(), approval }
                }
                _ => Ruling::Allow(tool(choice)),
            };
            RuledCall { index, ruling }
        });
        Command::DecideCalls { turn, step, calls: ruled.collect(), hooks: HookNotes::default() }
    }

    fn check(&self) {
        let mut replayed = State::default();
        for record in &self.records {
            evolve(&mut replayed, record);
        }
        assert_eq!(replayed, self.state, "replay_equals_state");
        assert_eq!(self.state.head().0, self.records.len() as u64, "ordinals_have_no_gap");
        assert_eq!(self.state.accepted.0, self.submitted, "no_acknowledged_op_is_lost");
        let started = self.count(|record| matches!(record, RecordBody::TurnStarted(_)));
        let ended = self.count(|record| record.turn_ended().is_some());
        let running = u64::from(self.state.turn().is_some());
        assert_eq!(started, ended + running, "one_terminal_record_a_turn");
        assert_eq!(started + self.state.queue.len() as u64, self.submitted, "no_acknowledged_op_is_lost");
        assert!(self.results.values().all(|count| *count == 1), "one_result_a_call");
        let open = self.state.turn().map(|turn| (turn.id.clone(), turn.step));
        for (turn, step, index) in &self.calls {
            let is_open = open.as_ref().is_some_and(|(id, at)| id == turn && at == step);
            let has_result = self.results.contains_key(&(turn.clone(), *step, *index));
            assert!(is_open || has_result, "one_result_a_call: every_request_is_valid");
        }
        self.check_at_most_once();
        self.check_around();
    }

    fn count(&self, wanted: impl Fn(&RecordBody) -> bool) -> u64 {
        self.records.iter().filter(|record| wanted(record)).count() as u64
    }

    fn check_at_most_once(&self) {
        let mut intents: BTreeMap<_, u32> = BTreeMap::new();
        let mut asked: BTreeMap<_, u32> = BTreeMap::new();
        let mut once = BTreeMap::new();
        for record in &self.records {
            match record {
                RecordBody::CallsDecided(decided) => {
                    for call in &decided.calls {
                        if let mainstay_protocol::record::v1::CallVerdict::Allowed { effect, .. } = &call.verdict {
                            let key = (decided.turn.clone(), decided.step, call.index);
                            once.insert(key, *effect == EffectClass::AtMostOnce);
                        }
                    }
                }
                RecordBody::RunStarted(run) => {
                    for intent in &run.calls {
                        let key = (run.turn.clone(), run.step, intent.index);
                        let count = intents.entry(key.clone()).or_default();
                        *count += 1;
                        assert_eq!(intent.attempt, *count, "attempts count from 1");
                        let allowed_once = once.get(&key).copied().unwrap_or(true);
                        // A start that ended with a question is none that nobody knows of.
                        let known = asked.get(&key).copied().unwrap_or(0);
                        assert!(!allowed_once || *count == 1 + known, "at_most_once_means_once");
                    }
                }
                RecordBody::ElicitationRequested(form) => {
                    if let (Some(step), Some(call)) = (form.step, form.call) {
                        *asked.entry((form.turn.clone(), step, call)).or_default() += 1;
                    }
                }
                _ => {}
            }
        }
    }
}

/// Some tool. A swap may change the class of a tool between two decisions over one call.
fn tool(choice: u8) -> ToolFacts {
    ToolFacts {
        build: Build { plugin: PluginName::new("tools").expect("legal"), sha256: Digest::ZERO },
        effect: [EffectClass::Pure, EffectClass::Idempotent, EffectClass::AtMostOnce][usize::from(choice / 2 % 3)],
        execution: if choice.is_multiple_of(2) { Execution::Parallel } else { Execution::Exclusive },
        definition: Digest::of(&[choice / 100]),
        arguments: Digest::ZERO,
    }
}

fn finished(index: CallIndex, is_error: bool) -> FinishedCall {
    FinishedCall {
        index,
        content: vec![Part::Text("result".into())],
        is_error,
        extras: None,
        outcome: CallOutcome::Returned,
        build: None,
        ms: 1,
        whole: None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// The invariants hold after each happening of any history.
    #[test]
    fn invariants_hold_in_every_history(happenings in proptest::collection::vec(happening(), 1..120)) {
        let mut world = World::new();
        for happening in &happenings {
            world.happen(happening);
            world.check();
        }
    }

    /// However a history went, a session whose effects are carried out comes to rest.
    #[test]
    fn every_session_comes_to_rest(happenings in proptest::collection::vec(happening(), 1..60)) {
        let mut world = World::new();
        for happening in &happenings {
            world.happen(happening);
        }
        for step in 0..100_000_u32 {
            let choice = u8::try_from(step % 251).unwrap_or(1);
            if pending(&world.state).is_some() {
                world.happen(&Happening::Effect(choice, choice));
            } else if !world.state.pending_elicitations().is_empty() {
                world.answer_form(true);
            } else if world.state.pending_approvals().is_empty() {
                break;
            } else {
                world.happen(&Happening::Answer(true));
            }
        }
        prop_assert!(world.state.turn().is_none() && world.state.queue.is_empty());
        world.check();
    }
}
