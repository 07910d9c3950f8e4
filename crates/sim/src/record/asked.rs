//! Which flows are followed: a bit each, as it is asked of every packet.

use backwater_types::Instant;
use std::sync::Arc;

/// A set of flows. A clone is the same in memory.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// `[flow / 64]`.
    words: Arc<[u64]>,
}

impl Asked {
    /// Of flows with when each reaches its receiver.
    pub(super) fn new(flows: &[(u32, Instant)]) -> Asked {
        let mut words = vec![0; flows.iter().map(|(flow, _)| *flow as usize / 64 + 1).max().unwrap_or(0)];
        flows.iter().for_each(|(flow, _)| words[*flow as usize / 64] |= 1 << (flow % 64));
        Asked { words: words.into() }
    }

    #[inline(always)]
    pub(super) fn has(&self, flow: u32) -> bool {
        self.words.get(flow as usize / 64).is_some_and(|word| word >> (flow % 64) & 1 == 1)
    }
}
