//! Pairs of tool calls and results in a transcript: each call has exactly one result, unless its turn still runs.

use std::collections::BTreeMap;

use mainstay_protocol::{
    CallIndex, ItemId, StepIndex, TurnId,
    content::{Item, ItemBody},
};

use super::turns::Turns;

/// By which a call is known: its place in the session.
type Key = (Option<TurnId>, Option<StepIndex>, Option<CallIndex>);

/// Calls that have no result yet, and what is known of the items around them.
#[derive(Debug, Default)]
pub(super) struct Calls {
    waiting: BTreeMap<Key, ItemId>,
    last_turn: Option<TurnId>,
    certainty: Certainty,
}

/// Whether a result without its call is damage: not when the call may be among items that could not be read.
#[derive(Debug, Default)]
enum Certainty {
    #[default]
    Certain,
    /// An item could not be read, and none was read since.
    Lost,
    /// The same, and this is the turn of the items since.
    LostIn(Option<TurnId>),
}

impl Calls {
    /// An item could not be read.
    pub(super) fn lose(&mut self) {
        self.waiting.clear();
        self.certainty = Certainty::Lost;
    }

    /// Takes the next item; says what is wrong with it.
    pub(super) fn take(&mut self, item: &Item) -> Option<&'static str> {
        match &self.certainty {
            Certainty::Lost => self.certainty = Certainty::LostIn(item.turn.clone()),
            Certainty::LostIn(turn) if *turn != item.turn => self.certainty = Certainty::Certain,
            Certainty::LostIn(_) | Certainty::Certain => {}
        }
        self.last_turn.clone_from(&item.turn);
        let key = || (item.turn.clone(), item.step, item.call);
        match &item.body {
            ItemBody::ToolCall(_) => {
                self.waiting.insert(key(), item.id).map(|_| "a second call with the place of one that has no result")
            }
            ItemBody::ToolResult(_) => {
                let alone = self.waiting.remove(&key()).is_none() && matches!(self.certainty, Certainty::Certain);
                alone.then_some("a result without its call, or a second one")
            }
            ItemBody::Message(_) | ItemBody::Reasoning(_) | ItemBody::Notice(_) => None,
        }
    }

    /// The calls that have no result, but for those of the turn that runs. Where records don't tell which one that is, it may be
    /// the last.
    pub(super) fn alone(self, turns: &Turns) -> impl Iterator<Item = ItemId> {
        let running = if turns.is_lost() { self.last_turn } else { turns.open().cloned() };
        let of_others = move |key: &Key| running.is_none() || key.0 != running;
        self.waiting.into_iter().filter(move |(key, _)| of_others(key)).map(|(_, item)| item)
    }
}
