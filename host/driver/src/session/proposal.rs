//! A transition in the making: commands that were decided and not committed yet. Decisions of hooks add to it; nothing
//! that reaches outside runs on it.

use std::collections::BTreeMap;

use mainstay_journal::{NewSubmission, Priority, StateWrite, Transition};
use mainstay_protocol::{PluginName, SessionId, TenantId, Timestamp, record::RecordBody};
use mainstay_runtime::StagedState;
use mainstay_session::{Command, Decision, Refused, State, decide};

/// What each plugin wrote and has not committed.
pub(crate) type Staged = BTreeMap<PluginName, StagedState>;

/// Decided commands on top of committed state.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    commands: Vec<(Command, Timestamp)>,
    decision: Decision,
    staged: Staged,
}

impl Proposal {
    pub(crate) fn on(base: &State) -> Self {
        let decision = Decision { state: base.clone(), ..Decision::default() };
        Self { commands: Vec::new(), decision, staged: Staged::new() }
    }

    /// The state as it will be.
    pub(crate) fn tip(&self) -> &State {
        &self.decision.state
    }

    /// What is decided so far.
    pub(crate) fn decision(&self) -> &Decision {
        &self.decision
    }

    /// What plugins want to write at this barrier.
    pub(crate) fn staged(&self) -> &Staged {
        &self.staged
    }

    /// Whether there is nothing to make durable.
    pub(crate) fn is_empty(&self) -> bool {
        self.decision.records.is_empty()
    }

    /// Decides one more command. A refused one changes nothing.
    pub(crate) fn apply(&mut self, command: Command, now: Timestamp) -> Result<(), Refused> {
        let decided = decide(self.tip(), command.clone(), now)?;
        self.commands.push((command, now));
        self.decision.state = decided.state;
        self.decision.records.extend(decided.records);
        self.decision.items.extend(decided.items);
        self.decision.queued.extend(decided.queued);
        self.decision.unqueued.extend(decided.unqueued);
        self.decision.blobs.extend(decided.blobs);
        Ok(())
    }

    /// Adds what plugins staged; a later write to a key replaces an earlier one.
    pub(crate) fn stage(&mut self, staged: Staged) {
        for (plugin, writes) in staged {
            self.staged.entry(plugin).or_default().session.extend(writes.session);
        }
    }

    /// Decides the same commands on another base: an op was committed in between. False when one of them no longer fits;
    /// then nothing of the proposal is left.
    pub(crate) fn rebase(&mut self, base: &State) -> bool {
        let old = std::mem::replace(self, Self::on(base));
        let fits = old.commands.into_iter().all(|(command, at)| self.apply(command, at).is_ok());
        if fits {
            self.staged = old.staged;
        } else {
            *self = Self::on(base);
        }
        fits
    }

    /// What the journal is to make durable.
    pub(crate) fn into_transition(
        self,
        tenant: &TenantId,
        session: &SessionId,
        base: &State,
        submission: Option<NewSubmission>,
    ) -> Transition {
        let ends = |body: &RecordBody| body.turn_ended().is_some() || matches!(body, RecordBody::CommandEnded(_));
        let terminal = self.decision.records.iter().any(|record| ends(&record.body));
        Transition {
            tenant: tenant.clone(),
            session: session.clone(),
            expected: base.head(),
            records: self.decision.records,
            items: self.decision.items,
            queued: self.decision.queued,
            unqueued: self.decision.unqueued,
            submission,
            blobs: self.decision.blobs,
            plugin_state: state_writes(self.staged),
            state: self.decision.state,
            priority: if terminal { Priority::Terminal } else { Priority::Normal },
        }
    }
}

fn state_writes(staged: Staged) -> Vec<StateWrite> {
    let of_plugin = |(plugin, writes): (PluginName, StagedState)| {
        let write = move |(key, value)| StateWrite { plugin: plugin.clone(), key, value };
        writes.session.into_iter().map(write)
    };
    staged.into_iter().flat_map(of_plugin).collect()
}
