//! Makes untrusted text safe to show. Everything from models, tools, plugins and other processes goes through here.
//!
//! Control characters could move the cursor and rewrite what stands above; bidirectional controls could make a text read as
//! another (CVE-2021-42574, "Trojan Source"); invisible characters could hide parts of it. All of them are shown as
//! `\u{202e}`. Where a person decides ([`strict`]), spaces and joiners that look like something else are shown too.

/// Text of several lines: line breaks and tabs stay.
pub(crate) fn block(text: &str) -> String {
    escape(text, |c| matches!(c, '\n' | '\t') || !is_hazard(c))
}

/// Text that has to stay on its line: line breaks and tabs are shown as `\n` and `\t`.
pub(crate) fn line(text: &str) -> String {
    escape(text, |c| !is_hazard(c))
}

/// Text of several lines that a person decides on: nothing in it may look like something else.
pub(crate) fn strict(text: &str) -> String {
    escape(text, |c| matches!(c, '\n' | '\t') || !is_hazard(c) && !is_lookalike(c))
}

/// One line of at most `width` characters; what is cut off is marked.
pub(crate) fn clipped(text: &str, width: usize) -> String {
    // Escaping only makes text longer: no more than this is ever needed, however long the text is.
    let head: String = text.chars().take(width + 1).collect();
    let escaped = line(&head);
    if escaped.chars().count() <= width {
        return escaped;
    }
    let kept: String = escaped.chars().take(width.saturating_sub(1)).collect();
    kept + "…"
}

fn escape(text: &str, keep: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            _ if keep(c) => out.push(c),
            // A line break of Windows, not a return to overwrite the line.
            '\r' if chars.peek() == Some(&'\n') && keep('\n') => {}
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c => out.extend(c.escape_unicode()),
        }
    }
    out
}

/// Moves the cursor, reorders the line, or can't be seen and carries something.
fn is_hazard(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' // bidirectional
            | '\u{2028}' | '\u{2029}' // line and paragraph separators
            | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' // invisible
            | '\u{180e}' | '\u{e0000}'..='\u{e007f}' // Mongolian vowel separator, tags
        )
}

/// Legitimate in prose, and can pass for nothing or for an ordinary space.
fn is_lookalike(c: char) -> bool {
    matches!(c,
        '\u{00a0}' | '\u{00ad}' | '\u{034f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{1680}'
        | '\u{2000}'..='\u{200d}' | '\u{202f}' | '\u{205f}' | '\u{2800}' | '\u{3000}' | '\u{3164}' | '\u{ffa0}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(escape: fn(&str) -> String, text: &str, expected: &str) {
        assert_eq!(escape(text), expected);
    }

    #[test]
    fn ordinary_text_stays() {
        for text in ["", "plain", "ünïcödé 漢字 🎉 שלום", "a\\u{1b}b"] {
            check(block, text, text);
            check(line, text, text);
        }
        check(block, "family: 👨\u{200d}👩", "family: 👨\u{200d}👩");
    }

    #[test]
    fn terminals_are_not_driven() {
        check(block, "\u{1b}[2J\u{1b}]0;x\u{7}", "\\u{1b}[2J\\u{1b}]0;x\\u{7}");
        check(block, "\u{9b}31m\u{7f}\u{0}\u{8}", "\\u{9b}31m\\u{7f}\\u{0}\\u{8}");
        check(block, "real\rfake", "real\\rfake");
    }

    #[test]
    fn line_breaks_stay_only_in_blocks() {
        check(block, "a\r\nb\tc\n", "a\nb\tc\n");
        check(line, "a\r\nb\tc", "a\\r\\nb\\tc");
        check(line, "a\u{2028}b", "a\\u{2028}b");
    }

    #[test]
    fn nothing_is_reordered_or_hidden() {
        check(block, "\u{202e}txt.exe\u{2066}", "\\u{202e}txt.exe\\u{2066}");
        check(block, "a\u{e0041}\u{feff}\u{2063}", "a\\u{e0041}\\u{feff}\\u{2063}");
    }

    #[test]
    fn where_a_person_decides_lookalikes_are_shown() {
        check(strict, "rm\u{a0}-r\u{200b}f\u{3164}", "rm\\u{a0}-r\\u{200b}f\\u{3164}");
        check(strict, "two\n\tlines", "two\n\tlines");
    }

    #[test]
    fn clipping_counts_what_is_shown() {
        assert_eq!(clipped("short", 5), "short");
        assert_eq!(clipped("longer", 5), "long…");
        assert_eq!(clipped("\u{1b}\u{1b}", 8), "\\u{1b}\\…");
        assert_eq!(clipped(&"x".repeat(1 << 20), 3), "xx…");
    }

    #[test]
    fn nothing_dangerous_is_left_of_any_character() {
        for c in (0..=0x0010_ffff).filter_map(char::from_u32) {
            let shown = line(&c.to_string());
            assert!(!shown.chars().any(|c| c.is_control() || is_hazard(c)), "{c:?}");
        }
    }
}
