//! `transcript`: the session's history, read lazily. A model adapter always reads the history of its own request.

use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use mainstay_protocol::{
    TurnId,
    content::{Item, ItemBody, Part},
};
use serde::Serialize;
use wasmtime::component::Resource;

use super::{Answer, denied, not_found, wit::transcript as wit};
use crate::{
    convert,
    hook::{Capability, Export},
    invocation::Transcript,
    outcome::Stop,
    store::CallState,
};

/// About how many bytes one read gives.
const READ_BYTES: usize = 1 << 20;
/// The most items that one read gives.
const READ_ITEMS: u32 = 4096;

/// An open history.
#[allow(unreachable_pub, reason = "the generated bindings re-export it inside the crate")]
pub struct View {
    transcript: Arc<dyn Transcript>,
    len: u32,
}

impl wit::Host for CallState {
    async fn open(&mut self) -> Answer<Resource<View>> {
        if self.serving != Export::Model && !self.allows(Capability::Transcript) {
            return Ok(Err(denied(Capability::Transcript)));
        }
        let Some(transcript) = self.invocation.transcript.clone() else {
            return Ok(Err(not_found("this call runs outside a session")));
        };
        let len = transcript.count().await.map_err(Stop::from)?;
        Ok(Ok(self.table.push(View { transcript, len })?))
    }
}

impl wit::HostView for CallState {
    async fn len(&mut self, view: Resource<View>) -> wasmtime::Result<u32> {
        Ok(self.table.get(&view)?.len)
    }

    async fn read(&mut self, view: Resource<View>, start: u32, max: u32) -> wasmtime::Result<Vec<wit::Item>> {
        let items = self.items(&view, start, max).await?;
        let group = self.context_group();
        Ok(items.iter().map(|item| convert::item(item, group)).collect())
    }

    async fn read_json(&mut self, view: Resource<View>, start: u32, max: u32) -> wasmtime::Result<Vec<u8>> {
        let items = self.items(&view, start, max).await?;
        let group = self.context_group();
        let items: Vec<_> = items.iter().map(|item| JsonItem::new(item, group)).collect();
        serde_json::to_vec(&items).map_err(|error| Stop::Host(format!("an item has no JSON form: {error}")).into())
    }

    async fn tail(&mut self, view: Resource<View>, max: u32) -> wasmtime::Result<Vec<wit::Item>> {
        let len = self.table.get(&view)?.len;
        let max = max.min(READ_ITEMS);
        let mut items = self.items(&view, len.saturating_sub(max), max).await?;
        // A read stops when it has enough bytes: of a tail, the end is what counts, so the rest is read too.
        let mut next = len.saturating_sub(max) + u32::try_from(items.len()).unwrap_or(u32::MAX);
        while next < len {
            let more = self.items(&view, next, len - next).await?;
            if more.is_empty() {
                break;
            }
            next += u32::try_from(more.len()).unwrap_or(u32::MAX);
            items.extend(more);
            items.drain(..items.len() - fitting(items.iter().rev()));
        }
        let group = self.context_group();
        Ok(items.iter().map(|item| convert::item(item, group)).collect())
    }

    async fn drop(&mut self, view: Resource<View>) -> wasmtime::Result<()> {
        self.table.delete(view)?;
        Ok(())
    }
}

impl CallState {
    async fn items(&mut self, view: &Resource<View>, start: u32, max: u32) -> wasmtime::Result<Vec<Arc<Item>>> {
        let View { transcript, len } = self.table.get(view)?;
        let max = max.min(len.saturating_sub(start)).min(READ_ITEMS);
        if max == 0 {
            return Ok(Vec::new());
        }
        let transcript = Arc::clone(transcript);
        let mut items = transcript.read(start, max, READ_BYTES).await.map_err(Stop::from)?;
        items.truncate(usize::try_from(max).unwrap_or(usize::MAX));
        items.truncate(fitting(items.iter()));
        Ok(items)
    }

    /// Whose private parts the guest may see: an adapter's own, and nobody else's.
    fn context_group(&self) -> Option<&str> {
        if self.serving == Export::Model { self.invocation.context_group.as_deref() } else { None }
    }
}

/// How many items fit into one read: at least one.
fn fitting<'a>(items: impl Iterator<Item = &'a Arc<Item>>) -> usize {
    let mut bytes = 0;
    let mut count = 0;
    for item in items {
        bytes += size(item);
        if count > 0 && bytes > READ_BYTES {
            break;
        }
        count += 1;
    }
    count
}

fn size(item: &Item) -> usize {
    let body = match &item.body {
        ItemBody::Message(message) => message.content.iter().map(Part::bytes).sum(),
        ItemBody::Reasoning(text) => text.len(),
        ItemBody::ToolCall(call) => call.arguments.len(),
        ItemBody::ToolResult(result) => result.content.iter().map(Part::bytes).sum(),
        ItemBody::Notice(notice) => notice.text.len(),
    };
    let private = item.private_part.as_ref().map_or(0, |private| private.bytes.len());
    body + private + item.extras.as_ref().map_or(0, String::len)
}

/// An item as `read-json` promises it: the names of the WIT record in snake case.
#[derive(Serialize)]
struct JsonItem<'a> {
    ordinal: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<&'a str>,
    at_ms: u64,
    body: &'a ItemBody,
    #[serde(skip_serializing_if = "Option::is_none")]
    private_part: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extras: Option<&'a str>,
}

impl<'a> JsonItem<'a> {
    fn new(item: &'a Item, context_group: Option<&str>) -> Self {
        Self {
            ordinal: item.id.0,
            turn: item.turn.as_ref().map(TurnId::as_str),
            at_ms: item.at.as_millis(),
            body: &item.body,
            private_part: convert::private_part(item, context_group).map(|bytes| BASE64_STANDARD.encode(bytes)),
            extras: item.extras.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::{
        ItemId, Timestamp,
        content::{Message, PrivatePart},
    };

    use super::*;

    fn item(bytes: usize) -> Arc<Item> {
        Arc::new(Item {
            id: ItemId(7),
            turn: None,
            step: None,
            call: None,
            at: Timestamp(5),
            body: ItemBody::Message(Message::user(vec![Part::Text("x".repeat(bytes))])),
            private_part: Some(PrivatePart { context_group: "openai".into(), bytes: vec![1, 2, 3] }),
            extras: None,
        })
    }

    #[test]
    fn a_read_is_bounded_and_never_empty() {
        let half = item(READ_BYTES / 2 - 10);
        assert_eq!(fitting([&item(READ_BYTES * 2)].into_iter()), 1);
        assert_eq!(fitting([&half, &half, &half].into_iter()), 2);
    }

    #[test]
    fn the_json_form_has_the_names_of_the_wit_and_hides_private_parts_of_others() {
        let json = |group| serde_json::to_string(&JsonItem::new(&item(1), group)).unwrap();
        let body = r#""ordinal":7,"at_ms":5,"body":{"message":{"role":"user","content":[{"text":"x"}]}}"#;
        assert_eq!(json(None), format!("{{{body}}}"));
        assert_eq!(json(Some("anthropic")), format!("{{{body}}}"));
        assert_eq!(json(Some("openai")), format!(r#"{{{body},"private_part":"AQID"}}"#));
    }
}
