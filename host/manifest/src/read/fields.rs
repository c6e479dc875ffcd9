//! A table with known keys: optional and required ones, and an error for every other.

use toml::de::DeTable;

use super::{Document, Mistake, Node};
use crate::error::ErrorKind;
use crate::suggest;
use crate::text::excerpt;

/// The fields of one table, while they are being read.
pub(crate) struct Fields<'r> {
    document: &'r Document,
    path: String,
    start: Option<usize>,
    table: &'r DeTable<'r>,
    known: Vec<&'static str>,
}

impl<'r> Fields<'r> {
    /// Reads the outermost table.
    pub(super) fn read_root<T>(
        document: &'r Document,
        root: &'r DeTable<'r>,
        build: impl FnOnce(&mut Fields<'r>) -> Option<T>,
    ) -> Option<T> {
        Self::read(document, "", None, root, build)
    }

    pub(super) fn read<T>(
        document: &'r Document,
        path: &str,
        start: Option<usize>,
        table: &'r DeTable<'r>,
        build: impl FnOnce(&mut Fields<'r>) -> Option<T>,
    ) -> Option<T> {
        let mut fields = Self { document, path: path.to_owned(), start, table, known: Vec::new() };
        let value = build(&mut fields);
        fields.report_unknown();
        value
    }

    /// The value of a key, if it is there.
    pub(crate) fn node(&mut self, key: &'static str) -> Option<Node<'r>> {
        self.known.push(key);
        let value = self.table.get(key)?;
        Some(Node::new(self.document, join(&self.path, key), value))
    }

    /// An optional field. A wrong one reads as absent: it was reported, so the document as a whole is refused.
    pub(crate) fn optional<T>(&mut self, key: &'static str, read: impl FnOnce(&Node<'r>) -> Option<T>) -> Option<T> {
        self.node(key).and_then(|node| read(&node))
    }

    /// An optional field with a default, which also stands in for a wrong one that was reported.
    pub(crate) fn or<T>(&mut self, key: &'static str, default: T, read: impl FnOnce(&Node<'r>) -> Option<T>) -> T {
        self.optional(key, read).unwrap_or(default)
    }

    /// An optional field with a default. A wrong one is `None`, for fields that others are judged by.
    pub(crate) fn or_none<T>(
        &mut self,
        key: &'static str,
        default: T,
        read: impl FnOnce(&Node<'r>) -> Option<T>,
    ) -> Option<T> {
        self.node(key).map_or(Some(default), |node| read(&node))
    }

    /// A field that must be there.
    pub(crate) fn required<T>(
        &mut self,
        key: &'static str,
        hint: &str,
        read: impl FnOnce(&Node<'r>) -> Option<T>,
    ) -> Option<T> {
        match self.node(key) {
            Some(node) => read(&node),
            None => self.missing(key, "is missing", hint),
        }
    }

    /// Reports a key that is not there and should be.
    pub(crate) fn missing<T>(&self, key: &str, problem: impl Into<String>, hint: impl Into<String>) -> Option<T> {
        let mistake = Mistake::new(problem, hint);
        self.document.report_at(ErrorKind::MissingKey, self.start, &join(&self.path, key), mistake);
        None
    }

    /// Reports a key that should be in a table below this one, which itself may be absent.
    pub(crate) fn missing_in<T>(&self, table: &str, key: &str, problem: String, hint: String) -> Option<T> {
        let start = self.table.get(table).map(|value| value.span().start);
        let field = join(&join(&self.path, table), key);
        self.document.report_at(ErrorKind::MissingKey, start, &field, Mistake::new(problem, hint));
        None
    }

    fn report_unknown(&self) {
        for key in self.table.keys() {
            let name = key.get_ref().as_ref();
            if !self.known.contains(&name) {
                let mistake = Mistake::new("no such key", suggest::hint(name, &self.known));
                let start = Some(key.span().start);
                self.document.report_at(ErrorKind::UnknownKey, start, &join(&self.path, name), mistake);
            }
        }
    }
}

/// A path with one more key; a key that TOML would not take bare is quoted, escaped and shortened.
pub(crate) fn join(path: &str, key: &str) -> String {
    let bare =
        !key.is_empty() && key.len() <= 64 && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    let dot = if path.is_empty() { "" } else { "." };
    if bare { format!("{path}{dot}{key}") } else { format!("{path}{dot}\"{}\"", excerpt(key)) }
}
