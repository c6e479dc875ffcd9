//! How far long work is: one line on a terminal that is written over. Where nobody watches there is none, and standard output never
//! has any.

use std::{
    io::{IsTerminal, Write},
    time::{Duration, Instant},
};

use super::style::{QUIET, paint};

/// How often the line changes at most.
const PAUSE: Duration = Duration::from_millis(100);

/// The line.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    watched: bool,
    shown: Option<Instant>,
}

impl ProgressLine {
    /// Nothing is shown yet. `quiet` shows nothing at all.
    pub(crate) fn new(quiet: bool) -> Self {
        Self { watched: !quiet && std::io::stderr().is_terminal(), shown: None }
    }

    /// Shows how far it is, unless that was done just now.
    pub(crate) fn show(&mut self, text: impl FnOnce() -> String) {
        if !self.watched || self.shown.is_some_and(|shown| shown.elapsed() < PAUSE) {
            return;
        }
        self.shown = Some(Instant::now());
        let mut out = anstream::stderr();
        // Nobody is left to tell when this fails.
        let _ = write!(out, "\r\u{1b}[2K{}", paint(QUIET, text())).and_then(|()| out.flush());
    }
}

/// The line goes when the work is done.
impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let mut out = anstream::stderr();
            let _ = write!(out, "\r\u{1b}[2K").and_then(|()| out.flush());
        }
    }
}

/// A part of a whole in percent; the whole may be an estimate.
pub(crate) fn percent(part: u64, whole: u64) -> u64 {
    part.saturating_mul(100).checked_div(whole).unwrap_or(0).min(100)
}

/// Bytes, to two or three digits: `640 B`, `1.2 MB`, `340 GB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1_000 {
        return format!("{bytes} B");
    }
    let (mut value, mut unit) = (bytes as f64 / 1e3, 0);
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1e3;
        unit += 1;
    }
    if value < 9.95 { format!("{value:.1} {}", UNITS[unit]) } else { format!("{value:.0} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let sizes = [0, 999, 1_000, 9_949, 9_950, 640_000, 999_499, 999_500, 1_234_567_890, u64::MAX].map(bytes);
        let expected =
            ["0 B", "999 B", "1.0 kB", "9.9 kB", "10 kB", "640 kB", "999 kB", "1.0 MB", "1.2 GB", "18446744 TB"];
        assert_eq!(sizes, expected);
    }

    #[test]
    fn parts_of_an_estimate_end_at_a_hundred() {
        assert_eq!([percent(0, 0), percent(1, 3), percent(7, 5), percent(u64::MAX, 2)], [0, 33, 100, 100]);
    }
}
