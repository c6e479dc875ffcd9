//! What can be wrong with a manifest, in a form that a person can act on: where, what was found, why it is wrong, what to
//! do. All texts are safe to print: control and bidirectional characters of the manifest are escaped before they get here.

use std::fmt;
use std::sync::Arc;

/// A text that is not a legal value of some kind (a name, a size, a path).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {hint}")]
pub struct InvalidValue {
    problem: String,
    hint: String,
}

impl InvalidValue {
    pub(crate) fn new(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { problem: problem.into(), hint: hint.into() }
    }

    /// Why the value is wrong.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// What to do about it.
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

/// What kind of mistake an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not TOML, or is too big to be a manifest.
    Syntax,
    /// A key that manifests do not have.
    UnknownKey,
    /// A key that must be there and is not.
    MissingKey,
    /// A value of the wrong type.
    WrongType,
    /// A value of the right type that is not legal.
    BadValue,
    /// Two places that contradict each other, or a name that nothing answers to.
    Conflict,
    /// The JSON schema that came with a plugin is broken: the author's mistake, not the operator's.
    BrokenSchema,
    /// Legal, but this build of the host does not serve it.
    Unserved,
}

/// A place in the text of a manifest; both numbers count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    line: u32,
    column: u32,
}

impl Position {
    pub(crate) const fn new(line: u32, column: u32) -> Self {
        Self { line, column }
    }

    /// The line, from 1.
    pub const fn line(self) -> u32 {
        self.line
    }

    /// The column in characters, from 1.
    pub const fn column(self) -> u32 {
        self.column
    }
}

/// One mistake in one manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.render())]
pub struct ManifestError {
    kind: ErrorKind,
    file: Arc<str>,
    position: Option<Position>,
    field: String,
    found: Option<String>,
    problem: String,
    hint: Option<String>,
}

impl ManifestError {
    pub(crate) fn new(kind: ErrorKind, file: &Arc<str>, field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            kind,
            file: Arc::clone(file),
            position: None,
            field: field.into(),
            found: None,
            problem: problem.into(),
            hint: None,
        }
    }

    pub(crate) fn at(mut self, position: Option<Position>) -> Self {
        self.position = position;
        self
    }

    pub(crate) fn found(mut self, found: impl Into<String>) -> Self {
        self.found = Some(found.into());
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        self.hint = (!hint.is_empty()).then_some(hint);
        self
    }

    /// What kind of mistake it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The name that the caller gave the text, usually a file name.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Where in the text, when that is known.
    pub fn position(&self) -> Option<Position> {
        self.position
    }

    /// The field, such as `plugin.files.grant.dirs[0].access`; empty for the text as a whole.
    pub fn field(&self) -> &str {
        &self.field
    }

    /// What was found there, shortened and escaped.
    pub fn found_text(&self) -> Option<&str> {
        self.found.as_deref()
    }

    /// Why it is wrong.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// What to do about it.
    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    fn render(&self) -> String {
        let mut out = self.file.to_string();
        if let Some(Position { line, column }) = self.position {
            out += &format!(":{line}:{column}");
        }
        if !self.field.is_empty() {
            out += &format!(": {}", self.field);
        }
        out += &format!(": {}", self.problem);
        if let Some(found) = &self.found {
            out += &format!(", found {found}");
        }
        if let Some(hint) = &self.hint {
            out += &format!("\n  hint: {hint}");
        }
        out
    }
}

/// All mistakes of a manifest, in the order of the text; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.render())]
pub struct ManifestErrors {
    errors: Vec<ManifestError>,
    omitted: usize,
}

impl ManifestErrors {
    /// How many errors are kept; a text with more is not a manifest, and the rest is only counted.
    pub(crate) const MAX: usize = 100;

    /// Takes errors in any order; `None` when there are none.
    pub(crate) fn from_list(mut errors: Vec<ManifestError>, omitted: usize) -> Option<Self> {
        errors.sort_by_key(|error| error.position);
        (!errors.is_empty()).then_some(Self { errors, omitted })
    }

    /// The only error of a text.
    pub(crate) fn one(error: ManifestError) -> Self {
        Self { errors: vec![error], omitted: 0 }
    }

    /// The errors in the order of the text; at least one.
    pub fn as_slice(&self) -> &[ManifestError] {
        &self.errors
    }

    /// Goes over the errors.
    pub fn iter(&self) -> std::slice::Iter<'_, ManifestError> {
        self.errors.iter()
    }

    /// How many more there were than are listed.
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    fn render(&self) -> String {
        let mut lines: Vec<String> = self.errors.iter().map(ToString::to_string).collect();
        if self.omitted > 0 {
            lines.push(format!("and {} more", self.omitted));
        }
        lines.join("\n")
    }
}

impl<'a> IntoIterator for &'a ManifestErrors {
    type Item = &'a ManifestError;
    type IntoIter = std::slice::Iter<'a, ManifestError>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for ManifestErrors {
    type Item = ManifestError;
    type IntoIter = std::vec::IntoIter<ManifestError>;

    fn into_iter(self) -> Self::IntoIter {
        self.errors.into_iter()
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}
