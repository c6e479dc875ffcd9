//! The results of a run: they commit together, in call order, but for those that a crash must not lose.

use std::collections::BTreeMap;

use mainstay_protocol::{CallIndex, PluginName, tool::Effect as EffectClass};
use mainstay_session::{Command, Effect, FinishedCall, Life, State, Turn};

use super::proposal::Staged;

/// The results of a run so far. They commit together, in call order; only the result of a call that must not run twice
/// commits at once while others still run, so that a crash can't lose it.
#[derive(Default)]
pub(super) struct Results {
    running: usize,
    finished: Vec<(FinishedCall, Staged)>,
    /// What early results wrote to plugin state: the keys, by the call that wrote them last in call order.
    written: BTreeMap<(PluginName, String), CallIndex>,
}

/// What follows from a result.
pub(super) enum Ready {
    Wait,
    Whole(Command, Staged),
    Early(Command, Staged),
}

impl Results {
    pub(super) fn of(effect: &Effect) -> Self {
        let running = match effect {
            Effect::RunCalls { calls, .. } => calls.len(),
            _ => 0,
        };
        Self { running, ..Self::default() }
    }

    pub(super) fn add(&mut self, finished: FinishedCall, staged: Staged, state: &State) -> Ready {
        let Some(turn) = state.turn() else { return Ready::Wait };
        self.running = self.running.saturating_sub(1);
        let staged = self.without_outdated(finished.index, staged);
        let call = turn.call(finished.index);
        let at_most_once = call.is_some_and(|call| match &call.life {
            Life::Intended(on) => on.effect == EffectClass::AtMostOnce,
            _ => false,
        });
        if self.running > 0 && at_most_once {
            self.note_written(finished.index, &staged);
            return Ready::Early(accept(turn, vec![finished]), staged);
        }
        self.finished.push((finished, staged));
        if self.running > 0 {
            return Ready::Wait;
        }
        let (results, staged) = in_call_order(std::mem::take(&mut self.finished));
        Ready::Whole(accept(turn, results), staged)
    }

    /// Leaves out what a call later in order has written already: in call order the last write to a key wins.
    fn without_outdated(&self, call: CallIndex, mut staged: Staged) -> Staged {
        for (plugin, writes) in &mut staged {
            let outdated =
                |key: &String| self.written.get(&(plugin.clone(), key.clone())).is_some_and(|writer| *writer > call);
            writes.session.retain(|key, _| !outdated(key));
        }
        staged
    }

    fn note_written(&mut self, call: CallIndex, staged: &Staged) {
        for (plugin, writes) in staged {
            self.written.extend(writes.session.keys().map(|key| ((plugin.clone(), key.clone()), call)));
        }
    }

    /// The results that wait for the rest of their run; none when there are none.
    pub(super) fn so_far(&self, state: &State) -> Option<(Command, Staged)> {
        let turn = state.turn().filter(|_| !self.finished.is_empty())?;
        let (results, staged) = in_call_order(self.finished.clone());
        Some((accept(turn, results), staged))
    }
}

fn accept(turn: &Turn, results: Vec<FinishedCall>) -> Command {
    Command::AcceptResults { turn: turn.id.clone(), step: turn.step, results }
}

