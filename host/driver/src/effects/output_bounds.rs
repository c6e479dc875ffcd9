//! Bounds on what a tool returns: text that is too long is cut in the middle, where it hurts least.

use mainstay_protocol::{content::Part, failure::CallFailure};

/// Bytes of text that a model gets of one tool's output.
pub(crate) const MAX_TOOL_OUTPUT: usize = 40_000;
/// Bytes of an error message that a record keeps.
const MAX_MESSAGE: usize = 2_000;

/// Cuts the text parts so that all of them together stay within [`MAX_TOOL_OUTPUT`].
pub(crate) fn cut(parts: Vec<Part>) -> Vec<Part> {
    let mut left = MAX_TOOL_OUTPUT;
    parts
        .into_iter()
        .map(|part| match part {
            Part::Text(text) => {
                let text = cut_text(text, left);
                left = left.saturating_sub(text.len());
                Part::Text(text)
            }
            // Half a JSON text is none: what does not fit becomes text that says so.
            Part::Json(json) if json.len() > left => {
                let text = cut_text(json, left);
                left = left.saturating_sub(text.len());
                Part::Text(text)
            }
            Part::Json(json) => {
                left -= json.len();
                Part::Json(json)
            }
            part @ (Part::Media(_) | Part::Extension(_)) => part,
        })
        .collect()
}

/// Keeps the beginning and the end, and says how much is missing between them.
fn cut_text(text: String, allowed: usize) -> String {
    if text.len() <= allowed {
        return text;
    }
    let half = allowed / 2;
    let head = &text[..text.floor_char_boundary(half)];
    let tail = &text[text.ceil_char_boundary(text.len() - half)..];
    let missing = text.len() - head.len() - tail.len();
    format!("{head}\n[... {missing} bytes left out ...]\n{tail}")
}

/// Bounds the message of a failure that goes into a record.
pub(crate) fn shorten(failure: CallFailure) -> CallFailure {
    match failure {
        CallFailure::Guest(mut error) => {
            error.message.truncate(error.message.floor_char_boundary(MAX_MESSAGE));
            error.extras = None;
            CallFailure::Guest(error)
        }
        failure => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_in_the_middle_at_character_boundaries() {
        let text = format!("{}{}", "ä".repeat(30_000), "ö".repeat(30_000));
        let parts = cut(vec![Part::Text(text), Part::Text("rest".repeat(10))]);
        let Part::Text(first) = &parts[0] else { panic!("a text stays a text") };
        assert!(
            first.starts_with('ä') && first.ends_with('ö') && first.contains("80000 bytes left out"),
            "{}",
            first.len()
        );
        assert!(first.len() < MAX_TOOL_OUTPUT + 100);
        assert_eq!(cut(vec![Part::Text("short".into())]), [Part::Text("short".into())]);
    }
}
