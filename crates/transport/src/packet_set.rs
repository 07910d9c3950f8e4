//! Sets of packets of one flow, such as those that have arrived, in any order.

use alloc::collections::VecDeque;

/// A set of packets: all before the first that is missing, and a bit for each from there to the last. Without gaps it
/// takes no memory beyond itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacketSet {
    /// The first packet that is missing.
    next: u32,
    count: u32,
    /// Bits of packets, from packet `next / 64 * 64` on; empty if no packet beyond `next` is in the set.
    words: VecDeque<u64>,
}

impl PacketSet {
    /// The empty set.
    pub(crate) const EMPTY: PacketSet = PacketSet { next: 0, count: 0, words: VecDeque::new() };

    /// Removes all packets and keeps the memory.
    pub(crate) fn clear(&mut self) {
        (self.next, self.count) = (0, 0);
        self.words.clear();
    }

    /// Returns the first packet that is missing.
    #[inline(always)]
    pub(crate) fn first_missing(&self) -> u32 {
        self.next
    }

    /// Counts the packets.
    #[inline(always)]
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Adds packet `seq` and returns whether it was missing.
    #[inline]
    pub(crate) fn insert(&mut self, seq: u32) -> bool {
        if self.contains(seq) {
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
        self.set(seq, true);
        if seq == self.next {
            self.advance();
        }
        true
    }

    /// Adds all packets before `end`.
    #[inline]
    pub(crate) fn insert_before(&mut self, end: u32) {
        if self.words.is_empty() {
            self.count += end.saturating_sub(self.next);
            self.next = self.next.max(end);
        }
        while self.next < end {
            self.insert(self.next);
        }
    }

    /// Removes packet `seq`.
    pub(crate) fn remove(&mut self, seq: u32) {
        if !self.contains(seq) {
            return;
        }
        self.count -= 1;
        let end = self.next;
        if seq < end {
            // Packets between `seq` and the first missing so far get a bit each.
            if !self.words.is_empty() {
                (seq / 64..end / 64).for_each(|_| self.words.push_front(0));
            }
            let words = (end.div_ceil(64) - seq / 64) as usize;
            if end > seq + 1 && self.words.len() < words {
                self.words.resize(words, 0);
            }
            self.next = seq;
            (seq + 1..end).for_each(|kept| self.set(kept, true));
        }
        if !self.words.is_empty() {
            self.set(seq, false);
        }
    }

    /// Whether packet `seq` is in the set.
    #[inline(always)]
    pub(crate) fn contains(&self, seq: u32) -> bool {
        seq < self.next || self.contains_beyond(seq)
    }

    /// Finds the first run of missing packets within `from..end`: its first packet, and the one after its last.
    pub(crate) fn hole(&self, from: u32, end: u32) -> Option<(u32, u32)> {
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

    /// Index in `words` of the bit of `seq`, which is not before the first missing packet.
    #[inline(always)]
    fn word_of(&self, seq: u32) -> usize {
        (seq / 64 - self.next / 64) as usize
    }

    /// Sets the bit of `seq`, whose word exists.
    #[inline(always)]
    fn set(&mut self, seq: u32, is_in: bool) {
        let (word, bit) = (self.word_of(seq), 1 << (seq % 64));
        self.words[word] = if is_in { self.words[word] | bit } else { self.words[word] & !bit };
    }

    #[inline(always)]
    fn contains_beyond(&self, seq: u32) -> bool {
        self.words.get(self.word_of(seq)).is_some_and(|bits| bits >> (seq % 64) & 1 == 1)
    }

    /// Moves `next` on, after the bit of the first missing packet was set.
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

    /// Compares with a set of numbers. Packets are added in any order, some of them twice, and some are removed again.
    #[test]
    fn it_is_a_set() {
        let mut rng = Stream::new(1, 2, 3);
        let mut packets = PacketSet::default();
        for (count, leave) in [1, 63, 64, 65, 500].into_iter().flat_map(|count| [(count, false), (count, true)]) {
            packets.clear();
            let mut set = BTreeSet::new();
            let mut from = 0;
            while set.len() < count as usize {
                // Nearly in order, with strays.
                let drawn = range32(rng.next_u32(), count);
                match rng.next_u32() % 8 {
                    0 if leave => {
                        packets.remove(drawn);
                        set.remove(&drawn);
                    }
                    1 => {
                        packets.insert_before(from);
                        set.extend(0..from);
                    }
                    draw => {
                        let seq = if draw < 4 { drawn } else { from };
                        from = if from + 1 >= count { 0 } else { from + 1 };
                        assert_eq!(packets.insert(seq), set.insert(seq), "{seq} of {count}");
                    }
                }
                assert!((0..count).all(|seq| packets.contains(seq) == set.contains(&seq)), "{count}");
                let missing: Vec<u32> = (0..count).filter(|seq| !set.contains(seq)).collect();
                let first = missing.first().copied().unwrap_or(count);
                assert_eq!((packets.first_missing(), packets.count()), (first, set.len() as u32), "{count}");
                let mut holes = Vec::new();
                let mut at = 0;
                while let Some((first, end)) = packets.hole(at, count) {
                    holes.extend(first..end);
                    at = end;
                    assert!(end == count || set.contains(&end), "a hole ends where there is a packet");
                }
                assert_eq!(holes, missing, "{count}");
            }
        }
    }

    #[test]
    fn without_gaps_it_has_no_bits() {
        let mut packets = PacketSet::default();
        (0..1000).for_each(|seq| assert!(packets.insert(seq)));
        packets.insert_before(2000);
        packets.remove(1999);
        assert_eq!((packets.first_missing(), packets.count(), packets.words.capacity()), (1999, 1999, 0));
    }
}
