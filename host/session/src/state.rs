//! The state of a session: what is owed and what later decisions depend on. It holds no content, only references to items.

mod turn;

use std::collections::{BTreeMap, VecDeque};

use mainstay_protocol::{
    AcceptedOrdinal, ApprovalId, CallIndex, Digest, ElicitationId, ItemId, Ordinal, PluginName, RouteName,
    SubmissionId, Timestamp,
    content::Part,
    op::{Delivery, Labels},
    record::v1::{ActivityChanged, Archive, ContextOwner, OperationBegun, TurnOutcome},
};
pub use turn::{Answer, Authorised, Call, Life, PendingElicitation, Phase, Turn};

/// How many ended commands, and how many resolved forms, a session remembers: a second report of the same end, or a second
/// answer, is told from one that is about nothing.
const REMEMBERED: usize = 16;

/// A session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    pub(crate) head: Ordinal,
    pub(crate) last_item: ItemId,
    pub(crate) accepted: AcceptedOrdinal,
    pub(crate) route: Option<RouteName>,
    pub(crate) context_owner: Option<ContextOwner>,
    pub(crate) context_epoch: u32,
    pub(crate) labels: Labels,
    pub(crate) metadata: String,
    pub(crate) queue: VecDeque<Queued>,
    pub(crate) turn: Option<Turn>,
    pub(crate) parked: bool,
    pub(crate) runs: u64,
    pub(crate) aborted_runs: u64,
    pub(crate) serving: BTreeMap<PluginName, Digest>,
    pub(crate) requires: BTreeMap<PluginName, Digest>,
    pub(crate) last_outcome: Option<TurnOutcome>,
    pub(crate) window_start: ItemId,
    pub(crate) activity: Option<ActivityChanged>,
    pub(crate) operation: Option<OperationBegun>,
    pub(crate) archive: Option<Archive>,
    pub(crate) checkpoint_warning: Option<String>,
    pub(crate) ended: Remembered<SubmissionId>,
    pub(crate) resolved: Remembered<ElicitationId>,
}

/// The last few ids of something, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Remembered<T>(pub(crate) VecDeque<T>);

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T: PartialEq> Remembered<T> {
    pub(crate) fn add(&mut self, id: T) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(id);
    }

    pub(crate) fn has(&self, id: &T) -> bool {
        self.0.contains(id)
    }
}

/// A message that waits for its turn. Its content is in the journal's queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The op that brought it.
    pub submission: SubmissionId,
    /// Its number.
    pub accepted: AcceptedOrdinal,
    /// How it is to be delivered.
    pub delivery: Delivery,
    /// Bytes of payload.
    pub bytes: u64,
}

/// A message with its content, on its way into the queue.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedMessage {
    /// The op that brought it.
    pub submission: SubmissionId,
    /// Its number.
    pub accepted: AcceptedOrdinal,
    /// How it is to be delivered.
    pub delivery: Delivery,
    /// When it was accepted.
    pub at: Timestamp,
    /// What it says.
    pub content: Vec<Part>,
}

/// An approval that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingApproval {
    /// The question.
    pub approval: ApprovalId,
    /// The call.
    pub index: CallIndex,
    /// The item that holds the arguments.
    pub item: ItemId,
    /// The tool's name.
    pub tool: String,
}

/// A few words about a session, for lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// `idle`, `queued`, `running`, `waiting` (for a person) or `parked`.
    pub phase: &'static str,
    /// The selected route.
    pub route: Option<RouteName>,
    /// Turns that ended, in any way.
    pub turns: u64,
    /// Those of them that were aborted.
    pub aborted: u64,
    /// Messages that were accepted.
    pub accepted: AcceptedOrdinal,
    /// The last item.
    pub last_item: ItemId,
    /// How often the context group of the owner changed, or the window was compacted.
    pub context_epoch: u32,
    /// Whether an owned operation runs.
    pub operating: bool,
}

impl State {
    /// The ordinal of the last record: what a commit compares and swaps.
    pub fn head(&self) -> Ordinal {
        self.head
    }

