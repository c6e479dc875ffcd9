//! Deltas to items: a completion is a sequence of items of which one is open at a time. Half a tool call never counts.

use std::collections::BTreeSet;

use mainstay_protocol::{
    content::{ItemBody, Message, Part, PrivatePart, Role, ToolCall},
    model::{Delta, Finish, Usage},
};
use mainstay_session::{MAX_CALLS_PER_STEP, OutputItem};

use super::output_bounds;

/// Bytes that one completion may have.
const MAX_OUTPUT: usize = 16 << 20;
/// Bytes that the arguments of one call may have.
const MAX_ARGUMENTS: usize = 4 << 20;

/// Bytes that each delta counts at least, whatever it carries.
const MIN_DELTA: usize = 16;
/// Items and parts that one completion may have together.
const MAX_PIECES: usize = 1024;

/// The item that is open.
enum Open {
    Message(Vec<Part>),
    Reasoning(String),
    Call(ToolCall),
}

/// A completion so far.
pub(crate) struct Assembler {
    context_group: String,
    items: Vec<OutputItem>,
    open: Option<(Open, Option<Vec<u8>>)>,
    call_ids: BTreeSet<String>,
    bytes: usize,
    pieces: usize,
    usage: Option<Usage>,
    finish: Option<Finish>,
}

/// A completion that ended.
pub(crate) struct Assembled {
    pub(crate) items: Vec<OutputItem>,
    pub(crate) usage: Option<Usage>,
    pub(crate) finish: Finish,
}

/// Why a completion can't be accepted.
pub(crate) type Broken = String;

impl Assembler {
    pub(crate) fn new(context_group: &str) -> Self {
        Self {
            context_group: context_group.to_owned(),
            items: Vec::new(),
            open: None,
            call_ids: BTreeSet::new(),
            bytes: 0,
            pieces: 0,
            usage: None,
            finish: None,
        }
    }

    /// Takes the next piece.
    pub(crate) fn take(&mut self, delta: Delta) -> Result<(), Broken> {
        if self.finish.is_some() {
            return Err("it goes on after its end".to_owned());
        }
        self.count(&delta)?;
        match delta {
            Delta::Text(text) => self.text(&text),
            Delta::Part(part) => self.part(part),
            Delta::Reasoning(text) => self.reasoning(&text),
            Delta::ToolCallBegin { call_id, name } => self.begin_call(call_id, name),
            Delta::ToolCallArguments(fragment) => self.arguments(&fragment),
            Delta::PrivatePart(bytes) => self.private_part(bytes),
            Delta::ItemEnd => self.close(),
            Delta::Usage(usage) => {
                self.usage = Some(usage);
                Ok(())
            }
            Delta::Finish(finish) => {
                self.close()?;
                self.finish = Some(finish);
                Ok(())
            }
        }
    }

    /// The whole, once `finish` has come.
    pub(crate) fn end(self) -> Result<Assembled, Broken> {
        let finish = self.finish.ok_or("it ended without `finish`")?;
        Ok(Assembled { items: self.items, usage: self.usage, finish })
    }

    pub(crate) fn has_finished(&self) -> bool {
        self.finish.is_some()
    }

    pub(crate) fn usage(&self) -> Option<&Usage> {
        self.usage.as_ref()
    }

    fn count(&mut self, delta: &Delta) -> Result<(), Broken> {
        let bytes = match delta {
            Delta::Text(text) | Delta::Reasoning(text) | Delta::ToolCallArguments(text) => text.len(),
            Delta::Part(part) => output_bounds::size(part),
            Delta::PrivatePart(bytes) => bytes.len(),
            Delta::ToolCallBegin { call_id, name } => call_id.len() + name.len(),
            Delta::ItemEnd | Delta::Usage(_) | Delta::Finish(_) => 0,
        };
        self.bytes += bytes.max(MIN_DELTA);
        if self.bytes > MAX_OUTPUT {
            return Err(format!("it has more than {MAX_OUTPUT} bytes"));
        }
        Ok(())
    }

