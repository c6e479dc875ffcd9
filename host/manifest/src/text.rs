//! Text of strangers: how it is shown in errors, and the one-line text type that authors write for people.

use std::fmt;
use std::str::FromStr;

use crate::error::InvalidValue;

/// How much of a found value an error quotes, in characters.
const QUOTE_CHARS: usize = 80;

/// One line of text for people: 1 to 500 characters, none of them a control or bidirectional-formatting character, so that
/// a plugin's words can not repaint the terminal on which they are shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line(String);

impl Line {
    /// The longest line, in characters.
    pub const MAX_CHARS: usize = 500;

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Line {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let hint = format!("write one line of at most {} characters", Self::MAX_CHARS);
        if text.trim().is_empty() {
            return Err(InvalidValue::new("the text is empty", hint));
        }
        if text.chars().count() > Self::MAX_CHARS {
            return Err(InvalidValue::new("the text is too long", hint));
        }
        if text.chars().any(is_unprintable) {
            let problem = "the text has a line break, a control character or a bidirectional-formatting character";
            return Err(InvalidValue::new(problem, "remove it: people read this text on terminals"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A string as an error quotes it: in double quotes, shortened, with everything escaped that could repaint a terminal.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", excerpt(text))
}

/// Like [`quoted`], without the quotes.
pub(crate) fn excerpt(text: &str) -> String {
    shortened(text, QUOTE_CHARS, |c| c == '"' || c == '\\' || is_unprintable(c))
}

/// A message of another library, shortened and safe to print.
pub(crate) fn clean(text: &str, max_chars: usize) -> String {
    shortened(text, max_chars, is_unprintable)
}

fn shortened(text: &str, max_chars: usize, escaped: impl Fn(char) -> bool) -> String {
    let mut out = String::new();
    for c in text.chars().take(max_chars) {
        if escaped(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    if text.chars().nth(max_chars).is_some() {
        out.push('…');
    }
    out
}

/// Control characters, and the characters that reorder or hide the text around them.
pub(crate) fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_escape_what_repaints_terminals() {
        assert_eq!(quoted("a\u{1b}[31m\u{202e}\"b"), r#""a\u{1b}[31m\u{202e}\"b""#);
        assert_eq!(excerpt(&"x".repeat(81)), format!("{}…", "x".repeat(80)));
    }

    #[test]
    fn a_line_is_one_printable_line() {
        assert!("Read, search and edit — of a workspace".parse::<Line>().is_ok());
        for bad in ["", "  ", "a\nb", "a\u{202e}b", "a\u{7}", &"x".repeat(501)] {
            assert!(bad.parse::<Line>().is_err(), "{bad:?}");
        }
    }
}
