//! Links over time: bytes sent, bytes queued and time paused, per port and period.

use backwater_counters::link_meter::LinkCount;
use backwater_types::Instant;
use serde::{Deserialize, Serialize};

/// Sample of one egress port over one period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LinkSample {
    /// End of the period.
    pub at: Instant,
    /// Number of the node in the graph.
    pub node: u32,
    /// Egress port of the node.
    pub port: u16,
    /// Bytes sent within the period.
    pub sent: u64,
    /// Bytes of data queued at the end of the period.
    pub queued: u64,
    /// Paused time within the period, picoseconds, summed over everything that the neighbour paused: the port (PFC),
    /// its queues (BFC), or flows.
    pub paused: u64,
}

/// Differences of port counters between samples.
#[derive(Debug, Default)]
pub struct LinkMeter {
    /// `[port]`: bytes sent and time paused, picoseconds, up to the last sample. Ports of hosts come first, then ports
    /// of switches.
    before: Vec<(u64, u64)>,
}

impl LinkMeter {
    /// Takes a sample of port number `i` of all since its last sample; `None` if the port was idle.
    pub fn since_last(
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
    fn a_sample_is_the_difference_from_the_last() {
        let mut meter = LinkMeter::default();
        let count = |sent, queued, paused| LinkCount { sent, queued, paused };
        let at = (7, 1);
        let first = meter.since_last(3, Instant(5), at, &count(100, 0, 8)).unwrap();
        assert_eq!((first.node, first.port, first.sent, first.paused), (7, 1, 100, 8));
        assert_eq!(meter.since_last(3, Instant(6), at, &count(100, 0, 8)), None, "an idle port has no sample");
        assert!(
            meter.since_last(3, Instant(7), at, &count(100, 9, 8)).is_some(),
            "a port with queued data has a sample"
        );
    }
}
