//! The policy: configuration to checked patterns, and a call to its verdict.

use mainstay_sdk::prelude::*;
use serde_json::Value;

use crate::pattern::Pattern;

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    default: Word,
    allow: Vec<String>,
    ask: Vec<String>,
    deny: Vec<String>,
    rules: Vec<RuleSettings>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { default: Word::Allow, allow: Vec::new(), ask: Vec::new(), deny: Vec::new(), rules: Vec::new() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleSettings {
    tool: String,
    argument: Option<String>,
    matches: Option<String>,
    verdict: Word,
    reason: Option<String>,
}

/// A verdict as the configuration writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Allow,
    Ask,
    Deny,
}

/// A checked policy.
#[derive(Debug)]
pub(crate) struct Policy {
    default: Word,
    allow: Vec<Pattern>,
    ask: Vec<Pattern>,
    deny: Vec<Pattern>,
    rules: Vec<Rule>,
}

#[derive(Debug)]
struct Rule {
    tool: Pattern,
    argument: Option<(String, Pattern)>,
    verdict: Word,
    reason: Option<String>,
}

impl Policy {
    /// The policy of the configuration. The error names the key.
    pub(crate) fn load() -> Result<Self, Error> {
        let settings: Settings = config()?;
        let rules = settings.rules.into_iter().enumerate().map(|(index, rule)| Rule::check(index, rule));
        Ok(Self {
            default: settings.default,
            allow: compile("allow", &settings.allow)?,
            ask: compile("ask", &settings.ask)?,
            deny: compile("deny", &settings.deny)?,
            rules: rules.collect::<Result<_, _>>()?,
        })
    }

    /// Rules in their order, then deny, ask and allow, then the default.
    pub(crate) fn judge(&self, call: &ToolCall) -> Verdict {
        let Some(arguments) = parse(&call.arguments) else {
            return Verdict::deny_because(
                "approvals-bad-arguments",
                "the arguments are not JSON, so no rule can be applied",
            );
        };
        if let Some((index, rule)) = self.rules.iter().enumerate().find(|(_, rule)| rule.fits(call, &arguments)) {
            return rule.decide(index, call);
        }
        let listed = |list: &[Pattern]| list.iter().any(|pattern| pattern.matches(&call.name));
        let (word, list) = if listed(&self.deny) {
            (Word::Deny, "the list `deny` covers")
        } else if listed(&self.ask) {
            (Word::Ask, "the list `ask` covers")
        } else if listed(&self.allow) {
            (Word::Allow, "the list `allow` covers")
        } else {
            (self.default, "the default covers")
        };
        verdict(word, || format!("{list} `{}`", call.name))
    }

    /// What is legal and probably not meant.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let lists = [&self.allow, &self.ask, &self.deny];
        if self.default == Word::Allow && self.rules.is_empty() && lists.iter().all(|list| list.is_empty()) {
            return vec!["the configuration is empty, so nothing is ever asked about or denied here".to_owned()];
        }
        Vec::new()
    }
}

/// Some models write nothing at all for a call without arguments.
fn parse(arguments: &str) -> Option<Value> {
    let text = if arguments.trim().is_empty() { "{}" } else { arguments };
    serde_json::from_str(text).ok()
}

fn bad(key: &str, why: &str) -> Error {
    Error::invalid_argument(format!("configuration: `{key}`: {why}")).with_code("bad-config")
}

fn compile(key: &str, globs: &[String]) -> Result<Vec<Pattern>, Error> {
    let compiled = globs
        .iter()
        .enumerate()
        .map(|(index, glob)| Pattern::glob(glob).map_err(|why| bad(&format!("{key}[{index}]"), &why)));
    compiled.collect()
}

fn verdict(word: Word, reason: impl FnOnce() -> String) -> Verdict {
    match word {
        Word::Allow => Verdict::Allow,
        Word::Ask => Verdict::ask_because("approvals-ask", reason()),
        Word::Deny => Verdict::deny_because("approvals-deny", reason()),
    }
}

impl Rule {
    fn check(index: usize, settings: RuleSettings) -> Result<Self, Error> {
        let at = |key: &str, why: &str| bad(&format!("rules[{index}].{key}"), why);
        let argument = match (settings.argument, settings.matches) {
            (Some(pointer), Some(pattern)) if pointer.is_empty() || pointer.starts_with('/') => {
                Some((pointer, Pattern::parse(&pattern).map_err(|why| at("matches", &why))?))
            }
            (Some(_), Some(_)) => return Err(at("argument", "a JSON pointer begins with `/`")),
            (None, None) => None,
            (Some(_), None) => {
                return Err(at("matches", "it is missing: `argument` says where to look, and this for what"));
            }
            (None, Some(_)) => {
                return Err(at("argument", "it is missing: `matches` says what to look for, and this where"));
            }
        };
        let tool = Pattern::glob(&settings.tool).map_err(|why| at("tool", &why))?;
        Ok(Self { tool, argument, verdict: settings.verdict, reason: settings.reason })
    }

    fn fits(&self, call: &ToolCall, arguments: &Value) -> bool {
        if !self.tool.matches(&call.name) {
            return false;
        }
        let Some((pointer, pattern)) = &self.argument else { return true };
        let values = arguments.pointer(pointer).map(texts).unwrap_or_default();
        let hit = |text: &String| {
            let spellings = spellings(text);
            match self.verdict {
                // An objection holds for every way to write it, a permission only if all of them are meant.
                Word::Allow => spellings.iter().all(|text| pattern.matches(text)),
                Word::Ask | Word::Deny => spellings.iter().any(|text| pattern.matches(text)),
            }
        };
        match self.verdict {
            Word::Allow => !values.is_empty() && values.iter().all(hit),
            Word::Ask | Word::Deny => values.iter().any(hit),
        }
    }

    fn decide(&self, index: usize, call: &ToolCall) -> Verdict {
        verdict(self.verdict, || {
            self.reason.clone().unwrap_or_else(|| format!("rule {} covers this call of `{}`", index + 1, call.name))
        })
    }
}

/// The texts of a value: its own, or those of its elements.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(values) => values.iter().flat_map(texts).collect(),
        other => vec![other.to_string()],
    }
}

/// A text as written, and, if it reads as a path, without `.`, `..` and doubled slashes.
fn spellings(text: &str) -> Vec<String> {
    let mut parts: Vec<&str> = Vec::new();
    for segment in text.split('/') {
        match segment {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            other => parts.push(other),
        }
    }
    let start = if text.starts_with('/') { "/" } else { "" };
    let plain = format!("{start}{}", parts.join("/"));
    if plain == text { vec![plain] } else { vec![text.to_owned(), plain] }
}
