//! A plugin's configuration against the JSON schema that came with the plugin. The schema is a stranger's: its shape is
//! checked first (`schema_shape`), its patterns run in linear time, nothing is fetched, and when it is broken the error
//! says so instead of blaming the operator.

use std::sync::Arc;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

use crate::error::{ErrorKind, ManifestError, ManifestErrors, Position};
use crate::read::join;
use crate::schema_shape::{self, Refused};
use crate::suggest;
use crate::text;

/// How much memory one compiled pattern may take, in bytes.
const PATTERN_BYTES: usize = 1 << 20;

/// How much of a validator's message an error shows, in characters.
const MESSAGE_CHARS: usize = 200;

/// A JSON schema that was checked and compiled.
#[derive(Debug)]
pub struct ConfigSchema {
    schema: Value,
    validator: Validator,
}

impl ConfigSchema {
    /// Reads a schema. The name, usually the file's, goes into errors only.
    ///
    /// # Errors
    /// The schema is broken, refers to something outside itself, or would cost too much: an error of the plugin's author.
    pub fn parse(text: &str, name_for_errors: &str) -> Result<Self, ManifestErrors> {
        let file = crate::read::safe_name(name_for_errors);
        Self::build(text).map_err(|Refused { pointer, problem }| {
            let problem = format!("the configuration schema of the plugin is broken: {problem}");
            let error =
                ManifestError::new(ErrorKind::BrokenSchema, &file, text::clean(&pointer, MESSAGE_CHARS), problem)
                    .hint("the operator can not fix this; tell the plugin's author");
            ManifestErrors::one(error)
        })
    }

    fn build(text: &str) -> Result<Self, Refused> {
        let whole = |problem: String| Refused { pointer: String::new(), problem };
        if text.len() > schema_shape::MAX_TEXT {
            return Err(whole(format!("it has {} bytes, more than {}", text.len(), schema_shape::MAX_TEXT)));
        }
        let schema: Value = serde_json::from_str(text).map_err(|error| whole(format!("not JSON: {error}")))?;
        schema_shape::check(&schema)?;
        let patterns = PatternOptions::regex().size_limit(PATTERN_BYTES);
        let validator = jsonschema::options().offline().with_pattern_options(patterns).build(&schema);
        let validator = validator.map_err(|error| Refused {
            pointer: error.instance_path().as_str().to_owned(),
            problem: text::clean(&error.to_string(), MESSAGE_CHARS),
        })?;
        Ok(Self { schema, validator })
    }

    /// Checks a configuration. `prefix` are the segments of its own path, `locate` finds the place of a field.
    pub(crate) fn check(
        &self,
        file: &Arc<str>,
        prefix: &[String],
        config: &Value,
        locate: &dyn Fn(&[String]) -> Option<Position>,
    ) -> Result<(), ManifestErrors> {
        let mut issues = Vec::new();
        let mut omitted = 0;
        for error in self.validator.iter_errors(config) {
            if issues.len() < ManifestErrors::MAX { self.explain(&error, &mut issues) } else { omitted += 1 }
        }
        let report = |issue: Issue| issue.report(file, prefix, config, locate);
        ManifestErrors::from_list(issues.into_iter().map(report).collect(), omitted).map_or(Ok(()), Err)
    }

    /// Turns a validator's error into ours: one for each unknown or missing key.
    fn explain(&self, error: &ValidationError<'_>, issues: &mut Vec<Issue>) {
        let at = error.instance_path().as_str().to_owned();
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                let known = self.properties_beside(error);
                issues.extend(unexpected.iter().map(|key| Issue::unknown_key(&at, key, &known)));
            }
            ValidationErrorKind::Required { property } => {
                issues.push(Issue::missing_key(&at, property.as_str().unwrap_or_default()));
            }
            ValidationErrorKind::Enum { options } => issues.push(Issue::not_an_option(at, error, options)),
            kind => {
                let wrong_type = matches!(kind, ValidationErrorKind::Type { .. });
                let kind = if wrong_type { ErrorKind::WrongType } else { ErrorKind::BadValue };
                issues.push(Issue {
                    kind,
                    at,
                    key: None,
                    found: Some(shown(error.instance())),
                    problem: message(error),
                    hint: branches(error),
                });
            }
        }
    }

    /// The keys that the schema knows where it refused one.
    fn properties_beside(&self, error: &ValidationError<'_>) -> Vec<String> {
        let path = error.schema_path().as_str();
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        let properties =
            self.schema.pointer(parent).and_then(|schema| schema.get("properties")).and_then(Value::as_object);
        properties.map(|map| map.keys().map(|key| text::clean(key, MESSAGE_CHARS)).collect()).unwrap_or_default()
    }
}

/// Checks the configuration of a plugin against the text of a schema. Field paths start with `plugin.<name>.config`; for
/// lines and columns use [`crate::HostManifest::check_config`].
///
/// # Errors
/// A broken schema, or every violation.
pub fn validate_config(plugin: &str, schema_text: &str, config: &Value) -> Result<(), ManifestErrors> {
    let schema = ConfigSchema::parse(schema_text, &format!("config schema of {plugin}"))?;
    let prefix = ["plugin", plugin, "config"].map(str::to_owned);
    schema.check(&"config".into(), &prefix, config, &|_| None)
}

/// One violation, its place still a JSON pointer into the configuration.
struct Issue {
    kind: ErrorKind,
    at: String,
    /// A key at that place, which for a missing one has no value.
    key: Option<String>,
    found: Option<String>,
    problem: String,
    hint: String,
}

