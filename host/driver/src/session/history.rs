//! The session's history in memory: loaded from the journal when it is first needed, then appended to at each commit.

use std::sync::Arc;

use futures::{FutureExt as _, future::BoxFuture};
use mainstay_journal::{Journal, MAX_PAGE, Range, ReadError};
use mainstay_protocol::{
    ItemId, SessionId, TenantId,
    content::{Item, ItemBody, PrivatePart},
};
use mainstay_runtime::{ReadFailure, Transcript};

/// The items that are committed.
#[derive(Debug, Default)]
pub(crate) struct History {
    items: Option<Vec<Arc<Item>>>,
}

impl History {
    /// Loads what the journal holds, unless that was done.
    pub(crate) async fn load(
        &mut self,
        journal: &dyn Journal,
        tenant: &TenantId,
        session: &SessionId,
    ) -> Result<(), ReadError> {
        if self.items.is_some() {
            return Ok(());
        }
        let mut items: Vec<Arc<Item>> = Vec::new();
        let mut after = ItemId(0);
        loop {
            let page = journal.items(tenant, session, Range::forward(MAX_PAGE).after(after)).await?;
            // A damaged item is left out: if the history is no longer valid without it, the turn fails and says so.
            after = page.reached().unwrap_or(after);
            if !page.damaged.is_empty() {
                tracing::error!(%session, damaged = ?page.damaged, "items of the transcript are damaged");
            }
            items.extend(page.rows.into_iter().map(Arc::new));
            if !page.more {
                break;
            }
        }
        self.items = Some(items);
        Ok(())
    }

    /// Takes what was committed.
    pub(crate) fn append(&mut self, committed: Vec<Item>) {
        if let Some(items) = &mut self.items {
            items.extend(committed.into_iter().map(Arc::new));
        }
    }

    /// The history with `proposed` items after it.
    pub(crate) fn view(&self, proposed: &[Item]) -> View {
        let committed = self.items.iter().flatten().cloned();
        let mut items: Vec<_> = committed.chain(proposed.iter().cloned().map(Arc::new)).collect();
        sort_results(&mut items);
        View { items: items.into(), private: Private::None }
    }
}

/// Results of one step stand in the order of their calls, whichever ended first. A notice may stand between them.
fn sort_results(items: &mut [Arc<Item>]) {
    let step = |item: &Item| (item.turn.clone(), item.step);
    let mut start = 0;
    while let Some(first) = (start..items.len()).find(|&at| is_result(&items[at])) {
        let of_step = step(&items[first]);
        let belongs = |item: &Item| is_notice(item) || is_result(item) && step(item) == of_step;
        start = (first..items.len()).find(|&at| !belongs(&items[at])).unwrap_or(items.len());
        let places: Vec<_> = (first..start).filter(|&at| is_result(&items[at])).collect();
        let mut results: Vec<_> = places.iter().map(|&at| Arc::clone(&items[at])).collect();
        results.sort_by_key(|item| item.call);
        places.into_iter().zip(results).for_each(|(place, result)| items[place] = result);
    }
}

fn is_notice(item: &Item) -> bool {
    matches!(item.body, ItemBody::Notice(_))
}

fn is_result(item: &Item) -> bool {
    matches!(item.body, ItemBody::ToolResult(_))
}

/// The history as one call sees it. The items are shared; what a call must not see is taken out when it reads.
#[derive(Clone, Debug)]
pub(crate) struct View {
    items: Arc<[Arc<Item>]>,
    private: Private,
}

/// Which private parts a reader gets.
#[derive(Clone, Debug)]
enum Private {
    None,
    /// Those that this context group made.
    Group(Arc<str>),
}

impl View {
    /// An item.
    pub(crate) fn find(&self, id: ItemId) -> Option<&Arc<Item>> {
        self.items.iter().rev().find(|item| item.id == id)
    }

    /// What a model gets: no notices, and of the private parts only those of its own context group.
    pub(crate) fn for_model(&self, context_group: &str) -> Self {
        let items = if self.items.iter().any(|item| is_notice(item)) {
            self.items.iter().filter(|item| !is_notice(item)).cloned().collect()
        } else {
            Arc::clone(&self.items)
        };
        Self { items, private: Private::Group(context_group.into()) }
    }

    /// What a hook or a tool gets: no private parts.
    pub(crate) fn without_private_parts(&self) -> Self {
        Self { items: Arc::clone(&self.items), private: Private::None }
    }

    /// Why a provider would refuse this history; none when each call has exactly one result, after it and before anything
    /// that is not of its step.
    pub(crate) fn invalid(&self) -> Option<String> {
        let mut open: Vec<(&str, ItemId)> = Vec::new();
        for item in self.items.iter() {
            match &item.body {
                ItemBody::ToolCall(call) => open.push((&call.call_id, item.id)),
                ItemBody::ToolResult(result) => match open.iter().position(|(id, _)| *id == result.call_id) {
                    Some(place) => drop(open.remove(place)),
                    None => return Some(format!("item {} is a result without a call", item.id)),
                },
                ItemBody::Message(message) if message.role == mainstay_protocol::content::Role::User => {
                    if let Some((_, id)) = open.first() {
                        return Some(format!("the call of item {id} has no result"));
                    }
                }
                ItemBody::Message(_) | ItemBody::Reasoning(_) | ItemBody::Notice(_) => {}
            }
        }
        open.first().map(|(_, id)| format!("the call of item {id} has no result"))
    }
}

