//! `RECORDS.md` is written from the types that serialise records and feed events. `UPDATE_GOLDEN=1 cargo test -p
//! mainstay-protocol` writes it anew.

#![allow(clippy::disallowed_methods, reason = "the page is a file; only the crate itself has to do without them")]

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

use mainstay_protocol::{
    feed::{FeedEvent, FeedKind},
    record::v1::{KindInfo, RecordBody},
};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

const HEAD: &str = "# Records and feed events

This page is written from the types that serialise records; a test compares it with them.

A **record** is an immutable fact of one session: `ordinal` (contiguous in its session), time, kind, a JSON body, the digest of its
stored bytes, and a chain over all before it. A body gains fields with defaults; none is renamed or removed, so every build reads
the records of all before it. A kind that a build does not know reads as `unknown`, with its body.

A **feed event** is a record of one of the kinds that clients are told of; it also has `seq`, its place in the one order of all
sessions. The feed tells records from outside: several kinds of records can be one kind of event.

\"Since\" is the version of the product that wrote a kind first. Fields marked *optional* are left out when they are empty.
";

#[test]
fn the_page_says_what_the_types_say() {
    let page = page();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("RECORDS.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &page).expect("the page is written");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "RECORDS.md is out of date: UPDATE_GOLDEN=1 cargo test -p mainstay-protocol writes it anew");
}

#[test]
fn every_kind_has_an_example_that_comes_back_as_it_went() {
    let examples = RecordBody::examples();
    let shown: BTreeSet<_> = examples.iter().map(RecordBody::kind).collect();
    let known: BTreeSet<_> = RecordBody::KINDS.iter().map(|kind| kind.name).collect();
    assert_eq!(shown, known);
    for example in &examples {
        assert!(!matches!(example, RecordBody::Unknown(_)), "{} is not of its kind's shape", example.kind());
        let encoded = example.encode();
        assert_eq!(RecordBody::decode(example.kind(), &encoded).as_ref(), Some(example));
    }
}

fn page() -> String {
    let mut generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    let mut out = HEAD.to_owned();
    out += "\n## Kinds of records\n\n| kind | since | feed event | meaning |\n|---|---|---|---|\n";
    for kind in RecordBody::KINDS {
        let feed = kind.feed.map_or_else(String::new, |feed| format!("`{}`", feed.as_str()));
        let _ = writeln!(out, "| [`{0}`](#{0}) | {1} | {2} | {3} |", kind.name, kind.since, feed, joined(kind.meaning));
    }
    out += "\n## Kinds of feed events\n\n| event | told of | meaning |\n|---|---|---|\n";
    for (feed, word, meaning) in FeedKind::ALL {
        let kinds: Vec<_> = kinds_of(*feed).map(|kind| format!("`{}`", kind.name)).collect();
        let _ = writeln!(out, "| `{word}` | {} | {} |", kinds.join(", "), joined(meaning));
    }
    out += "\nEvery event has these fields, and those of its kind beside them:\n\n";
    let event = generator.subschema_for::<FeedEvent>();
    shared_fields(&mut out, &event, &generator);
    out += "\n# The kinds of records, one by one\n";
    for kind in RecordBody::KINDS {
        section(&mut out, kind, &mut generator);
    }
    out += "\n# Shapes\n\nWhat the fields above are made of.\n";
    shapes(&mut out, &generator);
    out
}

fn kinds_of(feed: FeedKind) -> impl Iterator<Item = &'static KindInfo> {
    RecordBody::KINDS.iter().filter(move |kind| kind.feed == Some(feed))
}

fn joined(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn section(out: &mut String, kind: &KindInfo, generator: &mut SchemaGenerator) {
    let body = (kind.schema)(generator);
    let _ = write!(out, "\n## {}\n\n{} Since {}.", kind.name, joined(kind.meaning), kind.since);
    if let Some(feed) = kind.feed {
        let _ = write!(out, " The feed tells it as `{}`.", feed.as_str());
    }
    out.push_str("\n\n");
    let body = resolved(&body, generator);
    fields(out, &body);
    let examples = RecordBody::examples();
    let example = examples.iter().find(|example| example.kind() == kind.name).expect("each kind has one");
    let example: Value = serde_json::from_slice(&example.encode()).expect("JSON");
    let _ = writeln!(out, "\n```json\n{}\n```", serde_json::to_string_pretty(&example).expect("JSON"));
}

/// The schema that a reference names.
fn resolved(schema: &Schema, generator: &SchemaGenerator) -> Value {
    let value = schema.as_value().clone();
    let name = value.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next()).map(str::to_owned);
    match name {
        Some(name) => generator.definitions().get(&name).cloned().unwrap_or(value),
        None => value,
    }
}

