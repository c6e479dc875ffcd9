//! Checks of what guests return. Everything that passes can be journalled and sent on as it is.

use mainstay_protocol::{
    content::{Media, Message, Part, Source},
    failure::{CallFailure, Limit},
};
use serde::de::IgnoredAny;

use crate::{limiter::LimitHit, limits::Limits, outcome};

/// The longest name, code or id that a guest may return, in bytes.
pub(crate) const LONGEST_WORD: usize = 256;
/// The longest arguments of a tool call, in bytes.
pub(crate) const LONGEST_ARGUMENTS: usize = 4 << 20;

/// How deeply JSON may be nested; parsers give up at 128.
const DEEPEST_JSON: usize = 100;

/// A check that found something wrong. The text says what.
pub(crate) type Check<T = ()> = Result<T, String>;

/// Any JSON text that every reader can take: not nested so deeply that a parser gives up later.
pub(crate) fn json(what: &str, text: &str) -> Check {
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| format!("{what} is not JSON: {error}"))?;
    if depth(text) <= DEEPEST_JSON { Ok(()) } else { Err(format!("{what} is nested more than {DEEPEST_JSON} deep")) }
}

/// How deeply a JSON text is nested.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth -= 1,
            _ => {}
        }
    }
    deepest
}

/// A JSON object.
pub(crate) fn json_object(what: &str, text: &str) -> Check {
    json(what, text)?;
    if text.trim_start().starts_with('{') { Ok(()) } else { Err(format!("{what} is not a JSON object")) }
}

/// None, or a JSON object.
pub(crate) fn extras(what: &str, extras: Option<&String>) -> Check {
    extras.map_or(Ok(()), |text| json_object(&format!("`extras` of {what}"), text))
}

/// A short text that is not empty.
pub(crate) fn word(what: &str, text: &str) -> Check {
    if text.is_empty() {
        return Err(format!("{what} is empty"));
    }
    short(what, text)
}

/// A short text.
pub(crate) fn short(what: &str, text: &str) -> Check {
    if text.len() <= LONGEST_WORD {
        return Ok(());
    }
    Err(format!("{what} has {} bytes; at most {LONGEST_WORD} are allowed", text.len()))
}

/// Content that passes may be stored and shown to models.
pub(crate) fn parts(parts: &[Part]) -> Check {
    parts.iter().try_for_each(part)
}

/// One piece of content.
pub(crate) fn part(part: &Part) -> Check {
    match part {
        Part::Text(_) => Ok(()),
        Part::Json(text) => json("a `json` part", text),
        Part::Media(found) => media(found),
        Part::Extension(extension) => {
            word("the kind of an extension part", &extension.kind)?;
            json("the data of an extension part", &extension.data)
        }
    }
}

/// A message of a hook.
pub(crate) fn message(message: &Message) -> Check {
    parts(&message.content)
}

fn media(media: &Media) -> Check {
    if !is_media_type(&media.media_type) {
        return Err(format!("`{}` is no media type in lower case, such as `image/png`", clipped(&media.media_type)));
    }
    match &media.source {
        Source::Inline(_) => {}
        Source::Blob(reference) => word("a blob reference", reference)?,
        Source::Uri(uri) if is_absolute_uri(uri) => {}
        Source::Uri(uri) => return Err(format!("`{}` is no absolute URI", clipped(uri))),
    }
    extras("a media part", media.extras.as_ref())
}

/// RFC 6838, without parameters: what providers and browsers agree on.
fn is_media_type(text: &str) -> bool {
    let name = |part: &str| {
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "!#$&-^_.+".contains(c);
        (1..=127).contains(&part.len())
            && part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.chars().all(legal)
    };
    text.split_once('/').is_some_and(|(kind, subtype)| name(kind) && name(subtype))
}

fn is_absolute_uri(text: &str) -> bool {
    let scheme = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    let visible = text.chars().all(|c| !c.is_control() && !c.is_whitespace());
    visible && text.split_once(':').is_some_and(|(before, after)| scheme(before) && !after.is_empty())
}

/// A bound on what an error quotes.
pub(crate) fn clipped(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}

/// Turns a failed check into bad output.
pub(crate) fn or_bad_output<T>(checked: Check<T>) -> Result<T, CallFailure> {
    checked.map_err(outcome::bad_output)
}

/// Checks the size of a whole result.
pub(crate) fn size(bytes: usize, limits: &Limits) -> Result<(), CallFailure> {
    let allowed = limits.output.get();
    if bytes as u64 <= allowed {
        return Ok(());
    }
    Err(outcome::exceeded(LimitHit { limit: Limit::Output, allowed }))
}

/// Bytes of some content.
pub(crate) fn bytes_of(parts: &[Part]) -> usize {
    parts.iter().map(Part::bytes).sum()
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::content::Extension;

    use super::*;

    #[test]
    fn json_texts_are_told_from_other_texts() {
        assert!(json("x", "[1, {\"a\": null}]").is_ok());
        assert!(json_object("x", " {} ").is_ok());
        assert_eq!(json_object("x", "[]").unwrap_err(), "x is not a JSON object");
        for bad in ["", "{", "{} {}", "nul", "{a: 1}"] {
            assert!(json("x", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn json_is_not_nested_too_deeply() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(json("x", &nested(DEEPEST_JSON)).is_ok());
        assert!(json("x", &nested(DEEPEST_JSON + 1)).unwrap_err().contains("nested"));
        assert_eq!(depth(r#"{"a[[[": "\"[{", "b": [{}]}"#), 3);
    }

    #[test]
    fn parts_are_checked() {
        let media = |media_type: &str, source| {
            Part::Media(Media { media_type: media_type.into(), source, name: None, extras: None })
        };
        let extension = |kind: &str, data: &str| Part::Extension(Extension { kind: kind.into(), data: data.into() });
        let good = [
            Part::Text(String::new()),
            Part::Json("1".into()),
            media("image/svg+xml", Source::Inline(vec![])),
            media("text/plain", Source::Uri("https://example.com/a".into())),
            extension("example.com/x", "{}"),
        ];
        assert_eq!(parts(&good), Ok(()));
        let bad = [
            Part::Json("x".into()),
            media("Image/png", Source::Inline(vec![])),
            media("png", Source::Inline(vec![])),
            media("text/plain", Source::Uri("/etc/passwd".into())),
            media("text/plain", Source::Uri("a b:c".into())),
            media("text/plain", Source::Blob(String::new())),
            extension("", "{}"),
            extension("example.com/x", "{"),
        ];
        for bad in bad {
            assert!(part(&bad).is_err(), "{bad:?}");
        }
    }
}
