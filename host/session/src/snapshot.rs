//! The stored form of the state, version 1: what the session's row holds, so that opening a session doesn't read its history.
//! The queue is left out: its rows are the journal's. These types mirror the state on purpose: it is free to change, this
//! is on disk, and what earlier builds did not store has a default.

mod turn;

use std::collections::{BTreeMap, VecDeque};

use mainstay_protocol::{
    AcceptedOrdinal, Digest, ElicitationId, ItemId, Ordinal, PluginName, RouteName, SubmissionId,
    op::Labels,
    record::v1::{ActivityChanged, Archive, ContextOwner, OperationBegun, TurnOutcome},
};
use serde::{Deserialize, Serialize};

use crate::state::{Queued, Remembered, State};

/// A stored state that this build can't read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// It is damaged.
    #[error("the stored state of the session is damaged: {0}")]
    Damaged(#[from] serde_json::Error),
    /// A newer build wrote it.
    #[error("the stored state of the session has version {0}, which is newer than this build; use the newer build")]
    Newer(u32),
}

#[derive(Serialize, Deserialize)]
struct StateV1 {
    v: u32,
    head: Ordinal,
    last_item: ItemId,
    accepted: AcceptedOrdinal,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    route: Option<RouteName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context_owner: Option<ContextOwner>,
    #[serde(default)]
    context_epoch: u32,
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    labels: Labels,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    metadata: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<turn::TurnV1>,
    #[serde(default)]
    parked: bool,
    runs: u64,
    aborted_runs: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    serving: BTreeMap<PluginName, Digest>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    requires: BTreeMap<PluginName, Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_outcome: Option<TurnOutcome>,
    #[serde(default, skip_serializing_if = "is_zero")]
    window_start: ItemId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    activity: Option<ActivityChanged>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operation: Option<OperationBegun>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    archive: Option<Archive>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checkpoint_warning: Option<String>,
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    ended: VecDeque<SubmissionId>,
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    resolved: VecDeque<ElicitationId>,
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

impl State {
    /// The stored form, without the queue.
    pub fn snapshot(&self) -> Vec<u8> {
        let stored = StateV1 {
            v: 1,
            head: self.head,
            last_item: self.last_item,
            accepted: self.accepted,
            route: self.route.clone(),
            context_owner: self.context_owner.clone(),
            context_epoch: self.context_epoch,
            labels: self.labels.clone(),
            metadata: self.metadata.clone(),
            turn: self.turn.as_ref().map(turn::store),
            parked: self.parked,
            runs: self.runs,
            aborted_runs: self.aborted_runs,
            serving: self.serving.clone(),
            requires: self.requires.clone(),
            last_outcome: self.last_outcome,
            window_start: self.window_start,
            activity: self.activity.clone(),
            operation: self.operation.clone(),
            archive: self.archive.clone(),
            checkpoint_warning: self.checkpoint_warning.clone(),
            ended: self.ended.0.clone(),
            resolved: self.resolved.0.clone(),
        };
        serde_json::to_vec(&stored).expect("the state holds nothing that JSON can't")
    }

    /// Reads a stored state and puts the queue beside it.
    ///
    /// # Errors
    /// The bytes are damaged, or a newer build wrote them.
    pub fn restore(snapshot: &[u8], queue: Vec<Queued>) -> Result<Self, SnapshotError> {
        #[derive(Deserialize)]
        struct Version {
            v: u32,
        }
        let Version { v } = serde_json::from_slice(snapshot)?;
        if v != 1 {
            return Err(SnapshotError::Newer(v));
        }
        let stored: StateV1 = serde_json::from_slice(snapshot)?;
        Ok(Self {
            head: stored.head,
            last_item: stored.last_item,
            accepted: stored.accepted,
            route: stored.route,
            context_owner: stored.context_owner,
            context_epoch: stored.context_epoch,
            labels: stored.labels,
            metadata: stored.metadata,
            queue: VecDeque::from(queue),
            turn: stored.turn.map(turn::load),
            parked: stored.parked,
            runs: stored.runs,
            aborted_runs: stored.aborted_runs,
            serving: stored.serving,
            requires: stored.requires,
            last_outcome: stored.last_outcome,
            window_start: stored.window_start,
            activity: stored.activity,
            operation: stored.operation,
            archive: stored.archive,
            checkpoint_warning: stored.checkpoint_warning,
            ended: Remembered(stored.ended),
            resolved: Remembered(stored.resolved),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the first build wrote it, in the middle of a batch of calls.
    const FIRST: &str = r#"{"v":1,"head":9,"last_item":3,"accepted":1,"route":"default","context_epoch":0,
        "turn":{"id":"t","submission":"s","accepted":1,"step":0,"phase":{"calls":[{"item":3,"tool":"tool","call_id":"c",
            "attempts":1,"life":"planned"}]},"continued":false,"steps":1,"tool_calls":0,"failed_tool_calls":0,
            "usage":{"input_tokens":1,"output_tokens":2}},
        "parked":false,"runs":0,"aborted_runs":0}"#;

    #[test]
    fn what_the_first_build_stored_is_read_with_defaults_for_the_rest() {
        let state = State::restore(FIRST.as_bytes(), Vec::new()).expect("a state");
        let turn = state.turn().expect("it runs");
        assert!(turn.calls()[0].is_doubtful() && !turn.is_waiting(), "its call had started before a crash");
        assert_eq!((state.operation(), state.activity(), state.last_outcome()), (None, None, None));
        assert!(state.requires().is_empty() && !state.summary().operating);
        let again = State::restore(&state.snapshot(), Vec::new()).expect("a state");
        assert_eq!(again, state);
        let newer = FIRST.replace("\"v\":1", "\"v\":2");
        assert!(matches!(State::restore(newer.as_bytes(), Vec::new()), Err(SnapshotError::Newer(2))));
    }
}
