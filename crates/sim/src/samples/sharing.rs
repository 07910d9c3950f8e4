//! Flows that share queues: of the flows with data at an egress port, how many are in a queue with others.

use crate::measure::columns::{Column, Peers, TableSchema, table};
use crate::samples::SampledTable;
use backwater_dataplane::Readings;
use backwater_engine::partition::SwitchView;
use backwater_scenario::model::{Measure, Scenario};
use backwater_scenario::topology::Graph;
use backwater_types::{Instant, PortId, QueueId};
use std::collections::BTreeMap;

/// Shares of flows in shared queues at every switch.
#[derive(Default)]
pub struct Sharing(BTreeMap<u32, AtSwitch>);

table! {
    /// Columns of [`Sharing`].
    Table("sharing", row: (u32, PortId, u16, u64), peers: Peers) {
        node: cat, "", "switch" => row.0 as u16;
        port: u16, "", "egress port" => row.1;
        peer: cat, "", "node at the other end" => peers.of(row.0, row.1);
        percent: u16, "%", "share of the flows with data in the port that are in a queue with others, rounded down" => row.2;
        samples: u64, "", "samples that saw such a share; those that saw no flow are in none" => row.3;
    }
}

impl SampledTable for Sharing {
    const SCHEMA: TableSchema = Table::SCHEMA;

    fn is_asked(measure: &Measure) -> bool {
        measure.sharing
    }

    fn add_switch(&mut self, switch: &dyn SwitchView, _scenario: &Scenario, _graph: &Graph) {
        self.0.insert(switch.number(), AtSwitch::new(switch.ports().into()));
    }

    fn sample(&mut self, _now: Instant, switch: &dyn SwitchView) {
        if let Some(census) = self.0.get_mut(&switch.number()) {
            census.sample(switch.readings());
        }
    }

    fn join(&mut self, mut other: Sharing) {
        self.0.append(&mut other.0);
    }

    fn sort(&mut self) {}

    fn columns(&self, peers: &Peers) -> Vec<Column> {
        let rows = self.0.iter().flat_map(|(node, census)| {
            let bins = census.ports.iter().zip(0..).flat_map(|(bins, port)| {
                bins.iter().zip(0..).filter(|(n, _)| **n > 0).map(move |(n, percent)| (port, percent, *n))
            });
            bins.map(|(port, percent, n)| (*node, port, percent, n))
        });
        Table::columns(rows, peers)
    }
}

/// Shares are counted in bins of a per cent: what is 12 % or more and below 13 % is 12 %.
const SHARES: usize = 101;

/// Sampler of the share of flows, among those with data in an egress port, that are in a queue with others: a
/// distribution for each port over the samples that found a flow there.
#[derive(Debug)]
struct AtSwitch {
    /// `[port][per cent]`: samples.
    ports: Vec<[u64; SHARES]>,
    /// Flows that hold data: port, queue, flow.
    flows: Vec<(PortId, QueueId, u32)>,
}

impl AtSwitch {
    /// Of a switch of `ports` ports.
    fn new(ports: usize) -> AtSwitch {
        AtSwitch { ports: vec![[0; SHARES]; ports], flows: Vec::new() }
    }

    /// Looks at all that the switch holds.
    fn sample(&mut self, plane: &dyn Readings) {
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
    use backwater_types::{BitsPerSec, Duration, Kind, Packet};

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
        let (mut switch, mut census) = (switch(), AtSwitch::new(3));
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
}
