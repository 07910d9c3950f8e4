//! Causes of pauses: the pauses in force at a switch, classified by the flows whose packets keep them in force.
//!
//! A pause stops a queue of a neighbour under BFC, or a flow where pause frames name flows. The packets that count
//! towards a pause keep it in force, in whichever queue of the switch they wait. The flows of these packets decide the
//! cause of the pause:
//!
//! * **incast**: a flow has more to send, to a destination of incast packets in this switch.
//! * **other**: a flow has more to send, but none to such a destination.
//! * **orphan**: no flow has more to send. The last packets of all flows are in this switch, so the pause can hold
//!   nothing back (BFC-A29).

use crate::columns::{Column, Peers, TableSchema, table};
use crate::samples::SampledTable;
use backwater_counters::SwitchView;
use backwater_dataplane::{Grain, Readings};
use backwater_scenario::model::{Measure, Scenario};
use backwater_scenario::topology::Graph;
use backwater_types::{Instant, PortId, flags};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

/// Pauses that a switch had in force towards one neighbour, summed over samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Pauses {
    /// Number of samples.
    pub samples: u64,
    /// Pauses in force.
    pub held: u64,
    /// Pauses in force for an incast.
    pub incast: u64,
    /// Pauses in force for another flow.
    pub other: u64,
    /// Orphan pauses in force.
    pub orphans: u64,
    /// Samples in which every queue of the neighbour was paused.
    pub all: u64,
}

/// Sampled counts of the pauses in force at every switch.
#[derive(Default, Serialize, Deserialize)]
pub struct PauseCensus(BTreeMap<u32, AtSwitch>);

table! {
    /// Columns of [`PauseCensus`].
    Table("pauses", row: (u32, PortId, Pauses), peers: Peers) {
        node: cat, "", "switch that pauses" => row.0 as u16;
        port: u16, "", "its port to the neighbour it pauses" => row.1;
        peer: cat, "", "that neighbour" => peers.of(row.0, row.1);
        samples: u64, "", "samples taken" => row.2.samples;
        held: u64, "", "pauses in force, of queues or, where frames name flows, of flows; summed over samples" => row.2.held;
        incast: u64, "", "of those, for a flow with more to send to a host that incast is bound for" => row.2.incast;
        other: u64, "", "else for a flow with more to send" => row.2.other;
        orphans: u64, "", "for flows that have nothing left to send" => row.2.orphans;
        all: u64, "", "samples with every queue of the neighbour paused" => row.2.all;
    }
}

impl SampledTable for PauseCensus {
    const SCHEMA: TableSchema = Table::SCHEMA;

    fn is_asked(measure: &Measure) -> bool {
        measure.pauses
    }

    fn add_switch(&mut self, switch: &dyn SwitchView, scenario: &Scenario, graph: &Graph) {
        let table = scenario.switch_at(&graph.nodes[switch.number() as usize].name);
        let by_flow = table.grain() == Grain::Flow;
        self.0.insert(switch.number(), AtSwitch::new(switch.ports().into(), table.data_queues(), by_flow));
    }

    fn sample(&mut self, _now: Instant, switch: &dyn SwitchView) {
        if let Some(sampler) = self.0.get_mut(&switch.number()) {
            sampler.sample(switch.readings());
        }
    }

    fn join(&mut self, mut other: PauseCensus) {
        self.0.append(&mut other.0);
    }

    fn sort(&mut self) {}

    fn columns(&self, peers: &Peers) -> Vec<Column> {
        let rows = self
            .0
            .iter()
            .flat_map(|(node, sampler)| sampler.ports.iter().zip(0..).map(|(pauses, port)| (*node, port, *pauses)));
        Table::columns(rows, peers)
    }
}

/// Sampler of the pauses in force at one switch.
#[derive(Debug, Serialize, Deserialize)]
struct AtSwitch {
    /// Whether a pause names a flow, not a queue.
    by_flow: bool,
    /// Number of data queues of a neighbour.
    queues: u64,
    /// `[ingress]`: pauses towards the neighbour of this port.
    ports: Vec<Pauses>,
    /// Packets that keep a pause in force: ingress, paused queue or flow, destination, flow.
    holders: Vec<(PortId, u32, u16, u32)>,
    /// Destinations of incast packets in the switch.
    victims: HashSet<u16>,
    /// Flows whose last packet is in the switch.
    finished: HashSet<u32>,
}

impl AtSwitch {
    /// Creates the sampler of a switch of `ports` ports, with neighbours of `queues` data queues each.
    fn new(ports: usize, queues: u16, by_flow: bool) -> AtSwitch {
        AtSwitch {
            by_flow,
            queues: queues.into(),
            ports: vec![Pauses::default(); ports],
            holders: Vec::new(),
            victims: HashSet::new(),
            finished: HashSet::new(),
        }
    }

