//! The few styles, named by what they mean. `anstream` leaves them out where nobody can see them: no terminal, `NO_COLOR`,
//! `TERM=dumb`.

use std::fmt;

use anstyle::{AnsiColor, Effects, Style};

/// What the model thinks, and what Mainstay says beside the work.
pub(crate) const QUIET: Style = Style::new().effects(Effects::DIMMED);
/// Names that matter: a tool, a plugin, a heading.
pub(crate) const NAME: Style = Style::new().effects(Effects::BOLD);
/// A call and its result.
pub(crate) const CALL: Style = AnsiColor::Cyan.on_default();
/// It went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// It deserves a look.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().effects(Effects::BOLD);
/// It failed.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);

/// A text in a style.
pub(crate) fn paint(style: Style, text: impl fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}
