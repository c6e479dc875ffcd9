//! The approvals that wait, and who answers them.

use std::collections::VecDeque;

use mainstay_protocol::{ApprovalId, op::ApprovalAnswer};
use mainstay_server::wire::v1::ApprovalView;
use serde::Deserialize;

use crate::args::Approve;

/// Who answers approvals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asker {
    /// The policy, with this answer.
    Policy(ApprovalAnswer),
    /// The person at the terminal.
    Person,
    /// A program, by lines of JSON.
    Program,
    /// Nobody here.
    Nobody,
}

impl Asker {
    pub(super) fn choose(approve: Option<Approve>, json: bool, terminal: bool) -> Self {
        match approve.unwrap_or(Approve::Ask) {
            Approve::All => Self::Policy(ApprovalAnswer::Approve),
            Approve::None => Self::Policy(ApprovalAnswer::Deny),
            Approve::Ask if json => Self::Program,
            Approve::Ask if terminal => Self::Person,
            Approve::Ask => Self::Nobody,
        }
    }
}

/// The approvals that wait, in the order in which they are asked.
#[derive(Debug, Default)]
pub(super) struct Pending {
    queue: VecDeque<ApprovalView>,
    /// Whether the first one has been put to somebody.
    asked: bool,
}

impl Pending {
    /// Takes what the session says is pending; what is asked already stays asked.
    pub(super) fn update(&mut self, approvals: &[ApprovalView]) {
        let before = self.queue.front().map(|first| first.approval.clone());
        self.queue = approvals.iter().cloned().collect();
        self.asked &= before.is_some() && before == self.queue.front().map(|first| first.approval.clone());
    }

    /// One was answered, here or elsewhere.
    pub(super) fn resolved(&mut self, approval: &ApprovalId) {
        self.asked &= self.queue.front().is_some_and(|first| first.approval != *approval);
        self.queue.retain(|waiting| waiting.approval != *approval);
    }

    /// The first one, if nobody was asked yet; then somebody was.
    pub(super) fn ask(&mut self) -> Option<ApprovalView> {
        if self.asked {
            return None;
        }
        let first = self.queue.front()?.clone();
        self.asked = true;
        Some(first)
    }

    /// The one that somebody was asked about.
    pub(super) fn asked(&self) -> Option<&ApprovalView> {
        self.queue.front().filter(|_| self.asked)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &ApprovalView> {
        self.queue.iter()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

/// A line of standard input with `--json`.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum Line {
    /// An answer.
    Answer(Answer),
    /// Calls off the running turn.
    Interrupt(Interrupt),
}

/// `{"approval": "...", "answer": "approve"}`
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    pub(super) approval: ApprovalId,
    pub(super) answer: ApprovalAnswer,
    #[serde(default)]
    pub(super) comment: Option<String>,
}

/// `{"interrupt": true}`
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Interrupt {
    pub(super) interrupt: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::ask::tests::sample;

    fn view(id: &str) -> ApprovalView {
        ApprovalView { approval: ApprovalId::new(id).unwrap(), ..sample("{}", vec![]) }
    }

    fn id(id: &str) -> ApprovalId {
        ApprovalId::new(id).unwrap()
    }

    #[test]
    fn each_is_asked_once_and_in_order() {
        let mut pending = Pending::default();
        pending.update(&[view("a"), view("b")]);
        assert_eq!(pending.ask().unwrap().approval, id("a"));
        assert_eq!(pending.ask(), None);
        pending.update(&[view("a"), view("b")]);
        assert_eq!(pending.ask(), None);
        pending.resolved(&id("a"));
        assert_eq!(pending.ask().unwrap().approval, id("b"));
        pending.resolved(&id("b"));
        assert!(pending.is_empty() && pending.asked().is_none());
    }

    #[test]
    fn one_that_was_answered_elsewhere_is_asked_no_more() {
        let mut pending = Pending::default();
        pending.update(&[view("a"), view("b"), view("c")]);
        pending.ask();
        pending.resolved(&id("b"));
        assert_eq!(pending.asked().unwrap().approval, id("a"));
        pending.update(&[view("c")]);
        assert_eq!(pending.ask().unwrap().approval, id("c"));
    }

    #[test]
    fn lines_are_read() {
        let answer = Answer { approval: id("a"), answer: ApprovalAnswer::Deny, comment: Some("no".into()) };
        let line = r#"{"approval": "a", "answer": "deny", "comment": "no"}"#;
        assert_eq!(serde_json::from_str::<Line>(line).unwrap(), Line::Answer(answer));
        assert!(serde_json::from_str::<Line>(r#"{"interrupt": true}"#).is_ok());
        assert!(serde_json::from_str::<Line>(r#"{"approval": "a", "answer": "perhaps"}"#).is_err());
    }

    #[test]
    fn who_answers() {
        assert_eq!(Asker::choose(None, false, true), Asker::Person);
        assert_eq!(Asker::choose(Some(Approve::Ask), false, false), Asker::Nobody);
        assert_eq!(Asker::choose(None, true, true), Asker::Program);
        assert_eq!(Asker::choose(Some(Approve::None), true, true), Asker::Policy(ApprovalAnswer::Deny));
    }
}
