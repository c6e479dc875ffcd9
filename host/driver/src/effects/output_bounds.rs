//! Bounds on what plugins return: of a tool's output, text that is too long is cut in the middle, where it hurts least, and
//! what does not fit at all is named in a note. Reasons and error messages are cut at their end.

use mainstay_protocol::{
    content::Part,
    failure::{CallFailure, PluginError},
};

/// Bytes of text that a model gets of one tool's output.
pub(super) const MAX_TOOL_OUTPUT: usize = 40_000;
/// Bytes of media and extensions that one tool's output may have together.
pub(super) const MAX_DATA: usize = 4 << 20;
/// Parts that one tool's output may have, the note about the rest not counted.
pub(super) const MAX_PARTS: usize = 64;
/// Bytes of `extras` that a record keeps; longer ones are dropped.
const MAX_EXTRAS: usize = 64 << 10;
/// Bytes of a message that a record keeps.
pub(super) const MAX_MESSAGE: usize = 2_000;
/// Bytes of a reason's code that a record keeps.
pub(super) const MAX_CODE: usize = 64;

/// Whether nothing has to be cut.
pub(super) fn fits(parts: &[Part]) -> bool {
    let (mut text, mut data) = (0, 0);
    for part in parts {
        match part {
            Part::Text(_) | Part::Json(_) => text += part.bytes(),
            Part::Media(_) | Part::Extension(_) => data += size(part),
        }
    }
    parts.len() <= MAX_PARTS && text <= MAX_TOOL_OUTPUT && data <= MAX_DATA
}

/// Cuts the parts of a tool's output so that all of them together stay within the bounds.
pub(super) fn cut(parts: Vec<Part>) -> Vec<Part> {
    let mut room = Room { text: MAX_TOOL_OUTPUT, data: MAX_DATA };
    let all = parts.len();
    let mut kept: Vec<_> = parts.into_iter().take(MAX_PARTS).filter_map(|part| room.keep(part)).collect();
    let missing = all - kept.len();
    if missing > 0 {
        kept.push(Part::Text(format!("[... {missing} more parts left out ...]")));
    }
    kept
}

/// Drops `extras` that are too long to keep. Half a JSON object is none.
pub(super) fn extras(extras: Option<String>) -> Option<String> {
    extras.filter(|extras| extras.len() <= MAX_EXTRAS)
}

/// Bytes that are left.
struct Room {
    text: usize,
    data: usize,
}

impl Room {
    /// The part as far as there is room for it.
    fn keep(&mut self, part: Part) -> Option<Part> {
        match part {
            Part::Text(text) => self.text(text),
            // Half a JSON text is none: what does not fit becomes text that says so.
            Part::Json(json) if json.len() > self.text => self.text(json),
            Part::Json(json) => {
                self.text -= json.len();
                Some(Part::Json(json))
            }
            part @ (Part::Media(_) | Part::Extension(_)) => self.data(part),
        }
    }

    fn text(&mut self, text: String) -> Option<Part> {
        if self.text == 0 && !text.is_empty() {
            return None;
        }
        let text = cut_text(text, self.text);
        self.text = self.text.saturating_sub(text.len());
        Some(Part::Text(text))
    }

    fn data(&mut self, part: Part) -> Option<Part> {
        let size = size(&part);
        if let Some(left) = self.data.checked_sub(size) {
            self.data = left;
            return Some(part);
        }
        let kind = match &part {
            Part::Media(media) => &media.media_type,
            Part::Extension(extension) => &extension.kind,
            Part::Text(_) | Part::Json(_) => "text",
        };
        self.text(format!("[... `{kind}` of {size} bytes left out ...]"))
    }
}

/// All bytes of a part, those beside its payload too.
pub(super) fn size(part: &Part) -> usize {
    let beside = match part {
        Part::Media(media) => {
            let optional = |text: &Option<String>| text.as_ref().map_or(0, String::len);
            media.media_type.len() + optional(&media.name) + optional(&media.extras)
        }
        Part::Text(_) | Part::Json(_) | Part::Extension(_) => 0,
    };
    part.bytes() + beside
}