fn fields(out: &mut String, schema: &Value) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    let required: BTreeSet<_> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    out.push_str("| field | type | meaning |\n|---|---|---|\n");
    for (name, property) in properties {
        let optional = if required.contains(name.as_str()) { "" } else { ", *optional*" };
        let meaning = description(property);
        let _ = writeln!(out, "| `{name}` | {}{optional} | {meaning} |", type_of(property));
    }
}

fn shared_fields(out: &mut String, event: &Schema, generator: &SchemaGenerator) {
    fields(out, &resolved(event, generator));
}

fn description(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// A type in a few words, with a link where it has a name.
fn type_of(schema: &Value) -> String {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next()) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    let alternatives = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(key)).and_then(Value::as_array);
    if let Some(alternatives) = alternatives {
        let kinds: Vec<_> = alternatives.iter().map(type_of).filter(|kind| kind != "null").collect();
        return kinds.join(" or ");
    }
    if let Some(all) = schema.get("allOf").and_then(Value::as_array) {
        return all.iter().map(type_of).collect::<Vec<_>>().join(" with ");
    }
    let kinds: Vec<&str> = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect(),
        _ => Vec::new(),
    };
    match kinds.as_slice() {
        ["array"] => format!("list of {}", schema.get("items").map_or_else(|| "anything".to_owned(), type_of)),
        ["object"] => match schema.get("additionalProperties").filter(|value| value.is_object()) {
            Some(values) => format!("object of {}", type_of(values)),
            None => "object".to_owned(),
        },
        ["integer"] => "number".to_owned(),
        ["boolean"] => "true or false".to_owned(),
        ["string"] => constant(schema).unwrap_or_else(|| "text".to_owned()),
        [] => constant(schema).unwrap_or_else(|| "any JSON".to_owned()),
        kinds => kinds.join(" or "),
    }
}

fn constant(schema: &Value) -> Option<String> {
    schema.get("const").and_then(Value::as_str).map(|word| format!("`{word}`"))
}

fn shapes(out: &mut String, generator: &SchemaGenerator) {
    let bodies: BTreeSet<String> = {
        let mut other = schemars::generate::SchemaSettings::draft2020_12().into_generator();
        let names = RecordBody::KINDS.iter().filter_map(|kind| {
            let schema = (kind.schema)(&mut other);
            schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next()).map(str::to_owned)
        });
        names.filter(|name| name != "Receipt").collect()
    };
    for (name, schema) in generator.definitions() {
        if !bodies.contains(name) {
            shape(out, name, schema);
        }
    }
}

fn shape(out: &mut String, name: &str, schema: &Value) {
    let _ = write!(out, "\n### {name}\n\n");
    let about = description(schema);
    let is_object = schema.get("properties").is_some();
    if !is_object && schema.get("oneOf").is_none() {
        let _ = writeln!(out, "{}: {about}", capitalised(&type_of(schema)));
        return;
    }
    let _ = writeln!(out, "{about}\n");
    fields(out, schema);
    if let Some(variants) = schema.get("oneOf").and_then(Value::as_array) {
        out.push_str(if is_object { "\n| one of" } else { "| one of" });
        out.push_str(" | meaning |\n|---|---|\n");
        variants.iter().for_each(|each| variant(out, each));
    }
}

fn variant(out: &mut String, schema: &Value) {
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        for word in words.iter().filter_map(Value::as_str) {
            let _ = writeln!(out, "| `{word}` | {} |", description(schema));
        }
        return;
    }
    let name = constant(schema).unwrap_or_else(|| {
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let fields: Vec<_> =
            properties.iter().map(|(name, property)| format!("`{name}`: {}", type_of(property))).collect();
        match fields.as_slice() {
            [] => type_of(schema),
            fields => format!("{{ {} }}", fields.join(", ")),
        }
    });
    let _ = writeln!(out, "| {name} | {} |", description(schema));
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
