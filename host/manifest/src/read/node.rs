//! One value of a manifest with its path and place, and the ways to read it.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::DeValue;

use super::{Document, Fields, MAX_ENTRIES, Mistake, json};
use crate::error::{ErrorKind, InvalidValue};
use crate::text::quoted;
use crate::units::{ByteSize, Count, Timespan};

/// One value, where it is, and the document that collects what is wrong with it.
#[derive(Clone)]
pub(crate) struct Node<'r> {
    pub(super) document: &'r Document,
    pub(super) path: String,
    pub(super) start: usize,
    pub(super) value: &'r DeValue<'r>,
}

/// A key that the manifest's writer chose (the name of a plugin), and its value.
pub(crate) struct Entry<'r> {
    key: &'r str,
    key_start: usize,
    node: Node<'r>,
}

/// A limit with a unit: how it is read, compared and shown.
pub(crate) trait Quantity: Copy + Ord + Display {
    /// Reads one. A range that the type can check while it reads gives better errors than one that is checked after.
    fn read(node: &Node<'_>, min: Self, max: Self) -> Option<Self>;
}

impl<'r> Node<'r> {
    pub(super) fn new(document: &'r Document, path: String, value: &'r Spanned<DeValue<'r>>) -> Self {
        Self { document, path, start: value.span().start, value: value.get_ref() }
    }

    /// Reports a value that is of the right type and not legal.
    pub(crate) fn bad<T>(&self, problem: impl Into<String>, hint: impl Into<String>) -> Option<T> {
        self.reject(ErrorKind::BadValue, Mistake::new(problem, hint).found(self.shown()))
    }

    /// Reports a value that contradicts another place.
    pub(crate) fn conflict<T>(&self, problem: impl Into<String>, hint: impl Into<String>) -> Option<T> {
        self.reject(ErrorKind::Conflict, Mistake::new(problem, hint))
    }

    fn reject<T>(&self, kind: ErrorKind, mistake: Mistake) -> Option<T> {
        self.document.report_at(kind, Some(self.start), &self.path, mistake);
        None
    }

    fn wrong_type<T>(&self, expected: &str, hint: &str) -> Option<T> {
        let mistake = Mistake::new(format!("must be {expected}"), hint).found(type_name(self.value).to_owned());
        self.reject(ErrorKind::WrongType, mistake)
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(self.value, DeValue::Table(_))
    }

    /// Whether the value is a table with a key.
    pub(crate) fn has(&self, key: &str) -> bool {
        matches!(self.value, DeValue::Table(table) if table.contains_key(key))
    }

    pub(crate) fn text(&self) -> Option<&'r str> {
        match self.value {
            DeValue::String(text) => Some(text),
            _ => self.wrong_type("a string", ""),
        }
    }

    /// A string that is the text of some validated type.
    pub(crate) fn word<T: FromStr<Err = InvalidValue>>(&self) -> Option<T> {
        self.text()?.parse().map_or_else(|error: InvalidValue| self.bad(error.problem(), error.hint()), Some)
    }

    pub(crate) fn flag(&self) -> Option<bool> {
        match self.value {
            DeValue::Boolean(flag) => Some(*flag),
            _ => self.wrong_type("`true` or `false`", ""),
        }
    }

