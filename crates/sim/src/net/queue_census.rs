//! Queues of egress ports at single moments, by a look at every packet held: how long each is, and which flows share one.

use backwater_dataplane::Readings;
use backwater_types::{PortId, QueueId};

/// Bytes of single data queues of some ports.
#[derive(Debug)]
pub struct DataQueues {
    /// The ports.
    ports: Vec<PortId>,
    /// `[place in ports][queue]`: bytes; `None` for one that has held nothing yet.
    bytes: Vec<Vec<Option<u64>>>,
}

impl DataQueues {
    /// Of these ports.
    pub fn new(ports: Vec<PortId>) -> DataQueues {
        DataQueues { bytes: vec![Vec::new(); ports.len()], ports }
    }

    /// Port, queue and bytes of each data queue that holds something or has at an earlier sample.
    pub fn sample(&mut self, plane: &dyn Readings) -> impl Iterator<Item = (PortId, QueueId, u64)> + '_ {
        self.bytes.iter_mut().flatten().for_each(|bytes| *bytes = bytes.map(|_| 0));
        let (ports, all) = (&self.ports, &mut self.bytes);
        plane.visit(&mut |port, queue, packet, _| {
            let Some(at) = ports.iter().position(|p| *p == port) else { return };
            let queues = &mut all[at];
            queues.resize(queues.len().max(queue as usize + 1), None);
            *queues[queue as usize].get_or_insert(0) += u64::from(packet.wire);
        });
        let of_port = |(port, queues): (PortId, &'_ Vec<Option<u64>>)| {
            let held = queues.iter().zip(0..).filter_map(|(bytes, queue)| Some((queue, (*bytes)?)));
            held.map(|(queue, bytes)| (port, queue, bytes)).collect::<Vec<_>>()
        };
        self.ports.iter().copied().zip(&self.bytes).flat_map(of_port)
    }
}

/// Shares are counted in bins of a per cent: what is 12 % or more and below 13 % is 12 %.
pub(crate) const SHARES: usize = 101;

/// Of the flows with data in an egress port, what share is in a queue with others: a distribution for each port, over the samples that
/// found a flow there.
#[derive(Debug)]
pub struct SharingCensus {
    /// `[port][per cent]`: samples.
    pub ports: Vec<[u64; SHARES]>,
    /// Flows that hold data: port, queue, flow.
    flows: Vec<(PortId, QueueId, u32)>,
}

impl SharingCensus {
    /// Of a switch of `ports` ports.
    pub fn new(ports: usize) -> SharingCensus {
        SharingCensus { ports: vec![[0; SHARES]; ports], flows: Vec::new() }
    }

    /// Looks at all that the switch holds.
    pub fn sample(&mut self, plane: &dyn Readings) {
        self.flows.clear();
        plane.visit(&mut |port, queue, packet, _| self.flows.push((port, queue, packet.flow)));
        self.flows.sort_unstable();
        self.flows.dedup();
        for at_port in self.flows.chunk_by(|a, b| a.0 == b.0) {
            let queues = at_port.chunk_by(|a, b| a.1 == b.1);
            let sharing: usize = queues.map(<[_]>::len).filter(|flows| *flows > 1).sum();
            self.ports[at_port[0].0 as usize][100 * sharing / at_port.len()] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_dataplane::{BfcParams, DataPlane, PortShape, Shape};
    use backwater_schemes::planes::BfcSwitch;
    use backwater_types::{BitsPerSec, Duration, Instant, Kind, Packet};

    /// Three ports of two data queues each, and a flow table in which flows 1 to 4 do not meet.
    fn switch() -> BfcSwitch {
        let port = PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1));
        let shape =
            Shape { buffer: 1 << 20, hardware_queues: 2, smallest_packet: 1048, ..Shape::new(vec![port; 3], 2) };
        let bfc = BfcParams { table_entries_per_queue: 10_000, refresh: Duration::ZERO, ..BfcParams::default() };
        BfcSwitch::new(&shape, &(bfc.clone(), bfc))
    }

    fn arrive(switch: &mut BfcSwitch, flow: u32, egress: PortId) {
        let packet = Packet {
            flow,
            seq: 0,
            key: flow,
            sender_slot: 0,
            receiver_slot: 0,
            dst: 0,
            src: 0,
            wire: 1048,
            upstream_queue: 0,
            class: 0,
            kind: Kind::Data,
            flags: 0,
        };
        switch.receive(Instant::ZERO, &packet.into(), 0, egress);
    }

    #[test]
    fn flows_of_one_queue_share_it() {
        let (mut switch, mut census) = (switch(), SharingCensus::new(3));
        let mut shares = |switch: &BfcSwitch| {
            census.sample(switch);
            let found = census.ports.iter().map(|bins| bins.iter().rposition(|n| *n > 0)).collect::<Vec<_>>();
            census.ports.fill([0; SHARES]);
            found
        };
        assert_eq!(shares(&switch), [None; 3], "a port without flows says nothing");
        arrive(&mut switch, 1, 2);
        arrive(&mut switch, 1, 2);
        arrive(&mut switch, 2, 2);
        assert_eq!(shares(&switch), [None, None, Some(0)], "two packets of one flow are one");
        // A third flow finds both queues taken and shares one of them.
        arrive(&mut switch, 3, 2);
        arrive(&mut switch, 4, 1);
        assert_eq!(shares(&switch), [None, Some(0), Some(66)], "two of three flows, rounded down");
    }

    #[test]
    fn a_queue_that_ran_empty_is_sampled_as_empty() {
        let mut switch = switch();
        let mut queues = DataQueues::new(vec![2]);
        let mut bytes = |switch: &BfcSwitch| {
            let mut held: Vec<_> = queues.sample(switch).map(|(port, _, bytes)| (port, bytes)).collect();
            held.sort_unstable();
            held
        };
        assert_eq!(bytes(&switch), []);
        arrive(&mut switch, 1, 2);
        arrive(&mut switch, 4, 1);
        assert_eq!(bytes(&switch), [(2, 1048)], "not of a port that is not sampled");
        arrive(&mut switch, 1, 2);
        arrive(&mut switch, 2, 2);
        assert_eq!(bytes(&switch), [(2, 1048), (2, 2096)]);
        while switch.transmit(Instant::ZERO, 2).is_some() {}
        assert_eq!(bytes(&switch), [(2, 0), (2, 0)]);
    }
}
