//! The script: TOML text to checked rules. Every error names the rule, the output and the field.

use std::num::NonZeroU32;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mainstay_sdk::prelude::*;

use crate::rules::{Rule, When};
use crate::source::Defaults;
use crate::template::Template;

/// A checked script.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) rules: Vec<Rule>,
}

/// One thing that is said.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) what: What,
    pub(crate) private: Option<Vec<u8>>,
    pub(crate) pace: Defaults,
}

/// What is said.
#[derive(Debug)]
pub(crate) enum What {
    Text(Template),
    Reasoning(Template),
    Call(Call),
    Usage(UsageText),
    Finish(FinishReason),
    Error(ErrorText),
}

/// A planned tool call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: Option<Template>,
    pub(crate) name: Template,
    pub(crate) arguments: Arguments,
}

/// The arguments of a call.
#[derive(Debug)]
pub(crate) enum Arguments {
    /// A value whose texts may hold placeholders.
    Value(serde_json::Value),
    /// The text itself, JSON or not: for tests of what a host does with bad JSON.
    Raw(Template),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptText {
    chunk: Option<NonZeroU32>,
    delay_ms: Option<u32>,
    #[serde(default)]
    rule: Vec<RuleText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    #[serde(default)]
    when: WhenText,
    chunk: Option<NonZeroU32>,
    delay_ms: Option<u32>,
    output: Vec<OutputText>,
}

/// The conditions of a rule, as written.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct WhenText {
    pub(crate) message: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) result: Option<String>,
    pub(crate) is_error: Option<bool>,
    pub(crate) step: Option<u32>,
    pub(crate) private_seen: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct OutputText {
    text: Option<String>,
    reasoning: Option<String>,
    call: Option<CallText>,
    usage: Option<UsageText>,
    finish: Option<FinishText>,
    error: Option<ErrorText>,
    private: Option<String>,
    private_base64: Option<String>,
    chunk: Option<NonZeroU32>,
    delay_ms: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallText {
    id: Option<String>,
    name: String,
    arguments: Option<serde_json::Value>,
}

/// The counts of an attempt.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UsageText {
    pub(crate) input_tokens: u32,
    pub(crate) output_tokens: u32,
    pub(crate) cache_read_tokens: Option<u32>,
    pub(crate) cache_write_tokens: Option<u32>,
    pub(crate) reasoning_tokens: Option<u32>,
}

/// An error of the provider.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ErrorText {
    kind: KindText,
    #[serde(default)]
    code: String,
    #[serde(default = "default_message")]
    message: String,
    retry_after_ms: Option<u32>,
}

