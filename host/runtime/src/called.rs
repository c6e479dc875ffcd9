//! What comes back from a call, whatever its outcome.

use std::time::Duration;

use mainstay_protocol::failure::CallFailure;

use crate::staged::StagedState;

/// How much a log line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// For authors.
    Debug,
    /// Worth knowing.
    Info,
    /// Something is off.
    Warn,
    /// Something failed.
    Error,
}

/// A line of a plugin's log. Untrusted text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// How much it matters.
    pub level: LogLevel,
    /// The message.
    pub message: String,
    /// A JSON object.
    pub fields: Option<String>,
}

/// The log of a call, within its budget of bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Logs {
    /// The lines, in order.
    pub lines: Vec<LogLine>,
    /// How many lines did not fit into `limits.log`.
    pub dropped: u64,
}

/// A call that has ended.
#[derive(Debug)]
pub struct Called<T> {
    /// The checked result, or why there is none.
    pub result: Result<T, CallFailure>,
    /// What it wrote, together with what was staged before it. Empty when the call failed.
    pub staged: StagedState,
    /// The end of what it wrote to standard output and standard error: toolchains say there why they trapped. Untrusted.
    pub stderr_tail: String,
    /// Its log.
    pub logs: Logs,
    /// How long it ran, without the wait for a place.
    pub elapsed: Duration,
}

impl<T> Called<T> {
    /// Something that goes on: its report comes when it ends.
    pub(crate) fn started(value: T) -> Self {
        Self::without_report(Ok(value))
    }

    /// A call that was never started.
    pub(crate) fn not_started(failure: CallFailure) -> Self {
        Self::without_report(Err(failure))
    }

    fn without_report(result: Result<T, CallFailure>) -> Self {
        Self {
            result,
            staged: StagedState::default(),
            stderr_tail: String::new(),
            logs: Logs::default(),
            elapsed: Duration::ZERO,
        }
    }
}
