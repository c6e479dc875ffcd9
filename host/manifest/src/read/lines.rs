//! From byte offsets to lines and columns.

use crate::error::Position;

/// Where the lines of a text start.
pub(crate) struct LineIndex {
    text: String,
    starts: Vec<usize>,
}

impl LineIndex {
    pub(crate) fn new(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(index, _)| index + 1);
        Self { text: text.to_owned(), starts: std::iter::once(0).chain(breaks).collect() }
    }

    /// The place of a byte; an offset past the end is the end.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        let before = self.text.as_bytes().get(start..offset).unwrap_or_default();
        let column = before.iter().filter(|byte| !is_continuation(**byte)).count() + 1;
        Position::new(saturate(line), saturate(column))
    }
}

/// Whether a byte of UTF-8 goes on a character rather than starting one.
fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

fn saturate(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let index = LineIndex::new("a\né = 1\n");
        assert_eq!(index.position(0), Position::new(1, 1));
        assert_eq!(index.position(2), Position::new(2, 1));
        assert_eq!(index.position(5), Position::new(2, 3));
        assert_eq!(index.position(1000), Position::new(3, 1));
        assert_eq!(LineIndex::new("").position(7), Position::new(1, 1));
    }
}
