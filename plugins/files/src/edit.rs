//! `edit_file`: exact replacement, refused unless it is clear what is meant.

use std::fs;

use mainstay_sdk::prelude::*;

use crate::read::not_text;
use crate::roots::Place;
use crate::settings::Settings;
use crate::write::{check_size, replace};

pub(crate) const DESCRIPTION: &str = "Replaces an exact piece of text in a file. `old` must occur exactly once, white space \
    and line breaks included; add lines around it to make it unique, or set `replace_all`.";

/// Arguments of `edit_file`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The file.
    path: String,
    /// The text to replace, exactly as it stands in the file.
    old: String,
    /// The text to put there.
    new: String,
    /// Whether to replace all occurrences. Default false: there must be exactly one.
    #[serde(default)]
    replace_all: bool,
}

pub(crate) fn run(arguments: Arguments) -> Outcome<String> {
    let settings = Settings::load()?;
    let place = Place::parse(&settings.root, &arguments.path)?;
    check_arguments(&arguments)?;
    let text = load(&settings, &place)?;
    let lines = lines_of_matches(&text, &arguments.old);
    match lines.as_slice() {
        [] => return Err(no_match(&place, &text, &arguments.old).into()),
        [_, _, ..] if !arguments.replace_all => return Err(several_matches(&place, &lines).into()),
        _ => {}
    }
    let edited = text.replace(&arguments.old, &arguments.new);
    check_size(&settings, &place, edited.len())?;
    replace(&place, edited.as_bytes())?;
    Ok(format!("replaced {} in `{place}`, which now has {} bytes", at_lines(&lines), edited.len()))
}

fn check_arguments(arguments: &Arguments) -> Result<(), Error> {
    let why = if arguments.old.is_empty() {
        "`old` is empty; to make a file use write_file"
    } else if arguments.old == arguments.new {
        "`old` and `new` are the same"
    } else {
        return Ok(());
    };
    Err(Error::invalid_argument(format!("nothing to replace: {why}")).with_code("nothing-to-do"))
}

fn load(settings: &Settings, place: &Place) -> Result<String, Error> {
    let fault = |error| place.fault("editing", &error);
    let metadata = fs::metadata(place.path()).map_err(fault)?;
    if metadata.is_dir() {
        return Err(Error::invalid_argument(format!("editing `{place}`: it is a folder")).with_code("is-a-folder"));
    }
    if metadata.len() > settings.max_file_bytes {
        let (size, limit) = (metadata.len(), settings.max_file_bytes);
        let message = format!("editing `{place}`: its {size} bytes are more than the {limit} that are allowed");
        return Err(Error::limit_exceeded(message).with_code("too-large"));
    }
    let bytes = fs::read(place.path()).map_err(fault)?;
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err(not_text(place, metadata.len())),
    }
}

/// The line of each match, from 1.
fn lines_of_matches(text: &str, old: &str) -> Vec<usize> {
    let (mut line, mut from) = (1, 0);
    let mut lines = Vec::new();
    for (start, _) in text.match_indices(old) {
        line += text[from..start].matches('\n').count();
        from = start;
        lines.push(line);
    }
    lines
}

fn no_match(place: &Place, text: &str, old: &str) -> Error {
    let hint = if text.contains("\r\n") && !old.contains('\r') && old.contains('\n') {
        "; the lines of this file end in CR LF"
    } else if text.contains(old.trim()) && !old.trim().is_empty() {
        "; without the white space at its ends it does"
    } else {
        "; read the file again and copy the text exactly"
    };
    Error::invalid_argument(format!("editing `{place}`: `old` does not occur in it{hint}")).with_code("no-match")
}

fn several_matches(place: &Place, lines: &[usize]) -> Error {
    let message = format!(
        "editing `{place}`: `old` occurs {}; add text around it to make it unique, or set `replace_all`",
        at_lines(lines)
    );
    Error::invalid_argument(message).with_code("several-matches")
}

/// How many line numbers an error lists.
const SHOWN_LINES: usize = 20;

fn at_lines(lines: &[usize]) -> String {
    let shown: Vec<String> = lines.iter().take(SHOWN_LINES).map(usize::to_string).collect();
    let more = if lines.len() > SHOWN_LINES { ", …" } else { "" };
    match lines {
        [line] => format!("once, on line {line}"),
        _ => format!("{} times, on lines {}{more}", lines.len(), shown.join(", ")),
    }
}
