//! `[tool.<name>]`: the operator's word over a plugin's claims about its tools.

use super::{Declared, cross};
use crate::names::{PluginName, ToolName};
use crate::read::Node;

words! {
    /// What may be done with a call whose result was lost in a crash.
    pub Effect, "an effect class";
    /// No effect outside: may run again.
    Pure = "pure",
    /// May run again with the same idempotency key.
    Idempotent = "idempotent",
    /// Never runs twice; a lost result stays unknown.
    AtMostOnce = "at-most-once",
}

words! {
    /// Whether a person should allow a call. The order is that of caution.
    pub Approval, "an approval need";
    /// It runs without a question.
    Unneeded = "unneeded",
    /// Ask, unless a rule that a person approved covers the call.
    Ask = "ask",
    /// Ask each time; no rule covers it.
    AskEachTime = "ask-each-time",
}

words! {
    /// Whether calls may overlap.
    pub Execution, "an execution mode";
    /// May overlap with other parallel calls of the same step.
    Parallel = "parallel",
    /// Runs alone: a barrier for the calls before and after it.
    Exclusive = "exclusive",
}

/// What the operator says about a tool. What is not said here stays the plugin's claim, but for approval: a tool whose
/// approval the operator does not settle asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolEntry {
    name: ToolName,
    plugin: Option<PluginName>,
    effect: Option<Effect>,
    approval: Option<Approval>,
    execution: Option<Execution>,
}

impl ToolEntry {
    /// The tool, as the model calls it.
    pub fn name(&self) -> &ToolName {
        &self.name
    }

    /// The only plugin that may serve it, when the operator says so.
    pub fn plugin(&self) -> Option<&PluginName> {
        self.plugin.as_ref()
    }

    /// The effect class, over the plugin's claim.
    pub fn effect(&self) -> Option<Effect> {
        self.effect
    }

    /// The approval need, over the plugin's opinion.
    pub fn approval(&self) -> Option<Approval> {
        self.approval
    }

    /// The execution mode, over the plugin's claim.
    pub fn execution(&self) -> Option<Execution> {
        self.execution
    }

    pub(super) fn read(name: Option<ToolName>, node: &Node<'_>, declared: &Declared) -> Option<Self> {
        node.fields(|fields| {
            let plugin = fields.optional("plugin", |node| cross::read_plugin(node, declared));
            let effect = fields.optional("effect", Node::word);
            let approval = fields.optional("approval", Node::word);
            let execution = fields.optional("execution", Node::word);
            Some(Self { name: name?, plugin, effect, approval, execution })
        })
    }
}
