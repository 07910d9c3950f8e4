//! Occupancy of every shared buffer pool.

use crate::columns::{Column, Peers, TableSchema, table};
use crate::samples::SampledTable;
use backwater_counters::SwitchView;
use backwater_scenario::model::Measure;
use backwater_types::Instant;
use serde::{Deserialize, Serialize};

/// Sample of one shared pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PoolSample {
    /// Time of the sample.
    pub at: Instant,
    /// Number of the switch in the graph.
    pub node: u32,
    /// Memory management unit of the pool.
    pub mmu: u16,
    /// Bytes in the pool.
    pub bytes: u64,
}

/// Samples of shared pools, ordered by time, then switch and MMU.
#[derive(Default, Serialize, Deserialize)]
pub struct Pools(pub Vec<PoolSample>);

table! {
    /// Columns of [`Pools`].
    Table("pools", sample: PoolSample, _cx: ()) {
        time_ps: u64, "ps", "time of the sample" => sample.at.0;
        node: cat, "", "switch" => sample.node as u16;
        mmu: u16, "", "memory management unit" => sample.mmu;
        used_bytes: u64, "B", "data held in its shared pool" => sample.bytes;
    }
}

impl SampledTable for Pools {
    const SCHEMA: TableSchema = Table::SCHEMA;

    fn is_asked(measure: &Measure) -> bool {
        measure.pools
    }

    fn sample(&mut self, at: Instant, switch: &dyn SwitchView) {
        let pools = switch.readings().pools().iter().zip(0..);
        let row = |(pool, mmu): (&backwater_dataplane::Pool, u16)| PoolSample {
            at,
            node: switch.number(),
            mmu,
            bytes: pool.used(),
        };
        self.0.extend(pools.map(row));
    }

    fn join(&mut self, mut other: Pools) {
        self.0.append(&mut other.0);
    }

    fn sort(&mut self) {
        self.0.sort_unstable();
    }

    fn columns(&self, _peers: &Peers) -> Vec<Column> {
        Table::columns(&self.0, &())
    }
}
