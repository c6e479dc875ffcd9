//! The plugin's log, for operators and authors: `info!("read {count} lines")`.

use super::host::log as host;

pub use crate::bindings::imports::mainstay::plugin::log::Level;

/// Writes one line with optional fields (a JSON object). Never fails; what is over the call's budget is dropped.
pub fn write(level: Level, message: &str, fields: Option<&str>) {
    host::write(level, message, fields);
}

/// Logs a formatted line for authors.
#[macro_export]
macro_rules! debug {
    ($($arg:tt)+) => { $crate::log::write($crate::log::Level::Debug, &format!($($arg)+), None) };
}

/// Logs a formatted line that is worth knowing.
#[macro_export]
macro_rules! info {
    ($($arg:tt)+) => { $crate::log::write($crate::log::Level::Info, &format!($($arg)+), None) };
}

/// Logs a formatted line: something is off.
#[macro_export]
macro_rules! warn {
    ($($arg:tt)+) => { $crate::log::write($crate::log::Level::Warn, &format!($($arg)+), None) };
}

/// Logs a formatted line: something failed.
#[macro_export]
macro_rules! error {
    ($($arg:tt)+) => { $crate::log::write($crate::log::Level::Error, &format!($($arg)+), None) };
}
