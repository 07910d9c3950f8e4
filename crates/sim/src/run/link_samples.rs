//! What each link carried and what held it, period by period: a network over time.

use backwater_engine::link_meter::LinkCount;
use backwater_types::Instant;

/// A port over one period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkSample {
    /// End of the period.
    pub at: Instant,
    /// Number of the node in the graph.
    pub node: u32,
    /// Its port.
    pub port: u16,
    /// Bytes that left by it within the period.
    pub sent: u64,
    /// Data that waits at it now.
    pub queued: u64,
    /// Sum over what the neighbour held of the time within the period, picoseconds: the port (PFC), queues (BFC), flows.
    pub paused: u64,
}

/// What ports had counted by the last sample; `[port]`: those of hosts, then those of switches one by one.
#[derive(Debug, Default)]
pub(crate) struct LinkMeter {
    before: Vec<(u64, u64)>,
}

impl LinkMeter {
    /// What is new of a port, number `i` of all, since it was last asked; `None` where it is idle.
    pub(crate) fn since_last(
        &mut self,
        i: usize,
        now: Instant,
        (node, port): (u32, u16),
        count: &LinkCount,
    ) -> Option<LinkSample> {
        if i >= self.before.len() {
            self.before.resize(i + 1, (0, 0));
        }
        let (sent, paused) = std::mem::replace(&mut self.before[i], (count.sent, count.paused));
        let (sent, paused) = (count.sent - sent, count.paused - paused);
        let sample = LinkSample { at: now, node, port, sent, queued: count.queued, paused };
        (sent > 0 || paused > 0 || count.queued > 0).then_some(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_what_is_new() {
        let mut meter = LinkMeter::default();
        let count = |sent, queued, paused| LinkCount { sent, queued, paused };
        let at = (7, 1);
        let first = meter.since_last(3, Instant(5), at, &count(100, 0, 8)).unwrap();
        assert_eq!((first.node, first.port, first.sent, first.paused), (7, 1, 100, 8));
        assert_eq!(meter.since_last(3, Instant(6), at, &count(100, 0, 8)), None, "nothing happened");
        assert!(meter.since_last(3, Instant(7), at, &count(100, 9, 8)).is_some(), "but something waits");
    }
}
