//! News: what people who watch a session get live. Records and items are durable; deltas and progress are not, and a
//! watcher that missed some falls back to the journal.

use std::sync::Arc;

use crate::{CallIndex, StepIndex, TurnId, content::Item, model::Delta, record::StoredRecord};

/// One piece of news.
#[derive(Clone, Debug)]
pub enum News {
    /// A record was committed.
    Record(StoredRecord),
    /// An item was committed. Its private part is left out.
    Item(Arc<Item>),
    /// A model says something. Not durable yet.
    Delta {
        /// The turn.
        turn: TurnId,
        /// The step.
        step: StepIndex,
        /// What it says.
        delta: Delta,
    },
    /// An attempt of this step failed: nothing of what was shown of it stays.
    AttemptDropped {
        /// The turn.
        turn: TurnId,
        /// The step.
        step: StepIndex,
    },
    /// A call says how far it is.
    Progress {
        /// The turn.
        turn: TurnId,
        /// The step.
        step: StepIndex,
        /// The call.
        call: CallIndex,
        /// Untrusted text.
        text: String,
        /// Units done.
        done: Option<u32>,
        /// Units in all.
        total: Option<u32>,
    },
}
