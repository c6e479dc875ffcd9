//! Hooks: a plugin that starts to export one does not get to be called for it without consent.

use std::collections::BTreeSet;

use crate::read::Node;

words! {
    /// A point where middleware decides something.
    pub Hook, "a hook";
    /// When a session opens, resumes or closes.
    SessionHooks = "session-hooks",
    /// When a message is about to enter the transcript.
    Input = "input",
    /// Before a model call: tools offered, settings, system text.
    Prepare = "prepare",
    /// When a model has answered.
    ModelResponse = "model-response",
    /// When a model call has failed.
    ModelError = "model-error",
    /// Before the gates: new arguments.
    ToolRewrite = "tool-rewrite",
    /// May a call run? Allow, ask or deny.
    ToolGate = "tool-gate",
    /// When a tool has answered.
    ToolResult = "tool-result",
    /// When the context is about to be compacted.
    Compaction = "compaction",
    /// When a turn is about to end.
    Stop = "stop",
    /// After the commit, from a cursor of its own.
    Observer = "observer",
}

/// Exports that are not hooks: they are served because the plugin exports them.
const NO_GRANT_NEEDED: &[&str] = &["tools", "model", "commands", "state-migration", "self-check"];

pub(super) fn read(node: &Node<'_>) -> Option<BTreeSet<Hook>> {
    let hooks = node.keyed(|node| {
        let text = node.text()?;
        if NO_GRANT_NEEDED.contains(&text) {
            return node
                .bad(format!("`{text}` is an export that needs no grant"), "remove it: only hooks are listed here");
        }
        node.word().map(|hook: Hook| (hook, ()))
    })?;
    Some(hooks.into_keys().collect())
}
