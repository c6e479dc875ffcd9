//! A set of item ids as ranges. Records name items in rising order, nearly always one after the other, so a session of any
//! length has few of them.

use mainstay_protocol::record::v1::Span;

/// Ids, in ranges that rise and don't touch.
#[derive(Debug, Default)]
pub(super) struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    pub(super) fn add(&mut self, span: Span) {
        let Some(more) = span.count.checked_sub(1) else { return };
        let (mut first, mut last) = (span.first.0, span.first.0.saturating_add(u64::from(more)));
        // Ranges from here on touch the new one, or come after it.
        let from = self.0.partition_point(|(_, end)| end.saturating_add(1) < first);
        let to = from + self.0[from..].partition_point(|(start, _)| *start <= last.saturating_add(1));
        if let Some(touched) = self.0.get(from..to).filter(|touched| !touched.is_empty()) {
            first = first.min(touched[0].0);
            last = last.max(touched[touched.len() - 1].1);
        }
        self.0.splice(from..to, [(first, last)]);
    }

    pub(super) fn contains(&self, id: u64) -> bool {
        let at = self.0.partition_point(|(_, end)| *end < id);
        self.0.get(at).is_some_and(|(start, _)| *start <= id)
    }

    /// The parts of the ranges that lie after `after` and before `before`.
    pub(super) fn between(&self, after: u64, before: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let at = self.0.partition_point(|(_, end)| *end <= after);
        let parts = self.0[at..].iter().take_while(move |(start, _)| *start < before);
        let cut = parts.map(move |(start, end)| ((*start).max(after + 1), (*end).min(before - 1)));
        cut.filter(|(start, end)| start <= end)
    }
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::ItemId;

    use super::*;

    fn ranges(spans: &[(u64, u32)]) -> Ranges {
        let mut ranges = Ranges::default();
        spans.iter().for_each(|(first, count)| ranges.add(Span { first: ItemId(*first), count: *count }));
        ranges
    }

    #[test]
    fn spans_grow_together() {
        assert_eq!(ranges(&[(1, 2), (3, 1), (7, 2), (4, 1)]).0, [(1, 4), (7, 8)]);
        assert_eq!(ranges(&[(7, 2), (1, 2), (3, 4)]).0, [(1, 8)]);
        assert_eq!(ranges(&[(5, 0), (2, 1), (2, 1)]).0, [(2, 2)]);
        assert_eq!(ranges(&[(u64::MAX, 3), (u64::MAX, 1)]).0, [(u64::MAX, u64::MAX)]);
    }

    #[test]
    fn gaps_are_found() {
        let ranges = ranges(&[(2, 3), (9, 2)]);
        assert!(!ranges.contains(1) && ranges.contains(2) && ranges.contains(4) && !ranges.contains(5));
        assert_eq!(ranges.between(0, u64::MAX).collect::<Vec<_>>(), [(2, 4), (9, 10)]);
        assert_eq!(ranges.between(2, 10).collect::<Vec<_>>(), [(3, 4), (9, 9)]);
        assert_eq!(ranges.between(4, 9).count(), 0);
        assert_eq!(ranges.between(2, 3).count(), 0);
    }
}