    /// Visits every packet buffered in the switch.
    fn sample(&mut self, plane: &dyn Readings) {
        self.holders.clear();
        self.victims.clear();
        self.finished.clear();
        plane.visit(&mut |_, _, packet, held| {
            if packet.has(flags::INCAST) {
                self.victims.insert(packet.dst);
            }
            if packet.has(flags::LAST) {
                self.finished.insert(packet.flow);
            }
            if held.counted {
                let paused = if self.by_flow { packet.flow } else { held.upstream_queue.into() };
                self.holders.push((held.ingress.into(), paused, packet.dst, packet.flow));
            }
        });
        self.holders.sort_unstable();
        self.ports.iter_mut().for_each(|port| port.samples += 1);
        let mut held = vec![0; self.ports.len()];
        for pause in self.holders.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let port = &mut self.ports[pause[0].0 as usize];
            let more = || pause.iter().filter(|(.., flow)| !self.finished.contains(flow));
            held[pause[0].0 as usize] += 1;
            port.held += 1;
            match () {
                () if more().any(|(_, _, dst, _)| self.victims.contains(dst)) => port.incast += 1,
                () if more().next().is_some() => port.other += 1,
                () => port.orphans += 1,
            }
        }
        for (port, held) in self.ports.iter_mut().zip(held) {
            port.all += (!self.by_flow && held == self.queues) as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_dataplane::{BfcParams, DataPlane, PortShape, Shape};
    use backwater_schemes::planes::BfcSwitch;
    use backwater_types::{BitsPerSec, Bytes, Duration, Kind, Packet};

    /// Creates a switch of one data queue and a threshold of one byte: every packet but the first at an egress counts
    /// towards a pause.
    fn switch() -> BfcSwitch {
        let port = PortShape::new(BitsPerSec(100_000_000_000), Duration::from_us(1));
        let shape =
            Shape { buffer: 1 << 20, hardware_queues: 1, smallest_packet: 1048, ..Shape::new(vec![port; 3], 2) };
        let bfc = BfcParams {
            table_entries_per_queue: 1,
            fixed_threshold: Some(Bytes(1)),
            refresh: Duration::ZERO,
            count_last: true,
            ..BfcParams::default()
        };
        BfcSwitch::new(&shape, &(bfc.clone(), bfc))
    }

    #[test]
    fn a_pause_is_classified_by_its_flows_with_more_to_send() {
        let (mut switch, mut sampler) = (switch(), AtSwitch::new(3, 2, false));
        let mut arrive = |flow, ingress, upstream_queue, dst, flags| {
            let packet = Packet {
                flow,
                seq: 0,
                key: flow,
                sender_slot: 0,
                receiver_slot: 0,
                dst,
                src: 0,
                wire: 1048,
                upstream_queue,
                class: 0,
                kind: Kind::Data,
                flags,
            };
            switch.receive(Instant::ZERO, &packet.into(), ingress, 2);
            sampler.sample(&switch);
            let [zero, one, _] = sampler.ports[..] else { unreachable!("three ports") };
            sampler.ports.fill(Pauses::default());
            [zero, one].map(|p| [p.held, p.incast, p.other, p.orphans, p.all])
        };
        let none = [0; 5];
        assert_eq!(arrive(1, 0, 0, 7, 0), [none, none], "the first packet finds an empty queue");
        // Flow 2 has sent its last packet, from upstream queue 1. Flow 3 of the same queue has more to send, so the
        // pause is no orphan any more.
        assert_eq!(arrive(2, 0, 1, 7, flags::LAST), [[1, 0, 0, 1, 0], none]);
        assert_eq!(arrive(3, 0, 1, 7, 0), [[1, 0, 1, 0, 0], none]);
        // Flow 4 comes from another neighbour and makes host 7 a destination of incast: the pause of flow 3 becomes an
        // incast's.
        assert_eq!(arrive(4, 1, 0, 7, flags::INCAST), [[1, 1, 0, 0, 0], [1, 1, 0, 0, 0]]);
        // The last packet of flow 4 makes its pause an orphan, but not the pause of flow 3.
        assert_eq!(arrive(4, 1, 0, 7, flags::INCAST | flags::LAST), [[1, 1, 0, 0, 0], [1, 0, 0, 1, 0]]);
        // Both queues of the first neighbour are paused.
        assert_eq!(arrive(5, 0, 0, 8, 0), [[2, 1, 1, 0, 1], [1, 0, 0, 1, 0]]);
    }
}
