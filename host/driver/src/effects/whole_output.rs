//! The whole of a tool's output where the model gets less: kept beside the result, for people and plugins, and named in the
//! result's `extras`, which models don't see.

use std::collections::BTreeMap;

use mainstay_protocol::{
    blob::{MAX_BLOB, NewBlob, WholeOutput},
    content::Part,
};
use serde_json::value::{RawValue, to_raw_value};

use super::output_bounds;

/// A tool's output, within the bounds.
pub(super) struct Bounded {
    /// What the model gets.
    pub(super) content: Vec<Part>,
    /// A JSON object that models don't see. Where the model gets less than the tool gave, it says where the whole is.
    pub(super) extras: Option<String>,
    /// The whole, where the model gets less.
    pub(super) whole: Option<NewBlob>,
}

/// Brings a tool's output within the bounds. The reference to the whole is not among the parts: it means nothing to a model.
pub(super) fn bound(parts: Vec<Part>, extras: Option<String>) -> Bounded {
    let given = if output_bounds::fits(&parts) { None } else { Some(parts.clone()) };
    let content = output_bounds::cut(parts);
    let whole = given.filter(|given| *given != content).and_then(keep);
    let extras = with_whole(output_bounds::extras(extras), whole.as_ref());
    Bounded { content, extras, whole }
}

/// All that a tool gave, as people want to have it: one text as it is, and several parts as JSON.
fn keep(mut parts: Vec<Part>) -> Option<NewBlob> {
    let only = if parts.len() == 1 { parts.pop() } else { None };
    let (media_type, bytes) = match only {
        Some(Part::Text(text)) => ("text/plain", text.into_bytes()),
        Some(Part::Json(json)) => ("application/json", json.into_bytes()),
        only => {
            parts.extend(only);
            (WholeOutput::PARTS, serde_json::to_vec(&parts).ok()?)
        }
    };
    if bytes.len() > MAX_BLOB {
        tracing::warn!(bytes = bytes.len(), "a tool's whole output is too large to keep");
        return None;
    }
    Some(NewBlob::new(media_type, bytes))
}

/// The tool's `extras` with the reference to the whole output. That key is the host's: a tool's own is taken out.
fn with_whole(extras: Option<String>, whole: Option<&NewBlob>) -> Option<String> {
    let text = extras.or_else(|| whole.map(|_| "{}".to_owned()))?;
    let mut fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(&text).unwrap_or_default();
    let forged = fields.remove(WholeOutput::KEY).is_some();
    if let Some(whole) = whole {
        let output = WholeOutput {
            blob: whole.reference(),
            media_type: whole.media_type().to_owned(),
            bytes: whole.bytes().len() as u64,
        };
        fields.insert(WholeOutput::KEY.to_owned(), to_raw_value(&output).ok()?);
    } else if !forged {
        return Some(text);
    }
    serde_json::to_string(&fields).ok()
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::content::{Media, Source};

    use super::{
        output_bounds::{MAX_DATA, MAX_PARTS, MAX_TOOL_OUTPUT},
        *,
    };

    fn text(text: &str) -> Part {
        Part::Text(text.to_owned())
    }

    fn image(bytes: usize) -> Part {
        let source = Source::Inline(vec![0; bytes]);
        Part::Media(Media { media_type: "image/png".to_owned(), source, name: None, extras: None })
    }

    /// What the blob has, and what `extras` say of it.
    fn whole_of(parts: Vec<Part>, extras: Option<&str>) -> (Option<(String, Vec<u8>)>, Option<serde_json::Value>) {
        let bounded = bound(parts, extras.map(str::to_owned));
        let told = WholeOutput::of(bounded.extras.as_deref());
        assert_eq!(told.as_ref().map(|told| told.blob), bounded.whole.as_ref().map(NewBlob::reference));
        let whole = bounded.whole.map(|whole| (whole.media_type().to_owned(), whole.bytes().to_vec()));
        (whole, bounded.extras.map(|extras| serde_json::from_str(&extras).expect("JSON")))
    }

    #[test]
    fn what_a_model_does_not_get_is_kept_whole() {
        let long = "x".repeat(MAX_TOOL_OUTPUT + 1_000);
        let (whole, extras) = whole_of(vec![text(&long)], None);
        assert_eq!(whole, Some(("text/plain".to_owned(), long.clone().into_bytes())));
        let extras = extras.expect("they tell of it");
        assert_eq!(extras["whole_output"]["bytes"], long.len());

        let json = format!("[{}1]", "1,".repeat(30_000));
        let (whole, _) = whole_of(vec![Part::Json(json.clone())], None);
        assert_eq!(whole, Some(("application/json".to_owned(), json.into_bytes())));

        let parts = vec![text(&long), image(10)];
        let (whole, _) = whole_of(parts.clone(), None);
        assert_eq!(whole, Some((WholeOutput::PARTS.to_owned(), serde_json::to_vec(&parts).expect("JSON"))));
        let many = vec![text("x"); MAX_PARTS + 1];
        assert!(whole_of(many, None).0.is_some(), "parts that are left out are kept too");
        assert!(whole_of(vec![image(MAX_DATA)], None).0.is_some());
    }

    #[test]
    fn what_a_model_gets_whole_is_not_kept_twice() {
        let barely = "x".repeat(MAX_TOOL_OUTPUT + 1);
        for parts in [vec![text("short")], vec![text(&barely)], vec![text("x"), image(100)], Vec::new()] {
            assert_eq!(whole_of(parts, None), (None, None));
        }
    }

    #[test]
    fn a_tool_keeps_its_extras_and_can_not_forge_ours() {
        let long = || vec![text(&"x".repeat(50_000))];
        let (_, extras) = whole_of(long(), Some(r#"{"com.example.big": 12345678901234567890123, "whole_output": 1}"#));
        let extras = extras.expect("they are kept");
        assert!(extras["whole_output"]["blob"].is_string(), "{extras}");
        let kept = bound(long(), Some(r#"{"n":12345678901234567890123}"#.to_owned())).extras.expect("they are kept");
        assert!(kept.starts_with(r#"{"n":12345678901234567890123,"#), "{kept}");
        let forged = format!(r#"{{"whole_output":{{"blob":"blob:{}","media_type":"a/b","bytes":1}}}}"#, "0".repeat(64));
        assert_eq!(whole_of(vec![text("short")], Some(&forged)), (None, Some(serde_json::json!({}))));
        let as_it_was = r#"{ "a" : 1 }"#.to_owned();
        assert_eq!(bound(vec![text("short")], Some(as_it_was.clone())).extras, Some(as_it_was));
    }
}
