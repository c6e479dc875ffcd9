//! Which JSON schemas are taken from strangers. A schema is a program that the host runs: a reference that leads back to
//! itself overflows the stack of a validator, a fan of references doubles its work at every level, and a remote one makes it
//! call out. So a configuration schema refers only to places in itself, by JSON pointer, and is bounded in how much it
//! makes a validator do at one place of the configuration.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::suggest;
use crate::text::quoted;

/// The longest schema, in bytes.
pub(crate) const MAX_TEXT: usize = 64 * 1024;

/// How many references a schema may have.
const MAX_REFS: usize = 256;

/// How many subschemas may apply to one place of the configuration.
const MAX_WEIGHT: u64 = 10_000;

/// How deep subschemas that apply to one place may lie in each other.
const MAX_HEIGHT: usize = 64;

/// Keywords whose subschemas apply to the same place.
const IN_PLACE: &[&str] = &["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];

/// The same, with names in between.
const IN_PLACE_NAMED: &[&str] = &["dependentSchemas", "dependencies"];

/// Keywords whose subschemas apply to parts.
const PARTS: &[&str] = &[
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "additionalProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];

/// The same, with names in between.
const PARTS_NAMED: &[&str] = &["properties", "patternProperties", "$defs", "definitions"];

/// Keywords that move the meaning of references about.
const REFUSED: &[&str] =
    &["$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary"];

const DIALECTS: &[&str] = &[
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
];

/// Why a schema is refused, and where in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) pointer: String,
    pub(crate) problem: String,
}

/// Checks the shape of a schema.
pub(crate) fn check(schema: &Value) -> Result<(), Refused> {
    check_dialect(schema)?;
    let mut walk = Walk { root: schema, weighed: HashMap::new(), refs: 0, parts: vec![String::new()] };
    while let Some(pointer) = walk.parts.pop() {
        walk.weigh(&pointer, 0)?;
    }
    Ok(())
}

fn check_dialect(schema: &Value) -> Result<(), Refused> {
    let Some(dialect) = schema.get("$schema") else { return Ok(()) };
    let known = dialect.as_str().is_some_and(|text| DIALECTS.contains(&text.trim_end_matches('#')));
    let problem = || format!("an unknown `$schema`; known: {}", suggest::list(DIALECTS));
    if known { Ok(()) } else { Err(Refused { pointer: "/$schema".to_owned(), problem: problem() }) }
}

/// How many subschemas apply at one place, and how deep they lie in each other; `None` while that is being found out.
type Weight = Option<(u64, usize)>;

struct Walk<'s> {
    root: &'s Value,
    weighed: HashMap<String, Weight>,
    refs: usize,
    /// Subschemas of parts, which are weighed on their own.
    parts: Vec<String>,
}

impl<'s> Walk<'s> {
    fn weigh(&mut self, pointer: &str, depth: usize) -> Result<(u64, usize), Refused> {
        let refuse = |problem: &str| Err(Refused { pointer: pointer.to_owned(), problem: problem.to_owned() });
        let known = self.weighed.get(pointer).copied();
        if known == Some(None) {
            return refuse("a reference that leads back to itself");
        }
        if depth + known.flatten().map_or(0, |(_, height)| height) > MAX_HEIGHT {
            return refuse("subschemas and references that lie too deep in each other");
        }
        if let Some(weight) = known.flatten() {
            return Ok(weight);
        }
        let Some(schema) = self.root.pointer(pointer) else {
            return refuse("a reference to a place that the schema does not have");
        };
        self.weighed.insert(pointer.to_owned(), None);
        let weight = match schema.as_object() {
            Some(keywords) => self.weigh_object(pointer, keywords, depth)?,
            None => (1, 0),
        };
        self.weighed.insert(pointer.to_owned(), Some(weight));
        Ok(weight)
    }

    fn weigh_object(
        &mut self,
        pointer: &str,
        keywords: &'s Map<String, Value>,
        depth: usize,
    ) -> Result<(u64, usize), Refused> {
        check_keywords(pointer, keywords)?;
        self.parts.extend(
            below(pointer, keywords, PARTS, PARTS_NAMED).into_iter().filter(|part| !self.weighed.contains_key(part)),
        );
        let mut in_place = below(pointer, keywords, IN_PLACE, IN_PLACE_NAMED);
        if let Some(reference) = keywords.get("$ref") {
            in_place.push(self.follow(pointer, reference)?);
        }
        let (mut weight, mut height) = (1_u64, 0);
        for one in in_place {
            let (its_weight, its_height) = self.weigh(&one, depth + 1)?;
            weight = weight.saturating_add(its_weight);
            height = height.max(its_height + 1);
        }
        if weight > MAX_WEIGHT {
            let problem = format!("more than {MAX_WEIGHT} subschemas for one place of the configuration");
            return Err(Refused { pointer: pointer.to_owned(), problem });
        }
        Ok((weight, height))
    }

