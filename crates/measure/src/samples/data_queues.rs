//! Queue lengths of single data queues, at the egress ports that a scenario names. Each sample visits every buffered
//! packet.

use crate::columns::{Column, Peers, TableSchema, table};
use crate::samples::SampledTable;
use crate::samples::queues::sampled_ports;
use backwater_counters::SwitchView;
use backwater_dataplane::Readings;
use backwater_scenario::model::{Measure, Scenario};
use backwater_scenario::topology::Graph;
use backwater_types::{Instant, PortId, QueueId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Sample of one data queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DataQueueSample {
    /// Time of the sample.
    pub at: Instant,
    /// Number of the switch in the graph.
    pub node: u32,
    /// Egress port of the switch.
    pub port: PortId,
    /// Data queue of the port.
    pub queue: QueueId,
    /// Bytes in the queue.
    pub bytes: u64,
}

/// Samples of data queues, from the first sample on that found bytes in the queue. Ordered by time, then switch, port
/// and queue.
#[derive(Default, Serialize, Deserialize)]
pub struct DataQueues {
    /// Samples.
    pub rows: Vec<DataQueueSample>,
    switches: BTreeMap<u32, AtSwitch>,
}

table! {
    /// Columns of [`DataQueues`].
    Table("data_queues", sample: DataQueueSample, peers: Peers) {
        time_ps: u64, "ps", "time of the sample" => sample.at.0;
        node: cat, "", "switch" => sample.node as u16;
        peer: cat, "", "node that the egress port leads to" => peers.of(sample.node, sample.port);
        queue: u16, "", "data queue of the port, one that has held something by then" => sample.queue;
        queued_bytes: u64, "B", "data that waits in it" => sample.bytes;
    }
}

impl SampledTable for DataQueues {
    const SCHEMA: TableSchema = Table::SCHEMA;

    fn is_asked(measure: &Measure) -> bool {
        measure.data_queues
    }

    fn add_switch(&mut self, switch: &dyn SwitchView, scenario: &Scenario, graph: &Graph) {
        let ports = sampled_ports(switch.number(), scenario, graph);
        self.switches.insert(switch.number(), AtSwitch::new(ports));
    }

    fn sample(&mut self, at: Instant, switch: &dyn SwitchView) {
        let node = switch.number();
        let Some(queues) = self.switches.get_mut(&node) else { return };
        let held = queues.sample(switch.readings());
        self.rows.extend(held.map(|(port, queue, bytes)| DataQueueSample { at, node, port, queue, bytes }));
    }

    fn join(&mut self, mut other: DataQueues) {
        self.rows.append(&mut other.rows);
    }

    fn sort(&mut self) {
        self.rows.sort_unstable();
    }

    fn columns(&self, peers: &Peers) -> Vec<Column> {
        Table::columns(&self.rows, peers)
    }
}

/// Sampler of the data queues at some ports of one switch.
#[derive(Debug, Serialize, Deserialize)]
struct AtSwitch {
    /// Sampled ports.
    ports: Vec<PortId>,
    /// `[position in ports][queue]`: bytes; `None` for a queue that was empty at all samples so far.
    bytes: Vec<Vec<Option<u64>>>,
}

impl AtSwitch {
    /// Creates the sampler of `ports`.
    fn new(ports: Vec<PortId>) -> AtSwitch {
        AtSwitch { bytes: vec![Vec::new(); ports.len()], ports }
    }

    /// Lists port, queue and bytes of each data queue that holds bytes now or held bytes at an earlier sample.
    fn sample(&mut self, plane: &dyn Readings) -> impl Iterator<Item = (PortId, QueueId, u64)> + '_ {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::test_switch::{arrive, switch};
    use backwater_dataplane::DataPlane;
    use backwater_schemes::planes::BfcSwitch;

    #[test]
    fn a_queue_that_ran_empty_is_sampled_as_empty() {
        let mut switch = switch();
        let mut queues = AtSwitch::new(vec![2]);
        let mut bytes = |switch: &BfcSwitch| {
            let mut held: Vec<_> = queues.sample(switch).map(|(port, _, bytes)| (port, bytes)).collect();
            held.sort_unstable();
            held
        };
        assert_eq!(bytes(&switch), []);
        arrive(&mut switch, 1, 2);
        arrive(&mut switch, 4, 1);
        assert_eq!(bytes(&switch), [(2, 1048)], "port 1 is not sampled");
        arrive(&mut switch, 1, 2);
        arrive(&mut switch, 2, 2);
        assert_eq!(bytes(&switch), [(2, 1048), (2, 2096)]);
        while switch.transmit(Instant::ZERO, 2).is_some() {}
        assert_eq!(bytes(&switch), [(2, 0), (2, 0)]);
    }
}
