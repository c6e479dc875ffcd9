//! A walk through folders: sorted, bounded in depth, links not followed, unreadable entries counted and passed.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use mainstay_glob::{Stars, to_regex};
use mainstay_sdk::prelude::*;
use regex::{Regex, RegexBuilder};

use crate::roots::Place;
use crate::settings::{Settings, out_of_time};

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    Other,
}

/// An entry of a walk.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) place: Place,
    pub(crate) kind: Kind,
}

/// Whether to go on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    On,
    Stop,
}

/// What a walk left out.
#[derive(Debug, Default)]
pub(crate) struct Omitted {
    /// Folders that could not be opened, and names that are not UTF-8.
    pub(crate) unreadable: u32,
    /// Folders whose listing broke off. In a component that is what a name that is not UTF-8 brings about: it can't
    /// cross the boundary, and the standard library gives up at the first error.
    pub(crate) broken_off: u32,
    /// Folders below the depth limit.
    pub(crate) too_deep: u32,
    /// The call ran out of time.
    pub(crate) out_of_time: bool,
}

impl Omitted {
    /// A line for each kind of omission.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.unreadable > 0 {
            notes.push(format!("[{} entries could not be read, or have names that are not UTF-8]", self.unreadable));
        }
        if self.broken_off > 0 {
            notes.push(format!(
                "[the listing of {} folders broke off at an entry that can't be read, such as a name that is not UTF-8; more \
                 may be there]",
                self.broken_off
            ));
        }
        if self.too_deep > 0 {
            notes.push(format!("[{} folders are deeper and were not entered]", self.too_deep));
        }
        if self.out_of_time {
            notes.push("[time ran out; this is not all: choose a smaller folder]".to_owned());
        }
        notes
    }
}

/// Visits what is below `start`, at most `depth` levels: each folder before what is in it, names in byte order.
pub(crate) fn walk(
    settings: &Settings,
    start: &Place,
    depth: u32,
    visit: &mut dyn FnMut(&Entry) -> Result<Flow, Error>,
) -> Result<Omitted, Error> {
    let first = fs::read_dir(start.path()).map_err(|error| start.fault("listing", &error))?;
    let mut omitted = Omitted::default();
    let mut walker = Walker { settings, depth, visit, omitted: &mut omitted };
    walker.folder(start, first, 1)?;
    Ok(omitted)
}

struct Walker<'a> {
    settings: &'a Settings,
    depth: u32,
    visit: &'a mut dyn FnMut(&Entry) -> Result<Flow, Error>,
    omitted: &'a mut Omitted,
}

impl Walker<'_> {
    // Recursion is bounded by the depth limit of the schema, 64.
    fn folder(&mut self, folder: &Place, entries: fs::ReadDir, level: u32) -> Result<Flow, Error> {
        for (name, kind) in self.sorted(entries) {
            if out_of_time() {
                self.omitted.out_of_time = true;
                return Ok(Flow::Stop);
            }
            let entry = Entry { place: folder.join(&self.settings.root, Path::new(&name)), kind };
            if (self.visit)(&entry)? == Flow::Stop || self.below(&entry, &name, level)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::On)
    }

    fn below(&mut self, entry: &Entry, name: &OsString, level: u32) -> Result<Flow, Error> {
        if entry.kind != Kind::Folder || self.settings.skip.iter().any(|skip| skip.as_str() == name) {
            return Ok(Flow::On);
        }
        if level >= self.depth {
            self.omitted.too_deep += u32::from(level >= self.settings.max_depth);
            return Ok(Flow::On);
        }
        match fs::read_dir(entry.place.path()) {
            Ok(entries) => self.folder(&entry.place, entries, level + 1),
            Err(_) => {
                self.omitted.unreadable += 1;
                Ok(Flow::On)
            }
        }
    }

    fn sorted(&mut self, entries: fs::ReadDir) -> Vec<(OsString, Kind)> {
        let mut found = Vec::new();
        for entry in entries {
            let Ok(entry) = entry else {
                self.omitted.broken_off += 1;
                break;
            };
            match entry.file_type() {
                // A name that is not UTF-8 can't be written in an argument, so showing it helps nobody.
                Ok(file_type) if entry.file_name().to_str().is_some() => {
                    found.push((entry.file_name(), kind_of(file_type)));
                }
                _ => self.omitted.unreadable += 1,
            }
        }
        found.sort();
        found
    }
}

fn kind_of(file_type: fs::FileType) -> Kind {
    if file_type.is_symlink() {
        Kind::Link
    } else if file_type.is_dir() {
        Kind::Folder
    } else if file_type.is_file() {
        Kind::File
    } else {
        Kind::Other
    }
}

/// A glob filter on paths. A pattern without `/` is about names, in any folder.
#[derive(Debug)]
pub(crate) struct Filter(Option<Regex>);

impl Filter {
    pub(crate) fn new(pattern: Option<&str>) -> Result<Self, Error> {
        let Some(pattern) = pattern else { return Ok(Self(None)) };
        let anywhere = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
        let bad = |why: String| {
            Error::invalid_argument(format!("`include` is not a glob pattern: {why}")).with_code("bad-pattern")
        };
        let pattern = to_regex(&anywhere, Stars::StopAtSlash).map_err(|error| bad(error.to_string()))?;
        Ok(Self(Some(compile(&pattern, false).map_err(|error| bad(error.to_string()))?)))
    }

    pub(crate) fn takes(&self, place: &Place) -> bool {
        self.0.as_ref().is_none_or(|glob| glob.is_match(&place.to_string()))
    }
}

/// Compiles an expression within bounds on what it may cost. The bound on nesting keeps the compiler's recursion within
/// the guest's stack.
pub(crate) fn compile(pattern: &str, ignore_case: bool) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern)
        .case_insensitive(ignore_case)
        .nest_limit(64)
        .size_limit(4 << 20)
        .dfa_size_limit(4 << 20)
        .build()
}
