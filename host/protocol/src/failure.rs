//! Why a plugin gave no result. Each way to fail is a type of its own, because people and policies treat them differently.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the caller can do about an error that a plugin returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The caller passed something wrong.
    InvalidArgument,
    /// The named thing does not exist, or the caller may not know that it does.
    NotFound,
    /// A grant, a policy or the remote side forbids it.
    Denied,
    /// It exists already, or has another version.
    Conflict,
    /// A quota, a size bound or a budget is used up.
    LimitExceeded,
    /// The other side is overloaded or out of reach for now.
    Unavailable,
    /// The time allowed has passed.
    TimedOut,
    /// The caller or a person called it off.
    Cancelled,
    /// This side does not do that at all.
    Unsupported,
    /// Anything else.
    Internal,
}

/// An error that a plugin returned as a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PluginError {
    /// What the caller can do.
    pub kind: ErrorKind,
    /// A stable word for programs; may be empty.
    pub code: String,
    /// One sentence, as untrusted text.
    pub message: String,
    /// With `unavailable`: wait at least this many milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u32>,
    /// A JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extras: Option<String>,
}

impl PluginError {
    /// An error with a kind, a code and a message.
    pub fn new(kind: ErrorKind, code: &str, message: impl Into<String>) -> Self {
        Self { kind, code: code.to_owned(), message: message.into(), retry_after_ms: None, extras: None }
    }
}

/// A limit of a call's store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Bytes of all linear memories together.
    Memory,
    /// Elements of all tables together.
    TableElements,
    /// Core instances, memories and tables of one component.
    Instances,
    /// Handles that the guest holds: files, streams, clocks.
    Handles,
    /// Bytes that pass from the guest into one call of the host.
    Hostcall,
    /// Bytes of the call's result.
    Output,
    /// Bytes of durable plugin state.
    State,
}

impl Limit {
    /// The setting in the manifest, `limits.<name>`.
    pub const fn setting(self) -> &'static str {
        match self {
            Self::Memory => "limits.memory",
            Self::TableElements => "limits.table_elements",
            Self::Instances => "limits.instances",
            Self::Handles => "limits.handles",
            Self::Hostcall => "limits.hostcall",
            Self::Output => "limits.output",
            Self::State => "limits.state",
        }
    }
}

/// Why a call into a plugin gave no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error, JsonSchema)]
#[serde(tag = "failure", rename_all = "snake_case")]
pub enum CallFailure {
    /// The guest trapped: a panic, an uncaught exception, an unreachable instruction, an exhausted stack.
    #[error("the plugin trapped: {message}")]
    Trap {
        /// What the engine says.
        message: String,
    },
    /// The wall-clock deadline passed, awaited host calls included.
    #[error("the plugin did not finish within {allowed_ms} ms (limits.call)")]
    Timeout {
        /// The time allowed, in milliseconds.
        allowed_ms: u64,
    },
    /// The guest ran into a limit.
    #[error("the plugin ran into its limit of {allowed} ({})", limit.setting())]
    LimitExceeded {
        /// Which one.
        limit: Limit,
        /// Its value, in bytes or pieces.
        allowed: u64,
    },
    /// The host refused to run the call: the plugin does not serve it, or the operator did not grant it.
    #[error("the host refused: {reason}")]
    Refused {
        /// Why.
        reason: String,
    },
    /// The guest returned an error.
    #[error("{}", .0.message)]
    Guest(PluginError),
    /// The guest returned something that breaks the contract.
    #[error("the plugin's answer breaks the contract: {reason}")]
    BadOutput {
        /// What is wrong with it.
        reason: String,
    },
    /// No place for the call became free in time. Retryable.
    #[error(
        "the host is busy: no place for the call became free within {waited_ms} ms; try again, or raise `host.limits.calls`"
    )]
    Busy {
        /// How long the call waited, in milliseconds.
        waited_ms: u64,
    },
    /// The host itself failed: a bug, or the machine.
    #[error("the host failed while it ran the plugin: {message}")]
    Host {
        /// What happened, without paths or secrets.
        message: String,
    },
}

impl CallFailure {
    /// A stable word for records and programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Trap { .. } => "trap",
            Self::Timeout { .. } => "timeout",
            Self::LimitExceeded { .. } => "limit",
            Self::Refused { .. } => "refused",
            Self::Guest(_) => "guest-error",
            Self::BadOutput { .. } => "bad-output",
            Self::Busy { .. } => "busy",
            Self::Host { .. } => "host",
        }
    }
}
