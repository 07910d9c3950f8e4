//! Set of the flows to explain: a bit each, as every packet is looked up in it.

use std::sync::Arc;

/// Set of flows. Clones share their memory.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// `[flow / 64]`: a bit for each flow.
    words: Arc<[u64]>,
    /// `[flow / 64]`: number of flows of the set in the words before.
    before: Arc<[u32]>,
}

impl Asked {
    /// Builds the set of these flows.
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

    /// Whether the set has this flow.
    #[inline(always)]
    pub(super) fn has(&self, flow: u32) -> bool {
        self.words.get(flow as usize / 64).is_some_and(|word| word >> (flow % 64) & 1 == 1)
    }

    /// Number of flows.
    pub(super) fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Rank of a flow of the set: number of flows with lower numbers.
    pub(super) fn rank(&self, flow: u32) -> usize {
        let (word, below) = (flow as usize / 64, (1 << (flow % 64)) - 1);
        self.before[word] as usize + (self.words[word] & below).count_ones() as usize
    }

    /// All flows, rising.
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
