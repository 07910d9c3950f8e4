//! Which flows are followed: a bit each, as it is asked of every packet.

use std::sync::Arc;

/// A set of flows. A clone is the same in memory.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// `[flow / 64]`.
    words: Arc<[u64]>,
    /// `[flow / 64]`: how many of the set are in the words before.
    before: Arc<[u32]>,
}

impl Asked {
    /// Of these flows.
    pub(super) fn new(flows: impl Iterator<Item = u32>) -> Asked {
        let mut words: Vec<u64> = Vec::new();
        for flow in flows {
            let word = flow as usize / 64;
            words.resize(words.len().max(word + 1), 0);
            words[word] |= 1 << (flow % 64);
        }
        let sums = words.iter().scan(0, |sum, word| Some(std::mem::replace(sum, *sum + word.count_ones())));
        Asked { before: sums.collect(), words: words.into() }
    }

    #[inline(always)]
    pub(super) fn has(&self, flow: u32) -> bool {
        self.words.get(flow as usize / 64).is_some_and(|word| word >> (flow % 64) & 1 == 1)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// How many there are with lower numbers than this one of them.
    pub(super) fn rank(&self, flow: u32) -> usize {
        let (word, below) = (flow as usize / 64, (1 << (flow % 64)) - 1);
        self.before[word] as usize + (self.words[word] & below).count_ones() as usize
    }

    /// All, rising.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + use<'_> {
        (0..self.words.len() as u32 * 64).filter(|flow| self.has(*flow))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_count_those_before() {
        let flows = [0, 3, 63, 64, 130, 1000];
        let asked = Asked::new(flows.into_iter().rev());
        assert_eq!(asked.count(), flows.len());
        assert!(asked.iter().eq(flows));
        assert!(flows.iter().enumerate().all(|(rank, flow)| asked.rank(*flow) == rank));
        assert!([1, 62, 65, 999, 1001, 5000].iter().all(|flow| !asked.has(*flow)));
        assert!(!Asked::new(std::iter::empty()).has(0));
    }
}
