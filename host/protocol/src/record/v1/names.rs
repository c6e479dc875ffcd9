//! Which transcript items came with a record: it names them, and they became durable together.

use super::{CommandEnded, ContextCompacted, NoticeAdded, RecordBody, Span};
use crate::ItemId;

impl RecordBody {
    /// The items that came with the record; none when it brought none.
    pub fn items(&self) -> Option<Span> {
        let one = |first: ItemId| Span { first, count: 1 };
        let span = match self {
            Self::TurnStarted(started) => started.items,
            Self::StepCompleted(completed) => completed.items,
            Self::CallEnded(ended) => Some(one(ended.item)),
            Self::TurnContinued(continued) => Some(one(continued.item)),
            Self::NoticeAdded(NoticeAdded { item, .. })
            | Self::CommandEnded(CommandEnded { notice: Some(item), .. })
            | Self::ContextCompacted(ContextCompacted { summary: Some(item), .. }) => Some(one(*item)),
            _ => None,
        };
        span.filter(|span| span.count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::v1::UsageRecorded;

    #[test]
    fn a_record_names_the_items_that_came_with_it() {
        let notice = NoticeAdded { item: ItemId(7), code: "checkpoint_failed".to_owned() };
        assert_eq!(RecordBody::NoticeAdded(notice).items(), Some(Span { first: ItemId(7), count: 1 }));
        let usage = UsageRecorded {
            turn: None,
            step: None,
            route: crate::RouteName::new("default").expect("legal"),
            build: None,
            usage: crate::model::Usage::default(),
        };
        assert_eq!(RecordBody::UsageRecorded(usage).items(), None);
    }
}
