//! `log`: lines for operators and authors, within a budget. They also go to the host's own log, escaped.

use super::wit::log as wit;
use crate::{called::LogLevel, check, store::CallState};

impl wit::Host for CallState {
    fn write(&mut self, level: wit::Level, message: String, fields: Option<String>) -> wasmtime::Result<()> {
        let fields = fields.filter(|fields| check::json_object("fields", fields).is_ok());
        let dropped = self.logs.dropped;
        self.log(level.into(), message, fields);
        if self.logs.dropped == dropped {
            self.forward();
        }
        Ok(())
    }
}

impl CallState {
    /// Repeats the last line in the host's log. `Debug` escapes what could forge a line or steer a terminal.
    fn forward(&self) {
        let Some(line) = self.logs.lines.last() else { return };
        let (plugin, id) = (self.generation.name(), &self.invocation.invocation_id);
        let (message, fields) = (&line.message, line.fields.as_deref().unwrap_or_default());
        match line.level {
            LogLevel::Debug => tracing::debug!(target: "mainstay::plugin", %plugin, id, ?fields, "{message:?}"),
            LogLevel::Info => tracing::info!(target: "mainstay::plugin", %plugin, id, ?fields, "{message:?}"),
            LogLevel::Warn => tracing::warn!(target: "mainstay::plugin", %plugin, id, ?fields, "{message:?}"),
            LogLevel::Error => tracing::error!(target: "mainstay::plugin", %plugin, id, ?fields, "{message:?}"),
        }
    }
}

impl From<wit::Level> for LogLevel {
    fn from(level: wit::Level) -> Self {
        match level {
            wit::Level::Debug => Self::Debug,
            wit::Level::Info => Self::Info,
            wit::Level::Warn => Self::Warn,
            wit::Level::Error => Self::Error,
        }
    }
}
