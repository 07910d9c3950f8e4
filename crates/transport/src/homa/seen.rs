//! Which packets of a message have arrived, in any order.

use alloc::collections::VecDeque;

/// The packets that have arrived: all before the first that is missing, and a bit for each beyond.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The first packet that is missing.
    next: u32,
    count: u32,
    /// Bits from `next / 64` on, as far as anything beyond `next` has arrived.
    words: VecDeque<u64>,
}

impl Seen {
    /// Nothing has arrived.
    pub(super) const NONE: Seen = Seen { next: 0, count: 0, words: VecDeque::new() };

    /// Nothing has arrived; the memory stays.
    pub(super) fn clear(&mut self) {
        (self.next, self.count) = (0, 0);
        self.words.clear();
    }

    /// The first packet that is missing.
    #[inline(always)]
    pub(super) fn first_missing(&self) -> u32 {
        self.next
    }

    /// How many have arrived.
    #[inline(always)]
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Packet `seq` arrives. Whether it is the first time.
    #[inline]
    pub(super) fn insert(&mut self, seq: u32) -> bool {
        if seq < self.next || self.contains_beyond(seq) {
            return false;
        }
        self.count += 1;
        if seq == self.next && self.words.is_empty() {
            self.next += 1;
            return true;
        }
        let word = self.word_of(seq);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (seq % 64);
        if seq == self.next {
            self.advance();
        }
        true
    }

    /// The next run of missing packets, from `from` on and before `end`: its first packet, and the one after its last.
    pub(super) fn hole(&self, from: u32, end: u32) -> Option<(u32, u32)> {
        let mut first = from.max(self.next);
        while first < end && self.contains_beyond(first) {
            first += 1;
        }
        if first >= end {
            return None;
        }
        let beyond = (self.next / 64 + self.words.len() as u32).saturating_mul(64).min(end);
        let mut last = first + 1;
        while last < beyond && !self.contains_beyond(last) {
            last += 1;
        }
        Some((first, if last >= beyond { end } else { last }))
    }

    /// The word of `seq`, which is not before the first missing.
    #[inline(always)]
    fn word_of(&self, seq: u32) -> usize {
        (seq / 64 - self.next / 64) as usize
    }

    #[inline(always)]
    fn contains_beyond(&self, seq: u32) -> bool {
        self.words.get(self.word_of(seq)).is_some_and(|bits| bits >> (seq % 64) & 1 == 1)
    }

    /// The first missing packet has arrived, and its bit is set.
    fn advance(&mut self) {
        while let Some(bits) = self.words.front() {
            let run = (bits >> (self.next % 64)).trailing_ones();
            self.next += run;
            if run == 0 || !self.next.is_multiple_of(64) {
                break;
            }
            self.words.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;
    use backwater_types::hash::{Stream, range32};

    /// The same by a set of numbers, for packets of a message in any order, some of them twice.
    #[test]
    fn it_is_a_set() {
        let mut rng = Stream::new(1, 2, 3);
        let mut seen = Seen::default();
        for packets in [1, 63, 64, 65, 500] {
            seen.clear();
            let mut set = BTreeSet::new();
            let mut from = 0;
            while set.len() < packets as usize {
                // Nearly in order, with strays.
                let seq = match rng.next_u32() % 4 {
                    0 => range32(rng.next_u32(), packets),
                    _ => from,
                };
                from = if from + 1 >= packets { 0 } else { from + 1 };
                assert_eq!(seen.insert(seq), set.insert(seq), "{seq} of {packets}");
                let missing: Vec<u32> = (0..packets).filter(|seq| !set.contains(seq)).collect();
                let first = missing.first().copied().unwrap_or(packets);
                assert_eq!((seen.first_missing(), seen.count()), (first, set.len() as u32), "{packets}");
                let mut holes = Vec::new();
                let mut at = 0;
                while let Some((first, end)) = seen.hole(at, packets) {
                    holes.extend(first..end);
                    at = end;
                    assert!(end == packets || set.contains(&end), "a hole ends where something has arrived");
                }
                assert_eq!(holes, missing, "{packets}");
            }
        }
    }
}
