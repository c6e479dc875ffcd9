//! How manifests are read: from TOML with the place of every value, to typed values, with every mistake collected.
//!
//! A reading function returns `None` when it has already reported what is wrong, and goes on with the fields beside the
//! wrong one. The document turns into a value only when nothing at all was reported.

mod fields;
mod json;
mod lines;
mod node;

use std::cell::RefCell;
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use crate::error::{ErrorKind, InvalidValue, ManifestError, ManifestErrors, Position};
use crate::text::clean;
use lines::LineIndex;

pub(crate) use fields::{Fields, join};
pub(crate) use node::{Entry, Node};

/// The longest manifest, in bytes.
pub(crate) const MAX_TEXT: usize = 1 << 20;

/// How much of the caller's name for a text errors show, in characters.
const MAX_NAME: usize = 4096;

/// The longest list and the biggest table of names.
pub(crate) const MAX_ENTRIES: usize = 1024;

/// A text that is being read, and what was found wrong with it so far.
pub(crate) struct Document {
    file: Arc<str>,
    lines: LineIndex,
    found: RefCell<Found>,
}

#[derive(Default)]
struct Found {
    errors: Vec<ManifestError>,
    omitted: usize,
}

/// Reads a text with the given function for its outermost table.
pub(crate) fn read<T>(
    text: &str,
    file: &str,
    build: impl FnOnce(&mut Fields<'_>) -> Option<T>,
) -> Result<T, ManifestErrors> {
    let document = Document::new(text, file);
    let value = document.parse(text).and_then(|root| Fields::read_root(&document, &root, build));
    document.finish(value)
}

/// Where a field of an already read text is; `None` when there is no such field. Errors that are found after reading (a
/// config against its schema) come rarely, so the places of all values are not kept but looked up again.
pub(crate) fn locate(text: &str, segments: &[String]) -> Option<Position> {
    let root = DeTable::parse(text).ok()?;
    let (first, rest) = segments.split_first()?;
    let mut value = root.get_ref().get(first.as_str())?;
    for segment in rest {
        value = match value.get_ref() {
            DeValue::Table(table) => table.get(segment.as_str())?,
            DeValue::Array(array) => array.get(segment.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(LineIndex::new(text).position(value.span().start))
}

impl Document {
    fn new(text: &str, file: &str) -> Self {
        Self { file: safe_name(file), lines: LineIndex::new(text), found: RefCell::default() }
    }

    fn parse<'t>(&self, text: &'t str) -> Option<DeTable<'t>> {
        if text.len() > MAX_TEXT {
            let problem = format!("the text has {} bytes, more than a manifest may have ({MAX_TEXT})", text.len());
            self.report(ManifestError::new(ErrorKind::Syntax, &self.file, "", problem));
            return None;
        }
        let (root, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            let position = error.span().map(|span| self.lines.position(span.start));
            let problem = format!("not TOML: {}", clean(error.message(), 200));
            self.report(ManifestError::new(ErrorKind::Syntax, &self.file, "", problem).at(position));
        }
        errors.is_empty().then(|| root.into_inner())
    }

    pub(crate) fn report(&self, error: ManifestError) {
        let mut found = self.found.borrow_mut();
        if found.errors.len() < ManifestErrors::MAX {
            found.errors.push(error);
        } else {
            found.omitted += 1;
        }
    }

    /// Reports a mistake at a place of the text.
    pub(crate) fn report_at(&self, kind: ErrorKind, at: Option<usize>, field: &str, error: Mistake) {
        let position = at.map(|offset| self.lines.position(offset));
        let mut report = ManifestError::new(kind, &self.file, field, error.problem).at(position).hint(error.hint);
        if let Some(found) = error.found {
            report = report.found(found);
        }
        self.report(report);
    }

    fn finish<T>(self, value: Option<T>) -> Result<T, ManifestErrors> {
        let Found { errors, omitted } = self.found.into_inner();
        match (ManifestErrors::from_list(errors, omitted), value) {
            (None, Some(value)) => Ok(value),
            (Some(errors), _) => Err(errors),
            (None, None) => Err(unexplained(&self.file)),
        }
    }
}

/// Why something is wrong, before its place is known.
pub(crate) struct Mistake {
    found: Option<String>,
    problem: String,
    hint: String,
}

impl Mistake {
    pub(crate) fn new(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { found: None, problem: problem.into(), hint: hint.into() }
    }

    pub(crate) fn found(mut self, found: String) -> Self {
        self.found = Some(found);
        self
    }
}

impl From<InvalidValue> for Mistake {
    fn from(error: InvalidValue) -> Self {
        Self::new(error.problem(), error.hint())
    }
}

/// A reader that gives up must say why. If one ever does not, the text is still refused.
fn unexplained(file: &Arc<str>) -> ManifestErrors {
    let error = ManifestError::new(ErrorKind::BadValue, file, "", "the manifest could not be read")
        .hint("this is a mistake of mainstay itself; please report it with the manifest");
    ManifestErrors::one(error)
}

/// The caller's name for the text, safe to print.
pub(crate) fn safe_name(file: &str) -> Arc<str> {
    clean(file, MAX_NAME).into()
}
