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
            after = page.rows.last().map_or(after, |item| item.id);
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
        View { items: items.into() }
    }
}

/// Results of one step stand in the order of their calls, whichever ended first.
fn sort_results(items: &mut [Arc<Item>]) {
    let mut rest = items;
    while let Some(start) = rest.iter().position(|item| is_result(item)) {
        let tail = &mut rest[start..];
        let step = |item: &Item| (item.turn.clone(), item.step);
        let first = step(&tail[0]);
        let count = tail.iter().take_while(|item| is_result(item) && step(item) == first).count();
        let (results, after) = tail.split_at_mut(count);
        results.sort_by_key(|item| item.call);
        rest = after;
    }
}

fn is_result(item: &Item) -> bool {
    matches!(item.body, ItemBody::ToolResult(_))
}

/// The history as one call sees it.
#[derive(Clone, Debug)]
pub(crate) struct View {
    items: Arc<[Arc<Item>]>,
}

impl View {
    /// An item.
    pub(crate) fn find(&self, id: ItemId) -> Option<&Arc<Item>> {
        self.items.iter().rev().find(|item| item.id == id)
    }

    /// What a model gets: no notices, and of the private parts only those of its own context group.
    pub(crate) fn for_model(&self, context_group: &str) -> Self {
        let visible = self.items.iter().filter(|item| !matches!(item.body, ItemBody::Notice(_)));
        Self { items: visible.map(|item| keep_private(item, Some(context_group))).collect() }
    }

    /// What a hook or a tool gets: no private parts.
    pub(crate) fn without_private_parts(&self) -> Self {
        Self { items: self.items.iter().map(|item| keep_private(item, None)).collect() }
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

fn keep_private(item: &Arc<Item>, context_group: Option<&str>) -> Arc<Item> {
    match &item.private_part {
        Some(PrivatePart { context_group: made_by, .. }) if Some(made_by.as_str()) != context_group => {
            Arc::new(Item { private_part: None, ..Item::clone(item) })
        }
        _ => Arc::clone(item),
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
            page.push(Arc::clone(item));
            let size = payload(item);
            if size >= left {
                break;
            }
            left -= size;
        }
        futures::future::ready(Ok(page)).boxed()
    }
}

fn payload(item: &Item) -> usize {
    use mainstay_protocol::content::Part;
    let parts = |parts: &[Part]| parts.iter().map(Part::bytes).sum::<usize>();
    let body = match &item.body {
        ItemBody::Message(message) => parts(&message.content),
        ItemBody::Reasoning(text) => text.len(),
        ItemBody::ToolCall(call) => call.arguments.len(),
        ItemBody::ToolResult(result) => parts(&result.content),
        ItemBody::Notice(notice) => notice.text.len(),
    };
    body + item.private_part.as_ref().map_or(0, |private| private.bytes.len())
}