/// Keeps the beginning and the end, and says how much is missing between them. A text that this would make longer stays.
fn cut_text(text: String, allowed: usize) -> String {
    if text.len() <= allowed {
        return text;
    }
    let half = allowed / 2;
    let head = &text[..text.floor_char_boundary(half)];
    let tail = &text[text.ceil_char_boundary(text.len() - half)..];
    let missing = text.len() - head.len() - tail.len();
    let cut = format!("{head}\n[... {missing} bytes left out ...]\n{tail}");
    if cut.len() < text.len() { cut } else { text }
}

/// Keeps the beginning of a text.
pub(super) fn clip(mut text: String, most: usize) -> String {
    text.truncate(text.floor_char_boundary(most));
    text
}

/// Bounds an error of a guest that goes into a record.
pub(super) fn error(error: PluginError) -> PluginError {
    PluginError { message: clip(error.message, MAX_MESSAGE), extras: extras(error.extras), ..error }
}

/// Bounds the message of a failure that goes into a record.
pub(crate) fn shorten(failure: CallFailure) -> CallFailure {
    match failure {
        CallFailure::Guest(guest) => CallFailure::Guest(PluginError { extras: None, ..error(guest) }),
        failure => failure,
    }
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::content::{Extension, Media, Source};

    use super::*;

    fn text(text: &str) -> Part {
        Part::Text(text.to_owned())
    }

    fn image(bytes: usize) -> Part {
        let source = Source::Inline(vec![0; bytes]);
        Part::Media(Media { media_type: "image/png".to_owned(), source, name: None, extras: None })
    }

    #[test]
    fn long_text_is_cut_in_the_middle_at_character_boundaries() {
        let long = format!("{}{}", "ä".repeat(30_000), "ö".repeat(30_000));
        let parts = cut(vec![Part::Text(long), text(&"rest".repeat(10))]);
        let Part::Text(first) = &parts[0] else { panic!("a text stays a text") };
        assert!(
            first.starts_with('ä') && first.ends_with('ö') && first.contains("80000 bytes left out"),
            "{}",
            first.len()
        );
        assert!(first.len() < MAX_TOOL_OUTPUT + 100);
        assert_eq!(parts[1..], [text("[... 1 more parts left out ...]")]);
        assert_eq!(cut(vec![text("short")]), [text("short")]);
    }

    #[test]
    fn a_cut_never_makes_a_text_longer() {
        for (length, allowed) in [(1, 0), (10, 9), (50, 5), (100, 99), (100, 20), (40_001, 40_000)] {
            let cut = cut_text("x".repeat(length), allowed);
            assert!(cut.len() <= length && cut.len() <= allowed + 60, "{length} {allowed} {}", cut.len());
        }
    }

    #[test]
    fn many_parts_become_one_note() {
        let parts = cut(vec![text("x"); 100_000]);
        assert_eq!(parts.len(), MAX_PARTS + 1);
        assert_eq!(parts.last(), Some(&text("[... 99936 more parts left out ...]")));
        let full = cut([vec![text(&"x".repeat(MAX_TOOL_OUTPUT))], vec![text("y"); 20]].concat());
        assert_eq!(full[1..], [text("[... 20 more parts left out ...]")], "small texts don't grow");
    }

    #[test]
    fn data_has_a_bound_of_its_own() {
        let data = "x".repeat(MAX_DATA);
        let extension = Part::Extension(Extension { kind: "example.com/x".to_owned(), data });
        let parts = cut(vec![image(MAX_DATA - 100), image(100), extension, image(50)]);
        assert_eq!(parts[0], image(MAX_DATA - 100));
        assert_eq!(parts[1], text("[... `image/png` of 109 bytes left out ...]"));
        assert_eq!(parts[2], text("[... `example.com/x` of 4194317 bytes left out ...]"));
        assert_eq!(parts[3], image(50), "what fits is kept");
    }

    #[test]
    fn what_stands_beside_the_payload_counts() {
        let (name, source) = (Some("x".repeat(MAX_DATA)), Source::Uri("https://example.com".to_owned()));
        let media = Media { media_type: "image/png".to_owned(), source, name, extras: None };
        assert!(matches!(cut(vec![Part::Media(media)]).as_slice(), [Part::Text(_)]));
    }

    #[test]
    fn long_extras_are_dropped() {
        assert_eq!(extras(Some("{}".to_owned())), Some("{}".to_owned()));
        assert_eq!(extras(Some(" ".repeat(MAX_EXTRAS + 1))), None);
    }
}
