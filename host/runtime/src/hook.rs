//! The points where middleware decides something, and the capabilities that a grant opens.

use std::{fmt, str::FromStr};

/// A name that is none of the known ones.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no {what}; known are {known}")]
pub struct UnknownName {
    what: &'static str,
    name: String,
    known: String,
}

macro_rules! names {
    ($(#[$doc:meta])* $type:ident, $what:literal, { $($(#[$item:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type {
            $($(#[$item])* $variant,)+
        }

        impl $type {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name, as the manifest and the WIT package write it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $type {
            type Err = UnknownName;

            fn from_str(text: &str) -> Result<Self, UnknownName> {
                Self::ALL.iter().copied().find(|item| item.name() == text).ok_or_else(|| UnknownName {
                    what: $what,
                    name: text.chars().take(80).collect(),
                    known: Self::ALL.iter().map(|item| item.name()).collect::<Vec<_>>().join(", "),
                })
            }
        }
    };
}

names!(
    /// A point where middleware decides something. Exported by the plugin and granted by the operator, or not called.
    Hook, "hook", {
    /// A session opens.
    SessionHooks = "session-hooks",
    /// A message is about to start a turn.
    Input = "input",
    /// A step is about to call the model.
    Prepare = "prepare",
    /// The model has answered.
    ModelResponse = "model-response",
    /// A model call has failed.
    ModelError = "model-error",
    /// A call is planned: its arguments may change.
    ToolRewrite = "tool-rewrite",
    /// A call is planned: may it run?
    ToolGate = "tool-gate",
    /// A call has a result.
    ToolResult = "tool-result",
    /// The context window gets shorter.
    Compaction = "compaction",
    /// The model is done: may the turn end?
    Stop = "stop",
    /// Something became durable.
    Observer = "observer",
});

impl Hook {
    /// Whether this build of the host calls it. A granted hook that is not served refuses the load: a gate that nobody
    /// asks would fail open.
    pub const fn is_served(self) -> bool {
        matches!(self, Self::Input | Self::ToolGate | Self::Stop)
    }
}

names!(
    /// An import that answers `denied` unless the operator granted it.
    Capability, "granted import", {
    /// The session's history. A model adapter reads the history of its request without a grant.
    Transcript = "transcript",
    /// The tools of all active plugins.
    Catalog = "catalog",
    /// The model request of the current step.
    CurrentStep = "current-step",
    /// Durable values across the sessions of a tenant.
    PluginState = "plugin-state",
    /// Stored bytes.
    Blobs = "blobs",
    /// Placeholders for secrets.
    Secrets = "secrets",
    /// Model calls on the operator's routes.
    Models = "models",
});

/// What a component exports, beside hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Export {
    /// Tools for models.
    Tools,
    /// An adapter to a model provider.
    Model,
    /// Commands that people give by name. Not served by this build.
    Commands,
    /// A hook.
    Hook(Hook),
    /// Carries durable state from one layout to another.
    StateMigration,
    /// Lets the plugin refuse to be activated.
    SelfCheck,
}

impl Export {
    /// All of them, in the order in which errors list them.
    pub fn all() -> impl Iterator<Item = Self> {
        let hooks = Hook::ALL.iter().copied().map(Self::Hook);
        [Self::Tools, Self::Model, Self::Commands]
            .into_iter()
            .chain(hooks)
            .chain([Self::StateMigration, Self::SelfCheck])
    }

    /// The name of the interface.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Model => "model",
            Self::Commands => "commands",
            Self::Hook(hook) => hook.name(),
            Self::StateMigration => "state-migration",
            Self::SelfCheck => "self-check",
        }
    }
}

impl fmt::Display for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_unknown_ones_list_the_known() {
        for hook in Hook::ALL {
            assert_eq!(hook.name().parse(), Ok(*hook));
        }
        let error = "gate".parse::<Hook>().unwrap_err().to_string();
        assert!(error.starts_with("`gate` is no hook; known are session-hooks, input, "), "{error}");
        assert_eq!(Export::all().count(), 5 + Hook::ALL.len());
    }
}
