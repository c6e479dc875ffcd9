//! Follows turns, steps and calls through the records of a session: each begins once, inside what it belongs to, and ends once.

use std::collections::BTreeSet;

use mainstay_protocol::{
    CallIndex, StepIndex, TurnId,
    record::{
        RecordBody,
        v1::{StepCompleted, StepOutcome},
    },
};

/// Where the records are in their turns.
#[derive(Debug, Default)]
pub(super) struct Turns {
    open: Option<Open>,
    /// Records were damaged, and what is open is not known until the next turn begins.
    lost: bool,
    /// Turns that began.
    pub(super) started: u64,
}

#[derive(Debug)]
struct Open {
    turn: TurnId,
    step: Option<StepIndex>,
    /// Calls without a result.
    calls: BTreeSet<CallIndex>,
}

impl Turns {
    /// The turn that is open.
    pub(super) fn open(&self) -> Option<&TurnId> {
        self.open.as_ref().map(|open| &open.turn)
    }

    /// Whether it is not known which turn is open.
    pub(super) fn is_lost(&self) -> bool {
        self.lost
    }

    /// A record could not be read.
    pub(super) fn lose(&mut self) {
        self.open = None;
        self.lost = true;
    }

    /// Takes the next record; says what is wrong with it.
    pub(super) fn take(&mut self, body: &RecordBody) -> Option<String> {
        if let RecordBody::TurnStarted(started) = body {
            let before = self.open.replace(Open { turn: started.turn.clone(), step: None, calls: BTreeSet::new() });
            self.lost = false;
            self.started += 1;
            return before.map(|open| format!("a turn begins, and turn {} has not ended", open.turn));
        }
        if self.lost {
            return None;
        }
        if let Some(ended) = body.turn_ended() {
            return self.ended(&ended.turn);
        }
        match body {
            RecordBody::StepOpened(step) => self.step_opened(&step.turn, step.step),
            RecordBody::StepCompleted(step) => self.step_completed(step),
            RecordBody::CallEnded(call) => self.call_ended(&call.turn, call.index),
            _ => None,
        }
    }

    fn in_turn(&mut self, turn: &TurnId) -> Result<&mut Open, String> {
        let open = self.open.as_mut().filter(|open| open.turn == *turn);
        open.ok_or_else(|| format!("it belongs to turn {turn}, which is not open here"))
    }

    fn ended(&mut self, turn: &TurnId) -> Option<String> {
        let open = match self.in_turn(turn) {
            Ok(open) => open,
            Err(wrong) => return Some(wrong),
        };
        let wrong = match (open.step, open.calls.len()) {
            (Some(step), _) => Some(format!("the turn ends, and its step {step} has not")),
            (None, 0) => None,
            (None, calls) => Some(format!("the turn ends, and {calls} of its calls have no result")),
        };
        self.open = None;
        wrong
    }

    fn step_opened(&mut self, turn: &TurnId, step: StepIndex) -> Option<String> {
        match self.in_turn(turn) {
            Ok(open) => open.step.replace(step).map(|before| format!("a step opens, and step {before} has not ended")),
            Err(wrong) => Some(wrong),
        }
    }

    fn step_completed(&mut self, completed: &StepCompleted) -> Option<String> {
        let open = match self.in_turn(&completed.turn) {
            Ok(open) => open,
            Err(wrong) => return Some(wrong),
        };
        let before = open.step.take();
        if completed.outcome == StepOutcome::Completed {
            open.calls = (0..).map(CallIndex).take(completed.calls.len()).collect();
        }
        (before != Some(completed.step)).then(|| format!("step {} ends, and was not open", completed.step))
    }

    fn call_ended(&mut self, turn: &TurnId, index: CallIndex) -> Option<String> {
        match self.in_turn(turn) {
            Ok(open) => {
                let planned = open.calls.remove(&index);
                (!planned).then(|| format!("call {index} gets a result that it has already, or was never planned"))
            }
            Err(wrong) => Some(wrong),
        }
    }
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::{
        RouteName, SubmissionId,
        record::v1::{CallEnded, CallOutcome, HookNotes, PlannedCall, StepOpened, TurnEnded, TurnStarted},
    };

    use super::*;

    fn turn(name: &str) -> TurnId {
        TurnId::new(name).unwrap()
    }

