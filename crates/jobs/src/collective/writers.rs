//! Which operations have written which bytes of a rank's data.

use std::collections::BTreeMap;
use std::ops::Range;

/// The last operations that wrote each byte, by ranges.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writers {
    /// By the start of a range: its end, and what wrote it.
    ranges: BTreeMap<u64, (u64, Vec<u32>)>,
}

impl Writers {
    /// Notes that `op` has written some bytes, beside what wrote them before (`add`), or over it.
    pub(crate) fn write(&mut self, bytes: Range<u64>, op: u32, add: bool) {
        // Bytes that are empty stand for one byte, so that a message without data keeps its place in the order.
        let bytes = bytes.start..bytes.end.max(bytes.start + 1);
        self.split(bytes.start);
        self.split(bytes.end);
        let mut at = bytes.start;
        let mut gaps = Vec::new();
        for (start, (end, ops)) in self.ranges.range_mut(bytes.clone()) {
            if *start > at {
                gaps.push(at..*start);
            }
            if !add {
                ops.clear();
            }
            ops.push(op);
            at = *end;
        }
        gaps.push(at..bytes.end);
        for gap in gaps.into_iter().filter(|gap| !gap.is_empty()) {
            self.ranges.insert(gap.start, (gap.end, vec![op]));
        }
    }

    /// Adds to `ops` what wrote any of these bytes, each operation once.
    pub(crate) fn of(&self, bytes: &Range<u64>, ops: &mut Vec<u32>) {
        let end = bytes.end.max(bytes.start + 1);
        let before = self.ranges.range(..bytes.start).next_back().filter(|(_, (end, _))| *end > bytes.start);
        for (_, (_, wrote)) in before.into_iter().chain(self.ranges.range(bytes.start..end)) {
            ops.extend(wrote);
        }
        ops.sort_unstable();
        ops.dedup();
    }

    /// Divides the range that contains `at` there.
    fn split(&mut self, at: u64) {
        if let Some((_, (end, ops))) = self.ranges.range_mut(..at).next_back()
            && *end > at
        {
            let rest = (std::mem::replace(end, at), ops.clone());
            self.ranges.insert(at, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_writers_of_bytes_are_known() {
        let mut writers = Writers::default();
        writers.write(0..100, 1, false);
        writers.write(50..150, 2, true);
        writers.write(60..70, 3, false);
        writers.write(200..200, 4, false);
        let of = |bytes: Range<u64>| {
            let mut ops = Vec::new();
            writers.of(&bytes, &mut ops);
            ops
        };
        assert_eq!((of(0..50), of(0..51), of(60..70), of(69..71)), (vec![1], vec![1, 2], vec![3], vec![1, 2, 3]));
        assert_eq!((of(100..150), of(150..200), of(200..200), of(300..400)), (vec![2], vec![], vec![4], vec![]));
    }
}
