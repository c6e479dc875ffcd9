//! Glob patterns as regular expressions, so that a plugin that has a regular expression engine needs no second one.
//!
//! `?` is one character, `*` any number of them, `[a-z]` and `[!a-z]` one of a set, `{a,b}` one of several texts, and `\`
//! takes the next character as it is.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

/// What `*` and `?` stop at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stars {
    /// At `/`, as on a command line; `**` does not stop, and `**/` may be nothing at all.
    StopAtSlash,
    /// At nothing: the pattern is about texts in general.
    MatchAll,
}

/// Why a pattern is not a glob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlobError {
    /// A `[` without `]`, or an empty set.
    Set,
    /// A `{` without `}`, or a `}` without `{`.
    Braces,
    /// Nothing follows the last `\`.
    Escape,
}

impl fmt::Display for GlobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Set => "a `[` has no `]`, or nothing is in between",
            Self::Braces => "`{` and `}` don't pair",
            Self::Escape => "nothing follows the last `\\`",
        })
    }
}

impl std::error::Error for GlobError {}

/// The regular expression that matches what the glob matches, whole texts only.
///
/// # Errors
/// When the pattern is malformed.
pub fn to_regex(glob: &str, stars: Stars) -> Result<String, GlobError> {
    let mut translation =
        Translation { input: glob.chars().peekable(), stars, output: String::from(r"\A(?s:"), depth: 0 };
    while let Some(next) = translation.input.next() {
        translation.step(next)?;
    }
    if translation.depth > 0 {
        return Err(GlobError::Braces);
    }
    translation.output.push_str(r")\z");
    Ok(translation.output)
}

struct Translation<'a> {
    input: Peekable<Chars<'a>>,
    stars: Stars,
    output: String,
    depth: u32,
}

impl Translation<'_> {
    fn step(&mut self, next: char) -> Result<(), GlobError> {
        match next {
            '?' => self.output.push_str(self.any()),
            '*' => self.star(),
            '[' => self.set()?,
            '{' => self.open(),
            '}' => self.close()?,
            ',' if self.depth > 0 => self.output.push('|'),
            '\\' => {
                let escaped = self.input.next().ok_or(GlobError::Escape)?;
                self.literal(escaped);
            }
            other => self.literal(other),
        }
        Ok(())
    }

    fn any(&self) -> &'static str {
        match self.stars {
            Stars::StopAtSlash => "[^/]",
            Stars::MatchAll => ".",
        }
    }

    fn star(&mut self) {
        if self.input.next_if_eq(&'*').is_none() {
            self.output.push_str(self.any());
            self.output.push('*');
        } else if self.stars == Stars::StopAtSlash && self.input.next_if_eq(&'/').is_some() {
            self.output.push_str("(?:.*/)?");
        } else {
            self.output.push_str(".*");
        }
    }

    fn set(&mut self) -> Result<(), GlobError> {
        self.output.push('[');
        if self.input.next_if(|next| matches!(next, '!' | '^')).is_some() {
            self.output.push('^');
        }
        let mut members = 0;
        loop {
            match self.input.next() {
                None => return Err(GlobError::Set),
                Some(']') if members > 0 => break,
                Some('-') if members > 0 && self.input.peek() != Some(&']') => self.output.push('-'),
                Some(member) => {
                    self.literal(member);
                    members += 1;
                }
            }
        }
        self.output.push(']');
        Ok(())
    }

    fn open(&mut self) {
        self.depth += 1;
        self.output.push_str("(?:");
    }

    fn close(&mut self) -> Result<(), GlobError> {
        self.depth = self.depth.checked_sub(1).ok_or(GlobError::Braces)?;
        self.output.push(')');
        Ok(())
    }

    fn literal(&mut self, character: char) {
        // Every character that an engine may give a meaning, inside or outside of a set.
        if character.is_ascii_punctuation()
            && !matches!(character, '/' | '_' | '<' | '>' | '\'' | '"' | '`' | ',' | '=' | ':' | ';' | '@' | '!' | '%')
        {
            self.output.push('\\');
        }
        self.output.push(character);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex_lite::Regex;

    fn check(glob: &str, stars: Stars, yes: &[&str], no: &[&str]) {
        let regex = Regex::new(&to_regex(glob, stars).unwrap()).unwrap();
        assert!(yes.iter().all(|text| regex.is_match(text)), "{glob}: {regex}");
        assert!(!no.iter().any(|text| regex.is_match(text)), "{glob}: {regex}");
    }

    #[test]
    fn paths() {
        check("*.md", Stars::StopAtSlash, &["a.md", ".md"], &["a/b.md", "a.mdx", "xmd"]);
        check("**/*.md", Stars::StopAtSlash, &["a.md", "a/b.md", "a/b/c.md"], &["a.txt"]);
        check("src/**", Stars::StopAtSlash, &["src/a", "src/a/b"], &["src", "xsrc/a"]);
        check("a?c", Stars::StopAtSlash, &["abc", "aüc"], &["a/c", "ac"]);
        check("*.{rs,to*l}", Stars::StopAtSlash, &["a.rs", "a.toml"], &["a.py"]);
        check("[a-c!]x[!0-9]", Stars::StopAtSlash, &["axb", "!x-"], &["dxb", "ax1"]);
    }

    #[test]
    fn texts_in_general() {
        check("rm *", Stars::MatchAll, &["rm a/b", "rm "], &["rm", "xrm a"]);
        check("*", Stars::MatchAll, &["", "a\nb"], &[]);
        check("write_*", Stars::MatchAll, &["write_file"], &["rewrite_file"]);
    }

    #[test]
    fn every_other_character_is_itself() {
        let odd = r"^$.|+()#&~-<>'`=:;@!%_/ü";
        let escaped: String = odd.chars().flat_map(|c| ['\\', c]).collect();
        check(odd, Stars::MatchAll, &[odd], &["x"]);
        check(&escaped, Stars::MatchAll, &[odd], &["x"]);
        check(r"[][^.]", Stars::MatchAll, &["]", "[", "^", "."], &["a"]);
    }

    #[test]
    fn malformed_patterns() {
        for (glob, error) in [
            ("[a", GlobError::Set),
            ("[]", GlobError::Set),
            ("{a", GlobError::Braces),
            ("a}", GlobError::Braces),
            ("a\\", GlobError::Escape),
        ] {
            assert_eq!(to_regex(glob, Stars::MatchAll), Err(error), "{glob}");
        }
    }
}