fn default_message() -> String {
    "the script says so".to_owned()
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum KindText {
    InvalidArgument,
    NotFound,
    Denied,
    Conflict,
    LimitExceeded,
    Unavailable,
    TimedOut,
    Cancelled,
    Unsupported,
    Internal,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FinishText {
    Complete,
    ToolCalls,
    Length,
    Filtered,
    Paused,
    Other,
}

impl Script {
    /// Reads and checks a script.
    pub(crate) fn parse(text: &str, defaults: Defaults) -> Result<Self, Error> {
        let reader = toml::Deserializer::parse(text).map_err(|error| bad(error.to_string().trim_end()))?;
        let script: ScriptText = serde_path_to_error::deserialize(reader)
            .map_err(|error| bad(&format!("{}: {}", place_of(error.path()), error.inner().message())))?;
        let pace = merge(defaults, script.chunk, script.delay_ms);
        let rules = (1..).zip(script.rule).map(|(number, rule)| check_rule(number, rule, pace));
        Ok(Self { rules: rules.collect::<Result<_, _>>()? })
    }

    /// What is legal and probably not meant.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let Some(catch_all) = self.rules.iter().position(|rule| rule.when.is_empty()) else { return Vec::new() };
        match self.rules.len() - catch_all - 1 {
            0 => Vec::new(),
            later => {
                vec![format!("rule {} always fits, so the {later} rules after it are never played", catch_all + 1)]
            }
        }
    }
}

fn bad(why: &str) -> Error {
    Error::invalid_argument(format!("script: {why}")).with_code("bad-script")
}

/// `rule[2].output[0].call.name` as people count and write it: rule 3, output 1, `call.name`.
fn place_of(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let (mut places, mut field, mut list) = (Vec::new(), Vec::new(), String::new());
    for segment in path {
        match segment {
            Segment::Seq { index } => {
                field.clear();
                places.push(format!("{list} {}", index + 1));
            }
            Segment::Map { key } => {
                list.clone_from(key);
                field.push(key.clone());
            }
            Segment::Enum { variant } => field.push(variant.clone()),
            Segment::Unknown => {}
        }
    }
    if !field.is_empty() {
        places.push(format!("`{}`", field.join(".")));
    }
    if places.is_empty() { "at the top".to_owned() } else { places.join(", ") }
}

fn merge(outer: Defaults, chunk: Option<NonZeroU32>, delay_ms: Option<u32>) -> Defaults {
    Defaults { chunk: chunk.or(outer.chunk), delay_ms: delay_ms.unwrap_or(outer.delay_ms) }
}

fn check_rule(number: u32, rule: RuleText, pace: Defaults) -> Result<Rule, Error> {
    let at = |why: String| bad(&format!("rule {number}, {why}"));
    let when = When::check(rule.when).map_err(at)?;
    if rule.output.is_empty() {
        return Err(at("`output`: it is empty".to_owned()));
    }
    let pace = merge(pace, rule.chunk, rule.delay_ms);
    let mut outputs = Vec::with_capacity(rule.output.len());
    for (index, output) in rule.output.into_iter().enumerate() {
        if let Some(Output { what: What::Finish(_) | What::Error(_), .. }) = outputs.last() {
            return Err(at(format!("output {}: nothing can follow `finish` or `error`", index + 1)));
        }
        let output = check_output(output, &when, pace).map_err(|why| at(format!("output {}: {why}", index + 1)))?;
        outputs.push(output);
    }
    Ok(Rule { when, outputs })
}

fn check_output(output: OutputText, when: &When, pace: Defaults) -> Result<Output, String> {
    let template =
        |field: &str, text: String| Template::parse(text, when.names()).map_err(|why| format!("`{field}`: {why}"));
    let pace = merge(pace, output.chunk, output.delay_ms);
    let private = private_of(output.private, output.private_base64)?;
    let what = match (output.text, output.reasoning, output.call, output.usage, output.finish, output.error) {
        (Some(text), None, None, None, None, None) => What::Text(template("text", text)?),
        (None, Some(text), None, None, None, None) => What::Reasoning(template("reasoning", text)?),
        (None, None, Some(call), None, None, None) => What::Call(check_call(call, when, &template)?),
        (None, None, None, Some(usage), None, None) => What::Usage(usage),
        (None, None, None, None, Some(finish), None) => What::Finish(finish.into()),
        (None, None, None, None, None, Some(error)) => What::Error(error),
        // A private part alone belongs to reasoning of which nothing is shown.
        (None, None, None, None, None, None) if private.is_some() => {
            What::Reasoning(template("reasoning", String::new())?)
        }
        _ => return Err("it needs exactly one of `text`, `reasoning`, `call`, `usage`, `finish`, `error`".to_owned()),
    };
    if private.is_some() && !matches!(what, What::Text(_) | What::Reasoning(_) | What::Call(_)) {
        return Err("`private`: only `text`, `reasoning` and `call` can have a private part".to_owned());
    }
    Ok(Output { what, private, pace })
}

fn private_of(text: Option<String>, base64: Option<String>) -> Result<Option<Vec<u8>>, String> {
    match (text, base64) {
        (Some(_), Some(_)) => Err("`private` and `private_base64` are both given".to_owned()),
        (Some(text), None) => Ok(Some(text.into_bytes())),
        (None, Some(text)) => STANDARD.decode(text).map(Some).map_err(|error| format!("`private_base64`: {error}")),
        (None, None) => Ok(None),
    }
}

fn check_call(
    call: CallText,
    when: &When,
    template: &dyn Fn(&str, String) -> Result<Template, String>,
) -> Result<Call, String> {
    let arguments = match call.arguments {
        None => Arguments::Value(serde_json::json!({})),
        Some(serde_json::Value::String(raw)) => Arguments::Raw(template("call.arguments", raw)?),
        Some(value @ serde_json::Value::Object(_)) => {
            Template::check_value(&value, when.names()).map_err(|why| format!("`call.arguments`: {why}"))?;
            Arguments::Value(value)
        }
        Some(_) => return Err("`call.arguments`: it must be a table, or a string that holds JSON".to_owned()),
    };
    let id = call.id.map(|id| template("call.id", id)).transpose()?;
    Ok(Call { id, name: template("call.name", call.name)?, arguments })
}

impl From<FinishText> for FinishReason {
    fn from(finish: FinishText) -> Self {
        match finish {
            FinishText::Complete => Self::Complete,
            FinishText::ToolCalls => Self::ToolCalls,
            FinishText::Length => Self::Length,
            FinishText::Filtered => Self::Filtered,
            FinishText::Paused => Self::Paused,
            FinishText::Other => Self::Other,
        }
    }
}

impl From<KindText> for ErrorKind {
    fn from(kind: KindText) -> Self {
        match kind {
            KindText::InvalidArgument => Self::InvalidArgument,
            KindText::NotFound => Self::NotFound,
            KindText::Denied => Self::Denied,
            KindText::Conflict => Self::Conflict,
            KindText::LimitExceeded => Self::LimitExceeded,
            KindText::Unavailable => Self::Unavailable,
            KindText::TimedOut => Self::TimedOut,
            KindText::Cancelled => Self::Cancelled,
            KindText::Unsupported => Self::Unsupported,
            KindText::Internal => Self::Internal,
        }
    }
}

impl From<ErrorText> for Error {
    fn from(error: ErrorText) -> Self {
        Self {
            retry_after_ms: error.retry_after_ms,
            ..Self::new(error.kind.into(), error.message).with_code(error.code)
        }
    }
}
