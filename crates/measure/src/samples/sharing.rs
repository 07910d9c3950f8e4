//! Queue sharing: the share of the active flows of an egress port that are in a queue with other flows.

use crate::columns::{Column, Peers, TableSchema, table};
use crate::samples::SampledTable;
use backwater_counters::SwitchView;
use backwater_dataplane::Readings;
use backwater_scenario::model::{Measure, Scenario};
use backwater_scenario::topology::Graph;
use backwater_types::{Instant, PortId, QueueId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Distributions of queue sharing at every switch.
#[derive(Default, Serialize, Deserialize)]
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
        if let Some(sampler) = self.0.get_mut(&switch.number()) {
            sampler.sample(switch.readings());
        }
    }

    fn join(&mut self, mut other: Sharing) {
        self.0.append(&mut other.0);
    }

    fn sort(&mut self) {}

    fn columns(&self, peers: &Peers) -> Vec<Column> {
        let rows = self.0.iter().flat_map(|(node, sampler)| {
            let bins = sampler.ports.iter().zip(0..).flat_map(|(bins, port)| {
                bins.iter().zip(0..).filter(|(n, _)| **n > 0).map(move |(n, percent)| (port, percent, *n))
            });
            bins.map(|(port, percent, n)| (*node, port, percent, n))
        });
        Table::columns(rows, peers)
    }
}

/// Number of bins: one for each per cent, 0 to 100. Shares are rounded down, so bin 12 counts shares from 12 % to below
/// 13 %.
const SHARES: usize = 101;

/// Sampler of queue sharing at one switch: a distribution for each port, over the samples that found a flow there.
#[derive(Debug, Serialize, Deserialize)]
struct AtSwitch {
    /// `[port][per cent]`: number of samples with this share.
    ports: Vec<Vec<u64>>,
    /// Flows with buffered data: port, queue, flow.
    flows: Vec<(PortId, QueueId, u32)>,
}

impl AtSwitch {
    /// Creates the sampler of a switch of `ports` ports.
    fn new(ports: usize) -> AtSwitch {
        AtSwitch { ports: vec![vec![0; SHARES]; ports], flows: Vec::new() }
    }

    /// Visits every packet buffered in the switch.
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
    use crate::samples::test_switch::{arrive, switch};
    use backwater_schemes::planes::BfcSwitch;

    #[test]
    fn flows_in_one_queue_share_it() {
        let (mut switch, mut sampler) = (switch(), AtSwitch::new(3));
        let mut shares = |switch: &BfcSwitch| {
            sampler.sample(switch);
            let found = sampler.ports.iter().map(|bins| bins.iter().rposition(|n| *n > 0)).collect::<Vec<_>>();
            sampler.ports.iter_mut().for_each(|bins| bins.fill(0));
            found
        };
        assert_eq!(shares(&switch), [None; 3], "a port without flows has no share");
        arrive(&mut switch, 1, 2);
        arrive(&mut switch, 1, 2);
        arrive(&mut switch, 2, 2);
        assert_eq!(shares(&switch), [None, None, Some(0)], "two packets of one flow do not share");
        // A third flow finds both queues occupied and shares one of them.
        arrive(&mut switch, 3, 2);
        arrive(&mut switch, 4, 1);
        assert_eq!(shares(&switch), [None, Some(0), Some(66)], "two of three flows are 66 %, rounded down");
    }
}
