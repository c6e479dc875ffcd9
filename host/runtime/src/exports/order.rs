//! The order rules of a completion (`model.wit`): a flat stream of deltas in which one item is open at a time.

use std::collections::BTreeSet;

use mainstay_protocol::model::Delta;

use crate::check::{self, Check, LONGEST_ARGUMENTS};

/// The most items and parts that one completion may have together.
const MOST_PIECES: usize = 1024;

/// Follows a completion and says when it breaks the rules.
#[derive(Debug, Default)]
pub(crate) struct Order {
    open: Option<OpenItem>,
    call_ids: BTreeSet<String>,
    pieces: usize,
    finished: bool,
}

#[derive(Debug)]
struct OpenItem {
    kind: Kind,
    has_private_part: bool,
}

#[derive(Debug)]
enum Kind {
    Message,
    Reasoning,
    ToolCall { call_id: String, arguments: String },
}

impl Order {
    /// Whether the completion has ended.
    pub(crate) const fn is_finished(&self) -> bool {
        self.finished
    }

    /// Takes the next delta.
    pub(crate) fn take(&mut self, delta: &Delta) -> Check {
        if self.finished {
            return Err("a delta comes after `finish`".to_owned());
        }
        match delta {
            Delta::Text(_) => self.message(),
            Delta::Part(part) => self.message().and_then(|()| self.piece()).and_then(|()| check::part(part)),
            Delta::Reasoning(_) => self.reasoning(),
            Delta::ToolCallBegin { call_id, name } => self.begin_call(call_id, name),
            Delta::ToolCallArguments(fragment) => self.arguments(fragment),
            Delta::PrivatePart(_) => self.private_part(),
            Delta::ItemEnd if self.open.is_none() => Err("`item-end` comes while no item is open".to_owned()),
            Delta::ItemEnd => self.close(),
            Delta::Usage(_) => Ok(()),
            Delta::Finish(finish) => {
                self.finished = true;
                check::short("the detail of `finish`", &finish.detail)?;
                self.close()
            }
        }
    }

    fn piece(&mut self) -> Check {
        self.pieces += 1;
        if self.pieces > MOST_PIECES {
            return Err(format!("a completion has more than {MOST_PIECES} items and parts"));
        }
        Ok(())
    }

    fn message(&mut self) -> Check {
        if matches!(self.open, Some(OpenItem { kind: Kind::Message, .. })) {
            return Ok(());
        }
        self.open(Kind::Message)
    }

    fn reasoning(&mut self) -> Check {
        if matches!(self.open, Some(OpenItem { kind: Kind::Reasoning, .. })) {
            return Ok(());
        }
        self.open(Kind::Reasoning)
    }

    fn begin_call(&mut self, call_id: &str, name: &str) -> Check {
        check::word("the id of a tool call", call_id)?;
        check::word("the name of a tool call", name)?;
        if !self.call_ids.insert(call_id.to_owned()) {
            return Err(format!("two tool calls have the id `{}`", check::clipped(call_id)));
        }
        self.open(Kind::ToolCall { call_id: call_id.to_owned(), arguments: String::new() })
    }

    fn arguments(&mut self, fragment: &str) -> Check {
        let Some(OpenItem { kind: Kind::ToolCall { arguments, .. }, .. }) = &mut self.open else {
            return Err("`tool-call-arguments` comes while no tool call is open".to_owned());
        };
        arguments.push_str(fragment);
        if arguments.len() > LONGEST_ARGUMENTS {
            return Err(format!("the arguments of a tool call have more than {LONGEST_ARGUMENTS} bytes"));
        }
        Ok(())
    }

    fn private_part(&mut self) -> Check {
        match &mut self.open {
            None => Err("`private-part` comes while no item is open".to_owned()),
            Some(open) if open.has_private_part => Err("an item has two private parts".to_owned()),
            Some(open) => {
                open.has_private_part = true;
                Ok(())
            }
        }
    }

    fn open(&mut self, kind: Kind) -> Check {
        self.close()?;
        self.piece()?;
        self.open = Some(OpenItem { kind, has_private_part: false });
        Ok(())
    }

    /// Closes the open item, if there is one. Arguments of a tool call are JSON text, or none at all.
    fn close(&mut self) -> Check {
        match self.open.take() {
            Some(OpenItem { kind: Kind::ToolCall { call_id, arguments }, .. }) if !arguments.trim().is_empty() => {
                check::json(&format!("arguments of the tool call `{}`", check::clipped(&call_id)), &arguments)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::{
        content::Part,
        model::{Finish, FinishReason, Usage},
    };

    use super::*;

    fn text() -> Delta {
        Delta::Text("hi".into())
    }

    fn begin(call_id: &str) -> Delta {
        Delta::ToolCallBegin { call_id: call_id.into(), name: "read_file".into() }
    }

    fn arguments(text: &str) -> Delta {
        Delta::ToolCallArguments(text.into())
    }

    fn finish() -> Delta {
        Delta::Finish(Finish { reason: FinishReason::Complete, detail: String::new(), model: None, response_id: None })
    }

    fn check(deltas: &[Delta]) -> Check {
        let mut order = Order::default();
        deltas.iter().try_for_each(|delta| order.take(delta))
    }

    #[test]
    fn good_completions_pass() {
        let private = || Delta::PrivatePart(vec![1]);
        let reasoning = || Delta::Reasoning(String::new());
        for deltas in [
            vec![finish()],
            vec![text(), text(), Delta::Usage(Usage::default()), finish()],
            vec![
                reasoning(),
                private(),
                text(),
                private(),
                begin("a"),
                arguments("{\"a\""),
                arguments(": 1}"),
                finish(),
            ],
            vec![begin("a"), private(), Delta::ItemEnd, begin("b"), arguments("{}"), text(), finish()],
            vec![text(), Delta::ItemEnd, text(), finish()],
        ] {
            assert_eq!(check(&deltas), Ok(()), "{deltas:?}");
        }
    }

    #[test]
    fn a_completion_has_so_many_items_and_parts_and_no_more() {
        let many = |pair: [Delta; 2]| vec![pair; MOST_PIECES].concat();
        let mut items = many([text(), Delta::ItemEnd]);
        assert_eq!(check(&items), Ok(()));
        items.push(text());
        assert!(check(&items).is_err_and(|why| why.contains("more than 1024")));
        assert!(check(&many([Delta::Text(String::new()), Delta::Reasoning(String::new())])).is_err());
        assert!(check(&vec![Delta::Part(Part::Text(String::new())); MOST_PIECES]).is_err());
    }

    #[test]
    fn broken_orders_are_named() {
        let private = || Delta::PrivatePart(vec![1]);
        for (deltas, why) in [
            (vec![Delta::ItemEnd], "no item is open"),
            (vec![text(), Delta::ItemEnd, Delta::ItemEnd], "no item is open"),
            (vec![private()], "no item is open"),
            (vec![text(), private(), private()], "two private parts"),
            (vec![arguments("{}")], "no tool call is open"),
            (vec![text(), arguments("{}")], "no tool call is open"),
            (vec![begin("a"), begin("a")], "two tool calls have the id `a`"),
            (vec![begin("")], "the id of a tool call is empty"),
            (vec![begin("a"), arguments("{"), finish()], "arguments of the tool call `a` is not JSON"),
            (vec![finish(), text()], "after `finish`"),
        ] {
            let error = check(&deltas).unwrap_err();
            assert!(error.contains(why), "{deltas:?}: {error}");
        }
    }
}
