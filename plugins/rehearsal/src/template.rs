//! Texts with placeholders: `{1}`, `{name}`. Doubled braces around a word stand for themselves, and so does every other brace.

use serde_json::Value;

use crate::rules::Values;

/// A text whose placeholders are all known.
#[derive(Debug, Clone)]
pub(crate) struct Template(String);

impl Template {
    pub(crate) fn parse(text: String, known: &[String]) -> Result<Self, String> {
        check(&text, known)?;
        Ok(Self(text))
    }

    /// Checks the texts in a JSON value.
    pub(crate) fn check_value(value: &Value, known: &[String]) -> Result<(), String> {
        match value {
            Value::String(text) => check(text, known),
            Value::Array(values) => values.iter().try_for_each(|value| Self::check_value(value, known)),
            Value::Object(fields) => fields.values().try_for_each(|value| Self::check_value(value, known)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }

    pub(crate) fn fill(&self, values: &Values) -> String {
        fill(&self.0, values)
    }
}

/// Fills the texts in a JSON value.
pub(crate) fn fill_value(value: &Value, values: &Values) -> Value {
    match value {
        Value::String(text) => Value::String(fill(text, values)),
        Value::Array(items) => items.iter().map(|item| fill_value(item, values)).collect(),
        Value::Object(fields) => fields.iter().map(|(key, field)| (key.clone(), fill_value(field, values))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn check(text: &str, known: &[String]) -> Result<(), String> {
    for piece in pieces(text) {
        if let Piece::Placeholder(name) = piece
            && !known.iter().any(|known| known == name)
        {
            return Err(format!(
                "nothing is called `{{{name}}}` in this rule; for the text itself write `{{{{{name}}}}}`"
            ));
        }
    }
    Ok(())
}

fn fill(text: &str, values: &Values) -> String {
    pieces(text)
        .map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Placeholder(name) => values.get(name).map_or("", String::as_str),
        })
        .collect()
}

enum Piece<'a> {
    Text(&'a str),
    Placeholder(&'a str),
}

fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, after) = next_piece(rest)?;
        rest = after;
        Some(piece)
    })
}

fn next_piece(rest: &str) -> Option<(Piece<'_>, &str)> {
    let Some(start) = rest.find('{') else {
        return (!rest.is_empty()).then_some((Piece::Text(rest), ""));
    };
    if start > 0 {
        return Some((Piece::Text(&rest[..start]), &rest[start..]));
    }
    if let Some(name) = rest.strip_prefix("{{").and_then(word_before_brace)
        && rest[2 + name.len()..].starts_with("}}")
    {
        let end = name.len() + 4;
        return Some((Piece::Text(&rest[1..end - 1]), &rest[end..]));
    }
    match word_before_brace(&rest[1..]) {
        Some(name) => Some((Piece::Placeholder(name), &rest[name.len() + 2..])),
        None => Some((Piece::Text("{"), &rest[1..])),
    }
}

fn word_before_brace(text: &str) -> Option<&str> {
    let end = text.find('}')?;
    let word = &text[..end];
    let fits = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    fits.then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_and_braces() {
        let values = Values::from([("1".to_owned(), "one".to_owned()), ("name".to_owned(), "{1}".to_owned())]);
        let known = ["1", "name"].map(str::to_owned);
        for (text, filled) in [
            ("", ""),
            ("a {1} b", "a one b"),
            ("{name}{1}", "{1}one"),
            ("{{1}}", "{1}"),
            (r#"{"a": {"b": "{1}"}}"#, r#"{"a": {"b": "one"}}"#),
            ("{ 1 } {", "{ 1 } {"),
            ("{1", "{1"),
            ("{{1}", "{one"),
        ] {
            assert_eq!(Template::parse(text.to_owned(), &known).unwrap().fill(&values), filled, "{text}");
        }
        assert!(Template::parse("{other}".to_owned(), &known).unwrap_err().contains("`{other}`"));
    }
}
