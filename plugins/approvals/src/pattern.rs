//! Patterns on names and arguments: globs, or regular expressions after `regex:`.

use mainstay_glob::{Stars, to_regex};
use regex_lite::Regex;

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Pattern(Regex);

impl Pattern {
    /// A glob on names.
    pub(crate) fn glob(text: &str) -> Result<Self, String> {
        let regex = to_regex(text, Stars::MatchAll).map_err(|error| format!("`{text}` is not a glob: {error}"))?;
        Self::compile(text, &regex)
    }

    /// A glob that covers the whole text, or, after `regex:`, a regular expression that is found anywhere in it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix("regex:") {
            Some(regex) => Self::compile(text, regex),
            None => Self::glob(text),
        }
    }

    fn compile(text: &str, regex: &str) -> Result<Self, String> {
        Regex::new(regex)
            .map(Self)
            .map_err(|error| format!("`{text}` is not a regular expression that can be used: {error}"))
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}
