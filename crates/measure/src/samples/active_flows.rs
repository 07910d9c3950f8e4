//! Active flows, which have data at an egress port: the distribution of their number, for each port over the samples.

use crate::columns::{Column, Peers, TableSchema, table};
use crate::samples::SampledTable;
use backwater_counters::SwitchView;
use backwater_scenario::model::Measure;
use backwater_types::{Instant, PortId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Distributions of the number of active flows, at switches that count them and where a scenario asks for the count.
#[derive(Default, Serialize, Deserialize)]
pub struct ActiveFlows {
    /// By switch, `[port][flows]`: samples with this number of flows.
    counts: BTreeMap<u32, Vec<Vec<u64>>>,
}

impl ActiveFlows {
    /// Lists switch, port and `[flows]`, the samples with this number of flows, for every port with samples.
    pub fn ports(&self) -> impl Iterator<Item = (u32, PortId, &Vec<u64>)> {
        self.counts.iter().flat_map(|(node, ports)| {
            let seen = ports.iter().zip(0..).filter(|(counts, _)| !counts.is_empty());
            seen.map(|(counts, port)| (*node, port, counts))
        })
    }
}

table! {
    /// Columns of [`ActiveFlows`].
    Table("active_flows", row: (u32, PortId, usize, u64), _cx: ()) {
        node: cat, "", "switch" => row.0 as u16;
        port: u16, "", "egress port" => row.1;
        flows: u32, "", "flows with data in the port" => row.2 as u32;
        samples: u64, "", "samples that saw so many" => row.3;
    }
}

impl SampledTable for ActiveFlows {
    const SCHEMA: TableSchema = Table::SCHEMA;

    /// Always true: the count is free at switches that have it, and other switches give no sample unless the scenario
    /// asks for the count.
    fn is_asked(_measure: &Measure) -> bool {
        true
    }

    fn sample(&mut self, _now: Instant, switch: &dyn SwitchView) {
        let ports = self.counts.entry(switch.number()).or_default();
        ports.resize_with(switch.ports().into(), Vec::new);
        for (counts, port) in ports.iter_mut().zip(0..) {
            if let Some(flows) = switch.active_flows(port) {
                let flows = flows as usize;
                counts.resize(counts.len().max(flows + 1), 0);
                counts[flows] += 1;
            }
        }
    }

    fn join(&mut self, mut other: ActiveFlows) {
        self.counts.append(&mut other.counts);
    }

    fn sort(&mut self) {}

    fn columns(&self, _peers: &Peers) -> Vec<Column> {
        let rows = self.ports().flat_map(|(node, port, counts)| {
            let seen = counts.iter().enumerate().filter(|(_, n)| **n > 0);
            seen.map(move |(flows, n)| (node, port, flows, *n))
        });
        Table::columns(rows, &())
    }
}