    /// The selected route; none before the session was configured.
    pub fn route(&self) -> Option<&RouteName> {
        self.route.as_ref()
    }

    /// The route whose output was accepted last.
    pub fn context_owner(&self) -> Option<&ContextOwner> {
        self.context_owner.as_ref()
    }

    /// How often the context group of the owner changed, or the window was compacted.
    pub fn context_epoch(&self) -> u32 {
        self.context_epoch
    }

    /// Owner, workspace and origin.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// A JSON object.
    pub fn metadata(&self) -> &str {
        if self.metadata.is_empty() { "{}" } else { &self.metadata }
    }

    /// The messages that wait, in order.
    pub fn queue(&self) -> impl ExactSizeIterator<Item = &Queued> {
        self.queue.iter()
    }

    /// The turn that runs.
    pub fn turn(&self) -> Option<&Turn> {
        self.turn.as_ref()
    }

    /// Whether a fault keeps the session from starting turns.
    pub fn is_parked(&self) -> bool {
        self.parked
    }

    /// Turns that ended, in any way, and those of them that were aborted.
    pub fn run_counts(&self) -> (u64, u64) {
        (self.runs, self.aborted_runs)
    }

    /// The number of the last accepted message.
    pub fn accepted(&self) -> AcceptedOrdinal {
        self.accepted
    }

    /// The last item of the transcript; 0 when it is empty.
    pub fn last_item(&self) -> ItemId {
        self.last_item
    }

    /// How the last turn ended; none before one did.
    pub fn last_outcome(&self) -> Option<TurnOutcome> {
        self.last_outcome
    }

    /// The first item that models see; 0 when they see all.
    pub fn window_start(&self) -> ItemId {
        self.window_start
    }

    /// The receipts that are current: by plugin, the id of the one that was recorded last.
    pub fn serving(&self) -> &BTreeMap<PluginName, Digest> {
        &self.serving
    }

    /// The builds, by the SHA-256 of their components, without which the session does not run.
    pub fn requires(&self) -> &BTreeMap<PluginName, Digest> {
        &self.requires
    }

    /// What the session is about; none before it was told.
    pub fn activity(&self) -> Option<&ActivityChanged> {
        self.activity.as_ref()
    }

    /// The owned operation that runs, with all commands that belong to it so far.
    pub fn operation(&self) -> Option<&OperationBegun> {
        self.operation.as_ref()
    }

    /// What the last checkpoint that ended well wrote.
    pub fn archive(&self) -> Option<&Archive> {
        self.archive.as_ref()
    }

    /// Why the last checkpoint failed, unless one ended well after it.
    pub fn checkpoint_warning(&self) -> Option<&str> {
        self.checkpoint_warning.as_deref()
    }

    /// The forms that wait for an answer, in the order in which they were asked.
    pub fn pending_elicitations(&self) -> &[PendingElicitation] {
        self.turn.as_ref().map_or(&[], |turn| &turn.elicitations)
    }

    /// The approvals that wait for an answer, in call order.
    pub fn pending_approvals(&self) -> Vec<PendingApproval> {
        let asking = self.turn.iter().flat_map(Turn::numbered_calls).filter_map(|(index, call)| match &call.life {
            Life::Asking { approval, .. } => {
                Some(PendingApproval { approval: approval.clone(), index, item: call.item, tool: call.tool.clone() })
            }
            _ => None,
        });
        asking.collect()
    }

    /// A few words for lists.
    pub fn summary(&self) -> Summary {
        let phase = match &self.turn {
            Some(turn) if turn.is_waiting() => "waiting",
            Some(_) => "running",
            None if self.parked => "parked",
            None if !self.queue.is_empty() => "queued",
            None => "idle",
        };
        Summary {
            phase,
            route: self.route.clone(),
            turns: self.runs,
            aborted: self.aborted_runs,
            accepted: self.accepted,
            last_item: self.last_item,
            context_epoch: self.context_epoch,
            operating: self.operation.is_some(),
        }
    }
}