/// In call order the last write to a key of plugin state wins.
fn in_call_order(mut finished: Vec<(FinishedCall, Staged)>) -> (Vec<FinishedCall>, Staged) {
    finished.sort_by_key(|(finished, _)| finished.index);
    let mut all = Staged::new();
    let mut results = Vec::with_capacity(finished.len());
    for (finished, staged) in finished {
        results.push(finished);
        for (plugin, writes) in staged {
            all.entry(plugin).or_default().session.extend(writes.session);
        }
    }
    (results, all)
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::{
        Digest, RouteName, StepIndex, SubmissionId, Timestamp, TurnId,
        content::{ItemBody, Message, Part, ToolCall},
        model::{Finish, FinishReason},
        op::{Delivery, Labels},
        record::v1::{Build, CallOutcome, ContextOwner, HookNotes},
        tool::Execution,
    };
    use mainstay_session::{InputRuling, Output, OutputItem, RuledCall, Ruling, ToolFacts, decide, pending};

    use super::*;

    /// A session whose two calls, of these classes, run together.
    fn running(classes: [EffectClass; 2]) -> State {
        let turn = TurnId::new("t").expect("legal");
        let submission = SubmissionId::new("m").expect("legal");
        let route = RouteName::new("r").expect("legal");
        let step = StepIndex(0);
        let text = || vec![Part::Text("x".to_owned())];
        let call = |number: usize| OutputItem {
            body: ItemBody::ToolCall(ToolCall {
                call_id: number.to_string(),
                name: "tool".to_owned(),
                arguments: "{}".to_owned(),
            }),
            private_part: None,
        };
        let finish = Finish { reason: FinishReason::ToolCalls, detail: String::new(), model: None, response_id: None };
        let context_owner = ContextOwner { route: route.clone(), context_group: "g".to_owned() };
        let output = Output { items: vec![call(0), call(1)], attempts: Vec::new(), context_owner, finish };
        let build = Build { plugin: PluginName::new("p").expect("legal"), sha256: Digest::ZERO };
        let calls = (0..).zip(classes).map(|(index, effect)| RuledCall {
            index: CallIndex(index),
            ruling: Ruling::Allow(ToolFacts {
                build: build.clone(),
                effect,
                execution: Execution::Parallel,
                definition: Digest::ZERO,
                arguments: Digest::ZERO,
            }),
        });
        let ruling = InputRuling::Accept { message: Message::user(text()), annotations: Vec::new() };
        let hooks = HookNotes::default;
        let commands = [
            Command::Create { route, labels: Labels::default(), metadata: None, requires: None },
            Command::Submit { submission: submission.clone(), content: text(), delivery: Delivery::Queue },
            Command::StartTurn { turn: turn.clone(), submission, ruling, hooks: hooks() },
            Command::OpenStep { turn: turn.clone(), step },
            Command::AcceptOutput { turn: turn.clone(), step, output },
            Command::DecideCalls { turn, step, calls: calls.collect(), hooks: hooks() },
        ];
        commands
            .into_iter()
            .fold(State::default(), |state, command| decide(&state, command, Timestamp(1)).expect("accepted").state)
    }

    fn finished(index: u32) -> FinishedCall {
        FinishedCall {
            index: CallIndex(index),
            content: Vec::new(),
            is_error: false,
            extras: None,
            outcome: CallOutcome::Returned,
            build: None,
            ms: 0,
            whole: None,
        }
    }

    fn indices(command: &Command) -> Vec<u32> {
        match command {
            Command::AcceptResults { results, .. } => results.iter().map(|result| result.index.0).collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn results_commit_together_in_call_order() {
        let state = running([EffectClass::Pure, EffectClass::Idempotent]);
        let mut results = Results::of(&pending(&state).expect("the run"));
        assert!(matches!(results.add(finished(1), Staged::new(), &state), Ready::Wait));
        let Ready::Whole(command, _) = results.add(finished(0), Staged::new(), &state) else { panic!("all are there") };
        assert_eq!(indices(&command), [0, 1]);
    }

    #[test]
    fn a_result_that_a_crash_must_not_lose_commits_at_once() {
        let state = running([EffectClass::Pure, EffectClass::AtMostOnce]);
        let mut results = Results::of(&pending(&state).expect("the run"));
        let Ready::Early(command, _) = results.add(finished(1), Staged::new(), &state) else { panic!("it is early") };
        assert_eq!(indices(&command), [1]);
    }

    #[test]
    fn in_call_order_the_last_write_wins_whichever_call_was_faster() {
        let plugin = PluginName::new("p").expect("legal");
        let writes = |value: &[u8]| {
            let mut staged = Staged::new();
            staged.entry(plugin.clone()).or_default().session.insert("key".to_owned(), Some(value.to_vec()));
            staged
        };
        let state = running([EffectClass::Pure, EffectClass::AtMostOnce]);
        let mut results = Results::of(&pending(&state).expect("the run"));
        assert!(matches!(results.add(finished(1), writes(b"later call"), &state), Ready::Early(..)));
        let Ready::Whole(_, staged) = results.add(finished(0), writes(b"slower call"), &state) else {
            panic!("all are there")
        };
        assert!(staged[&plugin].session.is_empty());
    }

    #[test]
    fn what_has_returned_is_known_when_the_rest_is_called_off() {
        let state = running([EffectClass::Pure, EffectClass::Idempotent]);
        let mut results = Results::of(&pending(&state).expect("the run"));
        assert!(results.so_far(&state).is_none());
        assert!(matches!(results.add(finished(1), Staged::new(), &state), Ready::Wait));
        let (command, _) = results.so_far(&state).expect("one has returned");
        assert_eq!(indices(&command), [1]);
        let kept = decide(&state, command, Timestamp(1)).expect("accepted").state;
        let turn = kept.turn().expect("it runs");
        assert!(turn.calls()[1].is_ended() && turn.calls()[0].is_intended(), "the other one still runs");
    }
}
