//! `search_files`: the lines that match a regular expression, in files that a glob may narrow.

use std::fs;

use mainstay_sdk::prelude::*;
use regex::Regex;

use crate::roots::Place;
use crate::settings::Settings;
use crate::walk::{Entry, Filter, Flow, Kind, compile, walk};

pub(crate) const DESCRIPTION: &str = "Searches text files line by line for a regular expression, in a file or in a folder \
    and all below it. Each match is one line: path:line: text. Binary and very large files are passed over.";

/// Arguments of `search_files`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The regular expression (Rust syntax: no look-around, no back-references).
    pattern: String,
    /// The file or folder to search. Default: the whole workspace.
    #[serde(default)]
    path: String,
    /// Searches only files whose path matches this glob, such as `*.md` or `src/**/*.rs`.
    include: Option<String>,
    /// Whether upper and lower case are the same. Default false.
    #[serde(default)]
    ignore_case: bool,
    /// How many matches at most.
    #[schemars(range(min = 1))]
    max_results: Option<usize>,
}

pub(crate) fn run(arguments: Arguments) -> Outcome<String> {
    let settings = Settings::load()?;
    let place = Place::parse(&settings.root, &arguments.path)?;
    let filter = Filter::new(arguments.include.as_deref())?;
    let limit = arguments.max_results.unwrap_or(settings.max_results).clamp(1, settings.max_results);
    let pattern = compile(&arguments.pattern, arguments.ignore_case).map_err(|error| bad_pattern(&error))?;
    let mut hits = Hits::new(pattern, limit);
    let metadata = fs::metadata(place.path()).map_err(|error| place.fault("searching", &error))?;
    let mut notes = Vec::new();
    if metadata.is_dir() {
        let omitted = walk(&settings, &place, settings.max_depth, &mut |entry| {
            Ok(if wanted(entry, &filter) { hits.search(&settings, &entry.place) } else { Flow::On })
        })?;
        notes = omitted.notes();
    } else {
        hits.search(&settings, &place);
    }
    Ok(hits.into_text(notes))
}

fn wanted(entry: &Entry, filter: &Filter) -> bool {
    entry.kind == Kind::File && filter.takes(&entry.place)
}

fn bad_pattern(error: &regex::Error) -> Error {
    Error::invalid_argument(format!("`pattern` is not a regular expression that can be used: {error}"))
        .with_code("bad-pattern")
}

/// How much of a matching line is shown.
const SHOWN_CHARS: usize = 300;

/// What was found so far.
struct Hits {
    pattern: Regex,
    limit: usize,
    lines: Vec<String>,
    full: bool,
    searched: u32,
    binary: u32,
    too_large: u32,
    unreadable: u32,
}

impl Hits {
    fn new(pattern: Regex, limit: usize) -> Self {
        Self { pattern, limit, lines: Vec::new(), full: false, searched: 0, binary: 0, too_large: 0, unreadable: 0 }
    }

    fn search(&mut self, settings: &Settings, place: &Place) -> Flow {
        match fs::metadata(place.path()) {
            Ok(metadata) if metadata.len() > settings.max_file_bytes => self.too_large += 1,
            Ok(_) => match fs::read(place.path()) {
                Ok(bytes) => return self.search_bytes(place, &bytes),
                Err(_) => self.unreadable += 1,
            },
            Err(_) => self.unreadable += 1,
        }
        Flow::On
    }

    fn search_bytes(&mut self, place: &Place, bytes: &[u8]) -> Flow {
        let Some(text) = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0')) else {
            self.binary += 1;
            return Flow::On;
        };
        self.searched += 1;
        for (number, line) in (1..).zip(text.lines()) {
            if !self.pattern.is_match(line) {
                continue;
            }
            if self.lines.len() == self.limit {
                self.full = true;
                return Flow::Stop;
            }
            self.lines.push(format!("{place}:{number}: {}", shorten(line)));
        }
        Flow::On
    }

    fn into_text(mut self, notes: Vec<String>) -> String {
        if self.lines.is_empty() {
            self.lines.push(format!("[no match in {} files]", self.searched));
        }
        if self.full {
            self.lines.push(format!("[more than {} matches; narrow the pattern or the path]", self.limit));
        }
        let passed = [("binary", self.binary), ("too large", self.too_large), ("unreadable", self.unreadable)];
        let passed: Vec<String> =
            passed.into_iter().filter(|(_, count)| *count > 0).map(|(what, count)| format!("{count} {what}")).collect();
        if !passed.is_empty() {
            self.lines.push(format!("[files passed over: {}]", passed.join(", ")));
        }
        self.lines.extend(notes);
        self.lines.join("\n")
    }
}

fn shorten(line: &str) -> String {
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