    /// A whole number in a range, both ends included.
    pub(crate) fn integer(&self, min: i64, max: i64) -> Option<i64> {
        let DeValue::Integer(integer) = self.value else {
            return self.wrong_type("a whole number", &format!("write a number from {min} to {max}"));
        };
        match i64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(number) if (min..=max).contains(&number) => Some(number),
            _ => self.bad("the number is out of range", format!("write a number from {min} to {max}")),
        }
    }

    /// A quantity in a range, both ends included.
    pub(crate) fn quantity<Q: Quantity>(&self, min: Q, max: Q) -> Option<Q> {
        let quantity = Q::read(self, min, max)?;
        if quantity < min {
            return self.bad(format!("below the least that works, {min}"), format!("write {min} to {max}"));
        }
        if quantity > max {
            let hint = format!("write {min} to {max}; there is no \"unlimited\"");
            return self.bad(format!("above the hard maximum, {max}"), hint);
        }
        Some(quantity)
    }

    fn list(&self) -> Option<Vec<Node<'r>>> {
        let DeValue::Array(array) = self.value else {
            return self.wrong_type("a list", "write `[...]`");
        };
        if array.len() > MAX_ENTRIES {
            return self.conflict(format!("more than {MAX_ENTRIES} entries"), "shorten the list");
        }
        let node = |(index, value)| Node::new(self.document, format!("{}[{index}]", self.path), value);
        Some(array.iter().enumerate().map(node).collect())
    }

    /// A list of which every entry is read, whether or not others are wrong.
    pub(crate) fn each<T>(&self, mut read: impl FnMut(&Node<'r>) -> Option<T>) -> Option<Vec<T>> {
        let read: Vec<Option<T>> = self.list()?.iter().map(&mut read).collect();
        read.into_iter().collect()
    }

    /// A list of things with a key each; the same key twice is a conflict.
    pub(crate) fn keyed<K: Ord + Display, V>(
        &self,
        mut read: impl FnMut(&Node<'r>) -> Option<(K, V)>,
    ) -> Option<BTreeMap<K, V>> {
        let mut map = BTreeMap::new();
        let added = self.each(|node| {
            let (key, value) = read(node)?;
            if map.contains_key(&key) {
                return node.conflict(format!("`{key}` is named twice"), "keep one of them");
            }
            map.insert(key, value);
            Some(())
        });
        added.map(|_| map)
    }

    /// A table with known keys. Every key that the function does not ask for is reported as unknown, so the function must
    /// ask for all of them before it gives up on any.
    pub(crate) fn fields<T>(&self, build: impl FnOnce(&mut Fields<'r>) -> Option<T>) -> Option<T> {
        match self.value {
            DeValue::Table(table) => Fields::read(self.document, &self.path, Some(self.start), table, build),
            _ => self.wrong_type("a table", ""),
        }
    }

    /// A table whose keys the manifest's writer chose.
    pub(crate) fn entries(&self) -> Option<Vec<Entry<'r>>> {
        let DeValue::Table(table) = self.value else {
            return self.wrong_type("a table of names", "");
        };
        if table.len() > MAX_ENTRIES {
            return self.conflict(format!("more than {MAX_ENTRIES} entries"), "split the installation");
        }
        let entry = |(key, value): (&'r Spanned<toml::de::DeString<'r>>, &'r Spanned<DeValue<'r>>)| Entry {
            key: key.get_ref(),
            key_start: key.span().start,
            node: Node::new(self.document, super::fields::join(&self.path, key.get_ref()), value),
        };
        Some(table.iter().map(entry).collect())
    }

    /// A table as a JSON object.
    pub(crate) fn json_object(&self) -> Option<Map<String, Value>> {
        match self.value {
            DeValue::Table(table) => json::object(self, table),
            _ => self.wrong_type("a table", "write `{ key = value }`"),
        }
    }

    /// The value as errors show it.
    fn shown(&self) -> String {
        match self.value {
            DeValue::String(text) => quoted(text),
            DeValue::Integer(integer) => crate::text::excerpt(&integer.to_string()),
            DeValue::Float(float) => crate::text::excerpt(&float.to_string()),
            DeValue::Boolean(flag) => flag.to_string(),
            other => type_name(other).to_owned(),
        }
    }
}

impl<'r> Entry<'r> {
    pub(crate) fn key(&self) -> &'r str {
        self.key
    }

    pub(crate) fn node(&self) -> &Node<'r> {
        &self.node
    }

    /// The key as a validated name.
    pub(crate) fn name<T: FromStr<Err = InvalidValue>>(&self) -> Option<T> {
        self.key.parse().map_or_else(
            |error: InvalidValue| {
                let mistake = Mistake::from(error).found(quoted(self.key));
                self.node.document.report_at(ErrorKind::BadValue, Some(self.key_start), &self.node.path, mistake);
                None
            },
            Some,
        )
    }
}

impl Quantity for ByteSize {
    fn read(node: &Node<'_>, _: Self, _: Self) -> Option<Self> {
        match node.value {
            DeValue::String(_) => node.word(),
            _ => node.wrong_type("a size with a unit, as a string", "write it like \"64 MiB\""),
        }
    }
}

impl Quantity for Timespan {
    fn read(node: &Node<'_>, _: Self, _: Self) -> Option<Self> {
        match node.value {
            DeValue::String(_) => node.word(),
            _ => node.wrong_type("a duration with a unit, as a string", "write it like \"120 s\""),
        }
    }
}

impl Quantity for Count {
    fn read(node: &Node<'_>, min: Self, max: Self) -> Option<Self> {
        let number = node.integer(min.get().into(), max.get().into())?;
        Some(Self::constant(u32::try_from(number).unwrap_or(u32::MAX)))
    }
}

fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a floating-point number",
        DeValue::Boolean(_) => "`true` or `false`",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