    /// The place in this schema that a reference names.
    fn follow(&mut self, pointer: &str, reference: &Value) -> Result<String, Refused> {
        let refuse = |problem: String| Err(Refused { pointer: format!("{pointer}/$ref"), problem });
        self.refs += 1;
        if self.refs > MAX_REFS {
            return refuse(format!("more than {MAX_REFS} references"));
        }
        let text = reference.as_str().unwrap_or_default();
        match text.strip_prefix('#') {
            Some(target) if !target.contains('%') && (target.is_empty() || target.starts_with('/')) => {
                Ok(target.to_owned())
            }
            _ => refuse(format!("a reference that leaves the schema, {}; only `#/...` is followed", quoted(text))),
        }
    }
}

fn check_keywords(pointer: &str, keywords: &Map<String, Value>) -> Result<(), Refused> {
    let moved = |keyword: &&&str| !pointer.is_empty() && keywords.get(**keyword).is_some_and(Value::is_string);
    let found = REFUSED.iter().find(|keyword| keywords.contains_key(**keyword));
    match found.or_else(|| ["$id", "id"].iter().find(moved)) {
        Some(keyword) => Err(Refused {
            pointer: pointer.to_owned(),
            problem: format!("the keyword `{keyword}`, which configuration schemas do not have"),
        }),
        None => Ok(()),
    }
}

/// The subschemas under some keywords, as pointers.
fn below(pointer: &str, keywords: &Map<String, Value>, direct: &[&str], named: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (keyword, value) in keywords {
        let path = format!("{pointer}/{}", escape(keyword));
        match value {
            Value::Array(items) if direct.contains(&keyword.as_str()) => {
                found.extend((0..items.len()).map(|index| format!("{path}/{index}")));
            }
            Value::Object(_) if direct.contains(&keyword.as_str()) => found.push(path),
            Value::Object(names) if named.contains(&keyword.as_str()) => {
                found.extend(names.keys().map(|name| format!("{path}/{}", escape(name))));
            }
            _ => {}
        }
    }
    found
}

/// A key as JSON pointers write it (RFC 6901).
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn refused(schema: &Value, problem: &str) {
        let error = check(schema).expect_err("the schema is refused");
        assert!(error.problem.contains(problem), "{error:?}");
    }

    #[test]
    fn ordinary_schemas_are_taken() {
        let tree = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "https://example.com/config",
            "type": "object",
            "properties": { "$ref": { "type": "string" }, "tree": { "$ref": "#/$defs/tree" } },
            "$defs": { "tree": { "items": { "$ref": "#/$defs/tree" } } },
        });
        assert_eq!(check(&tree), Ok(()));
        assert_eq!(check(&json!(true)), Ok(()));
    }

    #[test]
    fn references_stay_inside_and_lead_somewhere() {
        for reference in ["https://example.com/x", "other.json#/a", "#anchor", "#/%24defs/a", ""] {
            refused(&json!({ "$ref": reference }), "leaves the schema");
        }
        refused(&json!({ "$ref": "#/$defs/a" }), "does not have");
    }

    #[test]
    fn references_do_not_lead_back_to_themselves() {
        refused(&json!({ "$ref": "#" }), "back to itself");
        refused(
            &json!({ "$defs": { "a": { "anyOf": [{ "$ref": "#/$defs/b" }] }, "b": { "$ref": "#/$defs/a" } } }),
            "itself",
        );
    }

    #[test]
    fn the_work_at_one_place_is_bounded() {
        let mut defs = Map::new();
        for level in 0..40 {
            let next = format!("#/$defs/l{}", level + 1);
            defs.insert(format!("l{level}"), json!({ "allOf": [{ "$ref": next }, { "$ref": next }] }));
        }
        defs.insert("l40".to_owned(), json!(true));
        refused(&json!({ "$ref": "#/$defs/l0", "$defs": defs }), "");
        let chain = (0..200).map(|level| (format!("l{level}"), json!({ "$ref": format!("#/$defs/l{}", level + 1) })));
        let mut defs: Map<String, Value> = chain.collect();
        defs.insert("l200".to_owned(), json!(true));
        refused(&json!({ "$ref": "#/$defs/l0", "$defs": defs }), "too deep");
    }

    #[test]
    fn keywords_that_move_references_are_refused() {
        refused(&json!({ "properties": { "a": { "$id": "https://example.com/" } } }), "`$id`");
        refused(&json!({ "$dynamicRef": "#" }), "`$dynamicRef`");
        refused(&json!({ "$schema": "https://example.com/mine" }), "`$schema`");
    }
}
