//! Bytes buffered by each switch.

use crate::columns::{Column, Peers, TableSchema, table};
use crate::samples::SampledTable;
use backwater_counters::SwitchView;
use backwater_scenario::model::Measure;
use backwater_types::Instant;
use serde::{Deserialize, Serialize};

/// Sample of one switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Sample {
    /// Time of the sample.
    pub at: Instant,
    /// Number of the switch in the graph.
    pub node: u32,
    /// Bytes buffered.
    pub bytes: u64,
    /// Flows in isolation because a neighbour paused them (FlowSail).
    pub isolated: u32,
}

/// Samples of buffered bytes, ordered by time, then switch.
#[derive(Default, Serialize, Deserialize)]
pub struct Buffers(pub Vec<Sample>);

table! {
    /// Columns of [`Buffers`].
    Table("buffers", sample: Sample, _cx: ()) {
        time_ps: u64, "ps", "time of the sample" => sample.at.0;
        node: cat, "", "switch" => sample.node as u16;
        buffered_bytes: u64, "B", "data held by the switch" => sample.bytes;
        isolated: u32, "flows", "flows kept apart because a neighbour paused them (FlowSail)" => sample.isolated;
    }
}

impl SampledTable for Buffers {
    const SCHEMA: TableSchema = Table::SCHEMA;

    fn is_asked(_measure: &Measure) -> bool {
        true
    }

    fn sample(&mut self, at: Instant, switch: &dyn SwitchView) {
        let (bytes, isolated) = (switch.readings().buffered(), switch.readings().isolated_flows());
        self.0.push(Sample { at, node: switch.number(), bytes, isolated });
    }

    fn join(&mut self, mut other: Buffers) {
        self.0.append(&mut other.0);
    }

    fn sort(&mut self) {
        self.0.sort_unstable();
    }

    fn columns(&self, _peers: &Peers) -> Vec<Column> {
        Table::columns(&self.0, &())
    }
}