    fn started(name: &str) -> RecordBody {
        RecordBody::TurnStarted(TurnStarted {
            turn: turn(name),
            submission: SubmissionId::new("s").unwrap(),
            accepted: mainstay_protocol::AcceptedOrdinal(1),
            items: None,
            hooks: HookNotes::default(),
        })
    }

    fn opened(name: &str, step: u32) -> RecordBody {
        let (turn, step) = (turn(name), StepIndex(step));
        RecordBody::StepOpened(StepOpened { turn, step, route: RouteName::new("default").unwrap() })
    }

    fn completed(name: &str, step: u32, calls: usize) -> RecordBody {
        let item = mainstay_protocol::ItemId(1);
        let call = PlannedCall { item, tool: "read".to_owned(), call_id: "c".to_owned() };
        RecordBody::StepCompleted(StepCompleted {
            turn: turn(name),
            step: StepIndex(step),
            outcome: StepOutcome::Completed,
            attempts: Vec::new(),
            items: None,
            calls: vec![call; calls],
            last_message: None,
            context_owner: None,
            finish: None,
        })
    }

    fn result(name: &str, index: u32) -> RecordBody {
        RecordBody::CallEnded(CallEnded {
            turn: turn(name),
            step: StepIndex(0),
            index: CallIndex(index),
            tool: "read".to_owned(),
            call_id: "c".to_owned(),
            item: mainstay_protocol::ItemId(2),
            is_error: false,
            outcome: CallOutcome::Returned,
            build: None,
            ms: 0,
        })
    }

    fn ended(name: &str) -> RecordBody {
        RecordBody::TurnCompleted(TurnEnded {
            turn: turn(name),
            submission: SubmissionId::new("s").unwrap(),
            accepted: mainstay_protocol::AcceptedOrdinal(1),
            stop: None,
            reason: None,
            interrupted_by: None,
            steps: 1,
            tool_calls: 0,
            failed_tool_calls: 0,
            usage: mainstay_protocol::model::Usage::default(),
            last_message: None,
            hooks: HookNotes::default(),
        })
    }

    /// The positions of the records at which something is wrong.
    fn wrong(records: &[RecordBody]) -> Vec<usize> {
        let mut turns = Turns::default();
        let found = records.iter().enumerate().filter(|(_, record)| turns.take(record).is_some());
        found.map(|(at, _)| at).collect()
    }

    #[test]
    fn whole_turns_are_right() {
        let whole =
            [started("a"), opened("a", 0), completed("a", 0, 2), result("a", 1), result("a", 0), opened("a", 1)];
        assert_eq!(
            wrong(&[&whole[..], &[completed("a", 1, 0), ended("a"), started("b"), ended("b")]].concat()),
            [0; 0]
        );
        assert_eq!(wrong(&whole), [0; 0], "it still runs");
    }

    #[test]
    fn what_begins_twice_or_never_ends_is_wrong() {
        assert_eq!(wrong(&[ended("a")]), [0]);
        assert_eq!(wrong(&[started("a"), started("b")]), [1]);
        assert_eq!(wrong(&[started("a"), ended("b")]), [1]);
        assert_eq!(wrong(&[started("a"), ended("a"), ended("a")]), [2]);
        assert_eq!(wrong(&[started("a"), opened("a", 0), ended("a")]), [2]);
        assert_eq!(wrong(&[started("a"), opened("a", 0), opened("a", 1)]), [2]);
        assert_eq!(wrong(&[started("a"), completed("a", 0, 0)]), [1]);
        assert_eq!(wrong(&[started("a"), opened("a", 0), completed("a", 1, 0)]), [2]);
        let called = [started("a"), opened("a", 0), completed("a", 0, 1)];
        assert_eq!(wrong(&[&called[..], &[ended("a")]].concat()), [3]);
        assert_eq!(wrong(&[&called[..], &[result("a", 1)]].concat()), [3]);
        assert_eq!(wrong(&[&called[..], &[result("a", 0), result("a", 0)]].concat()), [4]);
        assert_eq!(wrong(&[&called[..], &[result("b", 0)]].concat()), [3]);
    }

    #[test]
    fn behind_damage_nothing_is_wrong_until_a_turn_begins() {
        let mut turns = Turns::default();
        assert!(turns.take(&started("a")).is_none());
        turns.lose();
        for record in [opened("a", 0), completed("a", 0, 1), result("a", 7), ended("a"), started("b")] {
            assert_eq!(turns.take(&record), None);
        }
        assert!(turns.take(&ended("a")).is_some());
    }
}
