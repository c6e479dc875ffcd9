//! TOML to JSON, for the parts of a manifest whose shape belongs to a plugin: `config` and `settings`.
//!
//! JSON has no dates and no infinities. A date becomes its text, an infinity is an error, as is an integer that JSON readers
//! would round.

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeFloat, DeInteger, DeTable, DeValue};

use super::Node;
use super::fields::join;

/// A table as an object. The parser bounds how deep it can be.
pub(super) fn object(at: &Node<'_>, table: &DeTable<'_>) -> Option<Map<String, Value>> {
    entries(at, &|| at.path.clone(), table)
}

/// `place` makes the path only when there is something to report.
fn value(at: &Node<'_>, place: &dyn Fn() -> String, item: &Spanned<DeValue<'_>>) -> Option<Value> {
    let here = || Node { document: at.document, path: place(), start: item.span().start, value: item.get_ref() };
    match item.get_ref() {
        DeValue::String(text) => Some(Value::String(text.clone().into_owned())),
        DeValue::Boolean(flag) => Some(Value::Bool(*flag)),
        DeValue::Datetime(time) => Some(Value::String(time.to_string())),
        DeValue::Integer(number) => integer(number).map_or_else(|| too_large(&here()), Some),
        DeValue::Float(number) => float(number).map_or_else(|| not_finite(&here()), Some),
        DeValue::Table(table) => entries(at, place, table).map(Value::Object),
        DeValue::Array(array) => {
            let items = array.iter().enumerate();
            let read = items.map(|(index, item)| value(at, &|| format!("{}[{index}]", place()), item));
            let read: Vec<Option<Value>> = read.collect();
            read.into_iter().collect::<Option<Vec<Value>>>().map(Value::Array)
        }
    }
}

/// Reads every entry, whether or not others are wrong.
fn entries(at: &Node<'_>, place: &dyn Fn() -> String, table: &DeTable<'_>) -> Option<Map<String, Value>> {
    let entries = table.iter().map(|(key, item)| {
        let key_place = || join(&place(), key.get_ref());
        value(at, &key_place, item).map(|value| (key.get_ref().clone().into_owned(), value))
    });
    let read: Vec<Option<(String, Value)>> = entries.collect();
    read.into_iter().collect()
}

fn integer(number: &DeInteger<'_>) -> Option<Value> {
    i64::from_str_radix(number.as_str(), number.radix()).ok().map(Value::from)
}

fn float(number: &DeFloat<'_>) -> Option<Value> {
    number.as_str().parse().ok().and_then(Number::from_f64).map(Value::Number)
}

fn too_large(at: &Node<'_>) -> Option<Value> {
    at.bad("the number does not fit into 64 bits", "write a smaller number, or a string")
}

fn not_finite(at: &Node<'_>) -> Option<Value> {
    at.bad("JSON has no such number", "write a finite number, or a string")
}
