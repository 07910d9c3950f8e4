//! Queue lengths of the egress ports that a scenario names.

use crate::columns::{Column, Peers, TableSchema, table};
use crate::samples::SampledTable;
use backwater_counters::SwitchView;
use backwater_fabric::ports;
use backwater_scenario::model::{Measure, Scenario};
use backwater_scenario::topology::Graph;
use backwater_types::{Instant, PortId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Sample of one egress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct QueueSample {
    /// Time of the sample.
    pub at: Instant,
    /// Number of the switch in the graph.
    pub node: u32,
    /// Egress port of the switch.
    pub port: PortId,
    /// Bytes of data queued at the port.
    pub bytes: u64,
}

/// Samples of egress ports, ordered by time, then switch and port.
#[derive(Default, Serialize, Deserialize)]
pub struct Queues {
    /// Samples of all ports.
    pub rows: Vec<QueueSample>,
    /// Sampled ports, by switch.
    ports: BTreeMap<u32, Vec<PortId>>,
}

table! {
    /// Columns of [`Queues`].
    Table("queues", sample: QueueSample, peers: Peers) {
        time_ps: u64, "ps", "time of the sample" => sample.at.0;
        node: cat, "", "switch" => sample.node as u16;
        peer: cat, "", "node that the egress port leads to" => peers.of(sample.node, sample.port);
        queued_bytes: u64, "B", "data that waits at the port" => sample.bytes;
    }
}

impl SampledTable for Queues {
    const SCHEMA: TableSchema = Table::SCHEMA;

    fn is_asked(measure: &Measure) -> bool {
        !measure.queues.is_empty()
    }

    fn add_switch(&mut self, switch: &dyn SwitchView, scenario: &Scenario, graph: &Graph) {
        self.ports.insert(switch.number(), sampled_ports(switch.number(), scenario, graph));
    }

    fn sample(&mut self, at: Instant, switch: &dyn SwitchView) {
        let node = switch.number();
        let row = |port: &PortId| QueueSample { at, node, port: *port, bytes: switch.readings().queued(*port) };
        self.rows.extend(self.ports[&node].iter().map(row));
    }

    fn join(&mut self, mut other: Queues) {
        self.rows.append(&mut other.rows);
    }

    fn sort(&mut self) {
        self.rows.sort_unstable();
    }

    fn columns(&self, peers: &Peers) -> Vec<Column> {
        Table::columns(&self.rows, peers)
    }
}

/// Lists the ports of a switch that the scenario samples.
pub(super) fn sampled_ports(switch: u32, scenario: &Scenario, graph: &Graph) -> Vec<PortId> {
    let switch = switch as usize;
    let name = |node: usize| &graph.nodes[node].name;
    let links = &ports(graph)[switch];
    let is_sampled =
        |port: &PortId| scenario.measure.samples(name(switch), name(graph.peer(links[usize::from(*port)], switch)));
    (0..links.len() as PortId).filter(is_sampled).collect()
}
