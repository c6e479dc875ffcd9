//! Rules and when they fit.

use std::collections::BTreeMap;

use regex_lite::{Captures, Regex};

use crate::script::{Output, WhenText};
use crate::situation::{Last, Situation};

/// A rule: conditions and what is said when they hold.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) when: When,
    pub(crate) outputs: Vec<Output>,
}

/// Checked conditions.
#[derive(Debug)]
pub(crate) struct When {
    message: Option<Regex>,
    tool: Option<String>,
    result: Option<Regex>,
    is_error: Option<bool>,
    step: Option<u32>,
    private_seen: Option<String>,
    names: Vec<String>,
}

/// What placeholders stand for.
pub(crate) type Values = BTreeMap<String, String>;

impl When {
    pub(crate) fn check(text: WhenText) -> Result<Self, String> {
        let compile = |field: &str, pattern: Option<String>| {
            let compiled = pattern.map(|pattern| Regex::new(&pattern)).transpose();
            compiled.map_err(|error| format!("`when.{field}`: not a regular expression: {error}"))
        };
        let message = compile("message", text.message)?;
        let result = compile("result", text.result)?;
        let mut names: Vec<String> = ["message", "result", "step"].map(str::to_owned).to_vec();
        for regex in message.iter().chain(&result) {
            names.extend((0..regex.captures_len()).map(|number| number.to_string()));
            names.extend(regex.capture_names().flatten().map(str::to_owned));
        }
        let WhenText { tool, is_error, step, private_seen, .. } = text;
        Ok(Self { message, tool, result, is_error, step, private_seen, names })
    }

    /// The placeholders that texts of this rule may use.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether it always fits.
    pub(crate) fn is_empty(&self) -> bool {
        !self.about_result() && self.message.is_none() && self.step.is_none() && self.private_seen.is_none()
    }

    fn about_result(&self) -> bool {
        self.tool.is_some() || self.result.is_some() || self.is_error.is_some()
    }

    /// The values of the placeholders, if all conditions hold.
    pub(crate) fn fits(&self, situation: &Situation<'_>) -> Option<Values> {
        if self.step.is_some_and(|step| step != situation.step) {
            return None;
        }
        if self.private_seen.as_ref().is_some_and(|seen| !situation.private_parts.contains(&seen.as_bytes())) {
            return None;
        }
        let mut values = Values::from([
            ("message".to_owned(), situation.message.clone()),
            ("result".to_owned(), situation.result_text().to_owned()),
            ("step".to_owned(), situation.step.to_string()),
        ]);
        if let Some(regex) = &self.message {
            if !self.about_result() && !matches!(situation.last, Last::Message) {
                return None;
            }
            take(&regex.captures(&situation.message)?, regex, &mut values);
        }
        if self.about_result() {
            self.fits_result(situation, &mut values)?;
        }
        Some(values)
    }

    fn fits_result(&self, situation: &Situation<'_>, values: &mut Values) -> Option<()> {
        let Last::Result { tool, text, is_error } = &situation.last else { return None };
        if self.tool.as_ref().is_some_and(|name| name != tool)
            || self.is_error.is_some_and(|wanted| wanted != *is_error)
        {
            return None;
        }
        if let Some(regex) = &self.result {
            take(&regex.captures(text)?, regex, values);
        }
        Some(())
    }
}

/// Numbers and names of the groups; a group that took no part stands for nothing.
fn take(captures: &Captures<'_>, regex: &Regex, values: &mut Values) {
    for (number, name) in regex.capture_names().enumerate() {
        let value = captures.get(number).map_or("", |group| group.as_str());
        values.insert(number.to_string(), value.to_owned());
        if let Some(name) = name {
            values.insert(name.to_owned(), value.to_owned());
        }
    }
}