impl Private {
    /// An item as a reader gets it. The body is copied only when something must be taken out.
    fn show(&self, item: &Arc<Item>) -> Arc<Item> {
        match &item.private_part {
            Some(part) if !self.shows(part) => Arc::new(without_private_part(item)),
            _ => Arc::clone(item),
        }
    }

    fn shows(&self, part: &PrivatePart) -> bool {
        matches!(self, Self::Group(group) if **group == *part.context_group)
    }
}

fn without_private_part(item: &Item) -> Item {
    let Item { id, turn, step, call, at, body, private_part: _, extras } = item;
    Item {
        id: *id,
        turn: turn.clone(),
        step: *step,
        call: *call,
        at: *at,
        body: body.clone(),
        private_part: None,
        extras: extras.clone(),
    }
}

impl Transcript for View {
    fn count(&self) -> BoxFuture<'_, Result<u32, ReadFailure>> {
        let count = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        futures::future::ready(Ok(count)).boxed()
    }

    fn read(&self, start: u32, max: u32, bytes: usize) -> BoxFuture<'_, Result<Vec<Arc<Item>>, ReadFailure>> {
        let mut left = bytes;
        let mut page = Vec::new();
        for item in self.items.iter().skip(start as usize).take(max as usize) {
            let item = self.private.show(item);
            let size = item.bytes();
            page.push(item);
            if size >= left {
                break;
            }
            left -= size;
        }
        futures::future::ready(Ok(page)).boxed()
    }
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::{
        Timestamp,
        content::{Message, Notice, Part},
    };

    use super::*;

    fn item(id: u64, body: ItemBody) -> Item {
        let private_part = Some(PrivatePart { context_group: "one".to_owned(), bytes: vec![1] });
        Item { id: ItemId(id), turn: None, step: None, call: None, at: Timestamp(0), body, private_part, extras: None }
    }

    async fn read(view: &View) -> Vec<(u64, bool)> {
        let items = view.read(0, u32::MAX, usize::MAX).await.expect("it is in memory");
        items.iter().map(|item| (item.id.0, item.private_part.is_some())).collect()
    }

    #[tokio::test]
    async fn a_reader_gets_the_private_parts_of_its_own_group_and_a_model_no_notices() {
        let message = ItemBody::Message(Message::user(vec![Part::Text("hi".to_owned())]));
        let notice = ItemBody::Notice(Notice { code: "swap".to_owned(), text: String::new() });
        let view = History::default().view(&[item(1, message.clone()), item(2, notice), item(3, message)]);
        assert_eq!(read(&view.for_model("one")).await, [(1, true), (3, true)]);
        assert_eq!(read(&view.for_model("two")).await, [(1, false), (3, false)]);
        assert_eq!(read(&view.without_private_parts()).await, [(1, false), (2, false), (3, false)]);
        assert_eq!(view.for_model("one").count().await.ok(), Some(2));
    }

    #[tokio::test]
    async fn results_stand_in_call_order_also_around_a_notice() {
        let result = |id, step, call| Item {
            step: Some(mainstay_protocol::StepIndex(step)),
            call: Some(mainstay_protocol::CallIndex(call)),
            ..item(
                id,
                ItemBody::ToolResult(mainstay_protocol::content::CallResult {
                    call_id: call.to_string(),
                    name: String::new(),
                    content: Vec::new(),
                    is_error: false,
                    extras: None,
                }),
            )
        };
        let notice = item(3, ItemBody::Notice(Notice { code: "c".to_owned(), text: String::new() }));
        let items = [result(1, 0, 2), result(2, 0, 1), notice, result(4, 0, 0), result(5, 1, 1), result(6, 1, 0)];
        let view = History::default().view(&items);
        let order = |read: Vec<(u64, bool)>| read.into_iter().map(|(id, _)| id).collect::<Vec<_>>();
        assert_eq!(order(read(&view.without_private_parts()).await), [4, 2, 3, 1, 6, 5]);
        assert_eq!(order(read(&view.for_model("one")).await), [4, 2, 1, 6, 5]);
    }

    #[test]
    fn another_reader_copies_no_item() {
        let message = ItemBody::Message(Message::user(vec![Part::Text("hi".to_owned())]));
        let view = History::default().view(&[item(1, message)]);
        assert!(Arc::ptr_eq(&view.items, &view.without_private_parts().items));
        assert!(Arc::ptr_eq(&view.items, &view.for_model("one").items));
    }
}