impl Issue {
    fn unknown_key(at: &str, key: &str, known: &[String]) -> Self {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let hint = if known.is_empty() { String::new() } else { suggest::hint(key, &known) };
        let problem = "the plugin has no such key".to_owned();
        Self { kind: ErrorKind::UnknownKey, at: at.to_owned(), key: Some(key.to_owned()), found: None, problem, hint }
    }

    fn missing_key(at: &str, key: &str) -> Self {
        let problem = "is missing; the plugin needs it".to_owned();
        let (at, key) = (at.to_owned(), Some(key.to_owned()));
        Self { kind: ErrorKind::MissingKey, at, key, found: None, problem, hint: String::new() }
    }

    fn not_an_option(at: String, error: &ValidationError<'_>, options: &Value) -> Self {
        let options: Vec<&str> = options.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let options: Vec<String> = options.into_iter().map(|option| text::clean(option, MESSAGE_CHARS)).collect();
        let known: Vec<&str> = options.iter().map(String::as_str).collect();
        let found = error.instance();
        let hint =
            if known.is_empty() { String::new() } else { suggest::hint(found.as_str().unwrap_or_default(), &known) };
        Self { kind: ErrorKind::BadValue, at, key: None, found: Some(shown(found)), problem: message(error), hint }
    }

    fn report(
        self,
        file: &Arc<str>,
        prefix: &[String],
        config: &Value,
        locate: &dyn Fn(&[String]) -> Option<Position>,
    ) -> ManifestError {
        let mut segments = prefix.to_vec();
        let mut field = prefix.iter().fold(String::new(), |path, key| join(&path, key));
        let mut value = Some(config);
        let tokens = self.at.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~"));
        for token in tokens.chain(self.key) {
            field = match value {
                Some(Value::Array(_)) => format!("{field}[{token}]"),
                _ => join(&field, &token),
            };
            value = value.and_then(|value| child(value, &token));
            segments.push(token);
        }
        let position = locate(&segments).or_else(|| segments.pop().and_then(|_| locate(&segments)));
        let error = ManifestError::new(self.kind, file, field, self.problem).at(position).hint(self.hint);
        match self.found {
            Some(found) => error.found(found),
            None => error,
        }
    }
}

fn child<'v>(value: &'v Value, token: &str) -> Option<&'v Value> {
    match value {
        Value::Object(map) => map.get(token),
        Value::Array(items) => items.get(token.parse::<usize>().ok()?),
        _ => None,
    }
}

/// What the validator says, without the value, which errors show apart.
fn message(error: &ValidationError<'_>) -> String {
    text::clean(&error.masked().to_string(), MESSAGE_CHARS)
}

/// What each alternative of a failed `anyOf` or `oneOf` wants.
fn branches(error: &ValidationError<'_>) -> String {
    const SHOWN: usize = 4;
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) = error.kind() else {
        return String::new();
    };
    let wants: Vec<String> = context.iter().filter_map(|branch| branch.first()).take(SHOWN).map(message).collect();
    wants.join("; or ")
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(string) => text::quoted(string),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a table".to_owned(),
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SCHEMA: &str = r##"{
        "type": "object",
        "additionalProperties": false,
        "required": ["mode"],
        "properties": {
            "mode": { "enum": ["strict", "lenient"] },
            "ask": { "type": "array", "items": { "type": "string", "pattern": "^[a-z_]+$" } },
            "limit": { "oneOf": [{ "type": "integer" }, { "type": "string", "maxLength": 3 }] }
        }
    }"##;

    fn errors(config: &Value) -> Vec<String> {
        let errors = validate_config("approvals", SCHEMA, config).expect_err("the configuration is refused");
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_fitting_configuration_passes() {
        assert_eq!(validate_config("approvals", SCHEMA, &json!({ "mode": "strict", "ask": ["a"] })), Ok(()));
    }

    #[test]
    fn every_violation_has_its_path_and_hint() {
        let errors = errors(&json!({ "mode": "strit", "ask": ["ok", "NO", 3], "aks": 1, "limit": true }));
        let all = errors.join("\n");
        for part in [
            "plugin.approvals.config.mode",
            "did you mean `strict`",
            "config.ask[1]",
            "config.ask[2]",
            "config.aks: the plugin has no such key",
            "did you mean `ask`",
            "config.limit",
        ] {
            assert!(all.contains(part), "{part} in\n{all}");
        }
        assert_eq!(errors.len(), 5, "{all}");
    }

    #[test]
    fn a_missing_key_is_named() {
        assert_eq!(errors(&json!({})), ["config: plugin.approvals.config.mode: is missing; the plugin needs it"]);
    }

    #[test]
    fn a_broken_schema_blames_the_author() {
        for broken in
            ["{", r#"{"type": "strnig"}"#, r##"{"$ref": "https://example.com/x.json"}"##, r#"{"pattern": "(?=a)"}"#]
        {
            let errors = validate_config("approvals", broken, &json!({})).expect_err(broken);
            assert!(errors.iter().all(|error| error.kind() == ErrorKind::BrokenSchema), "{errors}");
            assert!(errors.to_string().contains("author"), "{errors}");
        }
    }

    #[test]
    fn long_chains_of_references_do_not_overflow_the_stack() {
        let link = |level: usize| {
            (format!("l{level}"), json!({ "properties": { "a": { "$ref": format!("#/$defs/l{}", level + 1) } } }))
        };
        let mut defs: serde_json::Map<String, Value> = (0..250).map(link).collect();
        defs.insert("l250".to_owned(), json!(true));
        let schema = json!({ "$ref": "#/$defs/l0", "$defs": defs }).to_string();
        assert_eq!(validate_config("a", &schema, &json!({})), Ok(()));
    }
}
