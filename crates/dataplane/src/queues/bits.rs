//! A set of queue numbers: one bit each, in `W` words.

use backwater_types::QueueMap;

/// A set of numbers below `64 * W`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bits<const W: usize>([u64; W]);

impl<const W: usize> Bits<W> {
    /// No number.
    pub const EMPTY: Bits<W> = Bits([0; W]);

    /// The numbers below `n`.
    ///
    /// # Panics
    /// If `n` exceeds `64 * W`.
    pub fn below(n: usize) -> Bits<W> {
        assert!(n <= 64 * W, "{n} queues do not fit {W} words");
        let mut bits = Bits::EMPTY;
        for q in 0..n {
            bits.insert(q);
        }
        bits
    }

    /// Adds `q` to the set.
    #[inline(always)]
    pub fn insert(&mut self, q: usize) {
        self.0[q / 64] |= 1 << (q % 64);
    }

    /// Removes `q` from the set.
    #[inline(always)]
    pub fn remove(&mut self, q: usize) {
        self.0[q / 64] &= !(1 << (q % 64));
    }

    /// Whether `q` is in the set.
    #[inline(always)]
    pub fn contains(&self, q: usize) -> bool {
        self.0[q / 64] >> (q % 64) & 1 == 1
    }

    /// Whether the set is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|w| *w == 0)
    }

    /// Number of members.
    #[inline(always)]
    pub fn count(&self) -> u32 {
        self.0.iter().map(|w| w.count_ones()).sum()
    }

    /// Members that are not in `other`.
    #[inline(always)]
    pub fn minus(self, other: &Bits<W>) -> Bits<W> {
        let mut out = self;
        for (word, taken) in out.0.iter_mut().zip(other.0) {
            *word &= !taken;
        }
        out
    }

    /// Members that are also in `other`.
    #[inline(always)]
    pub fn and(self, other: &Bits<W>) -> Bits<W> {
        let mut out = self;
        for (word, kept) in out.0.iter_mut().zip(other.0) {
            *word &= kept;
        }
        out
    }

    /// The first member at or after `start`; past the last number the search wraps to 0.
    #[inline(always)]
    pub fn next_from(&self, start: usize) -> Option<usize> {
        let (word, bit) = (start / 64, start % 64);
        let upper = self.0[word] & (u64::MAX << bit);
        if upper != 0 {
            return Some(word * 64 + upper.trailing_zeros() as usize);
        }
        for step in 1..W {
            let at = (word + step) % W;
            if self.0[at] != 0 {
                return Some(at * 64 + self.0[at].trailing_zeros() as usize);
            }
        }
        let lower = self.0[word] & !(u64::MAX << bit);
        (lower != 0).then(|| word * 64 + lower.trailing_zeros() as usize)
    }

    /// All members, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..64 * W).filter(move |q| self.contains(*q))
    }

    /// Reads the set of a control frame. Numbers of `64 * W` or more are dropped.
    pub fn from_map(map: QueueMap) -> Bits<W> {
        let words = map.words();
        let mut bits = Bits::EMPTY;
        for (word, given) in bits.0.iter_mut().zip(words) {
            *word = given;
        }
        bits
    }

    /// Encodes the set for a control frame.
    pub fn to_map(self) -> QueueMap {
        let mut words = [0; 2];
        for (word, held) in words.iter_mut().zip(self.0) {
            *word = held;
        }
        QueueMap::new(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_from_goes_round_all_words() {
        let mut bits = Bits::<2>::EMPTY;
        bits.insert(3);
        bits.insert(100);
        assert_eq!(bits.next_from(0), Some(3));
        assert_eq!(bits.next_from(4), Some(100));
        assert_eq!(bits.next_from(101), Some(3));
        bits.remove(3);
        assert_eq!(bits.next_from(101), Some(100));
        bits.remove(100);
        assert_eq!(bits.next_from(7), None);
    }

    #[test]
    fn a_map_carries_the_set() {
        let mut bits = Bits::<2>::EMPTY;
        bits.insert(31);
        bits.insert(64);
        assert_eq!(Bits::<2>::from_map(bits.to_map()), bits);
    }
}