    fn count_piece(&mut self) -> Result<(), Broken> {
        self.pieces += 1;
        if self.pieces > MAX_PIECES {
            return Err(format!("it has more than {MAX_PIECES} items and parts"));
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), Broken> {
        if let Some((Open::Message(parts), _)) = &mut self.open {
            match parts.last_mut() {
                Some(Part::Text(open)) => open.push_str(text),
                _ => parts.push(Part::Text(text.to_owned())),
            }
            return Ok(());
        }
        self.replace(Open::Message(vec![Part::Text(text.to_owned())]))
    }

    fn part(&mut self, part: Part) -> Result<(), Broken> {
        self.count_piece()?;
        if let Some((Open::Message(parts), _)) = &mut self.open {
            parts.push(part);
            return Ok(());
        }
        self.replace(Open::Message(vec![part]))
    }

    fn reasoning(&mut self, text: &str) -> Result<(), Broken> {
        if let Some((Open::Reasoning(open), _)) = &mut self.open {
            open.push_str(text);
            return Ok(());
        }
        self.replace(Open::Reasoning(text.to_owned()))
    }

    fn begin_call(&mut self, call_id: String, name: String) -> Result<(), Broken> {
        if call_id.is_empty() || name.is_empty() {
            return Err("a tool call has no id or no name".to_owned());
        }
        if !self.call_ids.insert(call_id.clone()) {
            return Err(format!("two tool calls of one step have the id `{call_id}`"));
        }
        if self.call_ids.len() > MAX_CALLS_PER_STEP {
            return Err(format!("it has more than {MAX_CALLS_PER_STEP} tool calls"));
        }
        self.replace(Open::Call(ToolCall { call_id, name, arguments: String::new() }))
    }

    fn arguments(&mut self, fragment: &str) -> Result<(), Broken> {
        let Some((Open::Call(call), _)) = &mut self.open else {
            return Err("arguments come without an open tool call".to_owned());
        };
        call.arguments.push_str(fragment);
        if call.arguments.len() > MAX_ARGUMENTS {
            return Err(format!("the arguments of `{}` have more than {MAX_ARGUMENTS} bytes", call.name));
        }
        Ok(())
    }

    fn private_part(&mut self, bytes: Vec<u8>) -> Result<(), Broken> {
        match &mut self.open {
            Some((_, private @ None)) => {
                *private = Some(bytes);
                Ok(())
            }
            Some(_) => Err("an item has two private parts".to_owned()),
            None => Err("a private part comes without an open item".to_owned()),
        }
    }

    fn replace(&mut self, next: Open) -> Result<(), Broken> {
        self.close()?;
        self.count_piece()?;
        self.open = Some((next, None));
        Ok(())
    }

    fn close(&mut self) -> Result<(), Broken> {
        let Some((open, private)) = self.open.take() else { return Ok(()) };
        let body = match open {
            Open::Message(content) => ItemBody::Message(Message { role: Role::Assistant, content }),
            Open::Reasoning(text) => ItemBody::Reasoning(text),
            Open::Call(call) => ItemBody::ToolCall(checked(call)?),
        };
        let context_group = self.context_group.clone();
        let private_part = private.map(|bytes| PrivatePart { context_group, bytes });
        self.items.push(OutputItem { body, private_part });
        Ok(())
    }
}

fn checked(mut call: ToolCall) -> Result<ToolCall, Broken> {
    if call.arguments.trim().is_empty() {
        "{}".clone_into(&mut call.arguments);
    }
    match serde_json::from_str::<serde::de::IgnoredAny>(&call.arguments) {
        Ok(_) => Ok(call),
        Err(error) => Err(format!("the arguments of `{}` are not JSON: {error}", call.name)),
    }
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::model::FinishReason;

    use super::*;

    fn assemble(deltas: Vec<Delta>) -> Result<Assembled, Broken> {
        let mut assembler = Assembler::new("group");
        deltas.into_iter().try_for_each(|delta| assembler.take(delta))?;
        assembler.end()
    }

    fn finish() -> Delta {
        Delta::Finish(Finish { reason: FinishReason::Complete, detail: String::new(), model: None, response_id: None })
    }

    fn begin(id: &str) -> Delta {
        Delta::ToolCallBegin { call_id: id.to_owned(), name: "tool".to_owned() }
    }

    #[test]
    fn deltas_become_items() {
        let text = |text: &str| Delta::Text(text.to_owned());
        let deltas = vec![
            Delta::Reasoning("why".into()),
            Delta::PrivatePart(vec![1]),
            text("a"),
            text("b"),
            Delta::ItemEnd,
            text("c"),
            begin("1"),
            Delta::ToolCallArguments("{\"x\":".into()),
            Delta::ToolCallArguments("1}".into()),
            begin("2"),
            finish(),
        ];
        let whole = assemble(deltas).unwrap_or_else(|broken| panic!("{broken}"));
        let kinds: Vec<_> = whole
            .items
            .iter()
            .map(|item| match &item.body {
                ItemBody::Reasoning(text) => format!("r:{text}:{}", item.private_part.is_some()),
                ItemBody::Message(message) => format!("m:{}", mainstay_protocol::content::plain_text(&message.content)),
                ItemBody::ToolCall(call) => format!("t:{}:{}", call.call_id, call.arguments),
                _ => String::new(),
            })
            .collect();
        assert_eq!(kinds, ["r:why:true", "m:ab", "m:c", "t:1:{\"x\":1}", "t:2:{}"]);
    }

    #[test]
    fn empty_deltas_are_not_free() {
        let alternating =
            (0..2_000).map(|n| if n % 2 == 0 { Delta::Text("".into()) } else { Delta::Reasoning("".into()) });
        assert!(assemble(alternating.collect()).is_err_and(|broken| broken.contains("1024 items")));
        let parts = vec![Delta::Part(Part::Json("1".into())); 2_000];
        assert!(assemble(parts).is_err_and(|broken| broken.contains("1024 items")));
        let texts = vec![Delta::Text(String::new()); MAX_OUTPUT / MIN_DELTA + 1];
        assert!(assemble(texts).is_err_and(|broken| broken.contains("bytes")));
    }

    #[test]
    fn broken_completions_are_refused() {
        let cases = [
            (vec![begin("1")], "without `finish`"),
            (vec![begin("1"), begin("1"), finish()], "have the id `1`"),
            (vec![begin("1"), Delta::ToolCallArguments("{".into()), finish()], "are not JSON"),
            (vec![Delta::ToolCallArguments("{".into())], "without an open tool call"),
            (vec![Delta::PrivatePart(vec![])], "without an open item"),
            (vec![finish(), Delta::Text("more".into())], "after its end"),
        ];
        for (deltas, expected) in cases {
            let broken = assemble(deltas).err().unwrap_or_default();
            assert!(broken.contains(expected), "{broken} / {expected}");
        }
    }
}
