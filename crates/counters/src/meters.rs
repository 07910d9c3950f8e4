//! Meters of every packet through a switch. They cost time, so they exist only where the scenario asks for them.

use crate::census::Census;
use backwater_types::{Duration, Instant, Kind, Packet, PortId};

/// Meters of one switch.
#[derive(Clone, Debug)]
pub struct Meters {
    /// Queueing delays of all data.
    pub delays: Option<DelayHistogram>,
    /// Queueing delays of packets of low priority.
    pub scheduled: Option<ScheduledDelays>,
    /// Flows with data at each port.
    pub census: Option<Census>,
    /// Packets that go down and up again.
    pub valleys: Option<Valleys>,
}

impl Meters {
    /// Records that a packet from `ingress` joined a queue of `port`.
    #[inline(always)]
    pub fn enter(&mut self, ingress: PortId, port: PortId, packet: &Packet) {
        if let Some(census) = &mut self.census {
            census.enter(port, packet.flow);
        }
        self.pass(ingress, port, packet);
    }

    /// Records that a packet from `ingress` joined no queue of `port`, which was free and empty.
    #[inline(always)]
    pub fn pass(&mut self, ingress: PortId, port: PortId, packet: &Packet) {
        if let Some(valleys) = &mut self.valleys {
            valleys.count(ingress, port, packet);
        }
    }

    /// Records that a packet of `flow` and traffic class `class`, which joined its queue at `entered`, left `port`.
    #[inline(always)]
    pub fn leave(&mut self, now: Instant, port: PortId, (flow, class): (u32, u8), entered: Instant) {
        if let Some(delays) = &mut self.delays {
            delays.count(now.since(entered));
        }
        if let Some(scheduled) = &mut self.scheduled {
            scheduled.count(port, class, now.since(entered));
        }
        if let Some(census) = &mut self.census {
            census.leave(port, flow);
        }
    }
}

/// Queueing delays of packets from one priority level on downwards, by the layer of the next node. These are Homa's
/// scheduled packets.
#[derive(Clone, Debug)]
pub struct ScheduledDelays {
    /// First of these levels.
    from: u8,
    /// `[port]`: layer of the node at the other end.
    peers: Vec<u8>,
    /// `[layer of the next node]`: delays.
    pub delays: Vec<DelayHistogram>,
}

impl ScheduledDelays {
    /// Creates histograms for ports whose next nodes are of layers `peers`.
    pub fn new(from: u8, peers: Vec<u8>) -> ScheduledDelays {
        let layers = peers.iter().max().map_or(0, |most| usize::from(*most) + 1);
        ScheduledDelays { from, peers, delays: vec![DelayHistogram::default(); layers] }
    }

    fn count(&mut self, port: PortId, class: u8, delay: Duration) {
        if class >= self.from {
            self.delays[usize::from(self.peers[port as usize])].count(delay);
        }
    }
}

/// Data packets that came from a higher layer and go back to one: the turns on which BFC suppresses backpressure (spec
/// C.1).
#[derive(Clone, Debug)]
pub struct Valleys {
    /// `[port]`: whether it leads to a higher layer.
    up: Vec<bool>,
    /// Number of these packets.
    pub packets: u64,
}

impl Valleys {
    /// Creates a counter; `up` says which ports lead to a higher layer.
    pub fn new(up: Vec<bool>) -> Valleys {
        Valleys { up, packets: 0 }
    }

    fn count(&mut self, ingress: PortId, egress: PortId, packet: &Packet) {
        let valley = self.up[ingress as usize] && self.up[egress as usize];
        self.packets += (valley && packet.kind == Kind::Data) as u64;
    }
}

/// Histogram of queueing delays. Each power of two nanoseconds has 16 bins.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct DelayHistogram {
    counts: Vec<u64>,
    /// Sum of all delays, picoseconds.
    pub sum: u128,
}

impl Default for DelayHistogram {
    fn default() -> DelayHistogram {
        DelayHistogram { counts: vec![0; 16 * 48], sum: 0 }
    }
}

impl DelayHistogram {
    /// Counts one delay.
    #[inline]
    pub fn count(&mut self, delay: Duration) {
        let ns = delay.0 / 1000;
        let bin = if ns < 16 {
            ns as usize
        } else {
            let power = 63 - ns.leading_zeros() as usize;
            16 * (power - 3) + (ns >> (power - 4) & 15) as usize
        };
        let last = self.counts.len() - 1;
        self.counts[bin.min(last)] += 1;
        self.sum += delay.0 as u128;
    }

    /// Returns `(low, high, count)` of every bin that is not empty; `[low, high)` is in nanoseconds.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let low = |bin: usize| match bin {
            0..16 => bin as u64,
            _ => (16 + bin as u64 % 16) << (bin / 16 - 1),
        };
        self.counts.iter().enumerate().filter(|(_, n)| **n > 0).map(move |(bin, n)| (low(bin), low(bin + 1), *n))
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &DelayHistogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, n)| *sum += n);
        self.sum += other.sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_delay_falls_into_the_bin_that_names_it() {
        for ns in (0..200).chain([1 << 12, (1 << 12) - 1, 99_999, 1_000_000]) {
            let mut h = DelayHistogram::default();
            h.count(Duration::from_ns(ns));
            let (low, high, n) = h.bins().next().unwrap();
            assert!(low <= ns && ns < high && n == 1, "{ns} in [{low}, {high})");
            assert!(high - low <= (ns / 16).max(1));
        }
    }

    #[test]
    fn a_census_knows_the_flows_that_wait_whether_or_not_others_pass() {
        let mut meters = Meters { delays: None, scheduled: None, census: Some(Census::new(3)), valleys: None };
        let mut queues: [Vec<u32>; 3] = Default::default();
        let mut state = 1u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..20_000 {
            let (port, flow) = (draw(3) as PortId, draw(5) as u32);
            let queue = &mut queues[port as usize];
            let packet = Packet { flow, ..Packet::NONE };
            match draw(2) {
                0 if queue.is_empty() => {
                    // A packet that passes the port leaves at once, and the census never saw it enter.
                    meters.pass(0, port, &packet);
                    meters.leave(Instant::ZERO, port, (flow, 0), Instant::ZERO);
                }
                0 => {
                    let flow = queue.remove(draw(queue.len() as u64) as usize);
                    meters.leave(Instant::ZERO, port, (flow, 0), Instant::ZERO);
                }
                _ => {
                    queue.push(flow);
                    meters.enter(0, port, &packet);
                }
            }
            let waiting: std::collections::HashSet<_> = queues[port as usize].iter().collect();
            let census = meters.census.as_ref().expect("it was asked for");
            assert_eq!(census.flows(port) as usize, waiting.len());
        }
    }
}
