//! Lays JSON text out for people without reading it into values: what is shown is what is sent, with duplicate keys, odd
//! numbers and escapes as they are. Text that is not JSON comes out line by line behind a bar.

use serde::de::IgnoredAny;

use super::escape;

/// Lays a text out. Each line begins with `indent`. A line break inside a string continues on a line of its own after a bar,
/// so that no string can pass for structure.
pub(crate) fn pretty(text: &str, indent: &str) -> String {
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        let lines = escape::strict(text).lines().map(|line| format!("{indent}| {line}")).collect::<Vec<_>>();
        return lines.join("\n");
    }
    let mut layout = Layout { out: indent.to_owned(), indent, depth: 0 };
    let mut chars = text.trim().chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => layout.string(&mut chars),
            '{' | '[' => {
                skip_space(&mut chars);
                match chars.peek() {
                    Some(close @ ('}' | ']')) => {
                        layout.out.extend([c, *close]);
                        chars.next();
                    }
                    _ => layout.open(c),
                }
            }
            '}' | ']' => layout.close(c),
            ',' => {
                layout.out.push(c);
                layout.break_line();
            }
            ':' => layout.out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => layout.plain(c),
        }
    }
    layout.out
}

struct Layout<'a> {
    out: String,
    indent: &'a str,
    depth: usize,
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

impl Layout<'_> {
    fn open(&mut self, c: char) {
        self.out.push(c);
        self.depth += 1;
        self.break_line();
    }

    fn close(&mut self, c: char) {
        self.depth = self.depth.saturating_sub(1);
        self.break_line();
        self.out.push(c);
    }

    fn break_line(&mut self) {
        self.out.push('\n');
        self.out.push_str(self.indent);
        // A depth that nobody could read is not worth its spaces.
        self.out.push_str(&"  ".repeat(self.depth.min(32)));
    }

    fn string(&mut self, chars: &mut Chars<'_>) {
        self.out.push('"');
        while let Some(c) = chars.next() {
            match c {
                '"' => {
                    self.out.push('"');
                    return;
                }
                '\\' => {
                    self.out.push('\\');
                    let escaped = chars.next();
                    escaped.into_iter().for_each(|c| self.plain(c));
                    if escaped == Some('n') && chars.peek() != Some(&'"') {
                        self.break_line();
                        self.out.push_str("  | ");
                    }
                }
                c => self.plain(c),
            }
        }
    }

    fn plain(&mut self, c: char) {
        self.out.push_str(&escape::strict(c.encode_utf8(&mut [0; 4])));
    }
}

fn skip_space(chars: &mut Chars<'_>) {
    while chars.next_if(char::is_ascii_whitespace).is_some() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(pretty(text, "").lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn structure_is_laid_out() {
        check(
            r#"{"path":"a.txt", "deep": {"list":[1,2e400,{}],"none":null}, "empty":[ ]}"#,
            &[
                "{",
                r#"  "path": "a.txt","#,
                r#"  "deep": {"#,
                r#"    "list": ["#,
                "      1,",
                "      2e400,",
                "      {}",
                "    ],",
                r#"    "none": null"#,
                "  },",
                r#"  "empty": []"#,
                "}",
            ],
        );
    }

    #[test]
    fn nothing_is_reinterpreted() {
        check(r#"{"a":1,"a":2}"#, &["{", r#"  "a": 1,"#, r#"  "a": 2"#, "}"]);
        check(r#""\u202e \" , {""#, &[r#""\u202e \" , {""#]);
    }

    #[test]
    fn strings_can_not_pass_for_structure() {
        check(
            r#"{"c":"one\n}\n\"path\": 2\n"}"#,
            &["{", r#"  "c": "one\n"#, "    | }\\n", r#"    | \"path\": 2\n""#, "}"],
        );
        check("\"a\u{202e}b\u{a0}\"", &["\"a\\u{202e}b\\u{a0}\""]);
    }

    #[test]
    fn what_is_no_json_is_shown_all_the_same() {
        check("rm -rf /\nnow\u{1b}", &["| rm -rf /", "| now\\u{1b}"]);
        check("{\"a\": 1}}", &["| {\"a\": 1}}"]);
        check("\"raw\u{7}control\"", &["| \"raw\\u{7}control\""]);
    }
}
