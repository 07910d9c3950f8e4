//! Tables of samples: what is read off switches on a grid of instants, where a scenario asks for it.
//!
//! A table is a file here, which says when it is asked for, what it reads and what its columns are, and a line in [`Samples`]. Each
//! partition of a run fills tables of its own; they are joined and sorted when it has ended.

mod active_flows;
mod buffers;
mod data_queues;
mod pauses;
mod pools;
mod queues;
mod sharing;

pub use active_flows::ActiveFlows;
pub use buffers::{Buffers, Sample};
pub use data_queues::DataQueues;
pub use pauses::PauseCensus;
pub use pools::Pools;
pub use queues::{QueueSample, Queues};
pub use sharing::Sharing;

use crate::measure::columns::{Column, Peers, TableSchema};
use backwater_engine::partition::SwitchView;
use backwater_scenario::model::{Measure, Scenario};
use backwater_scenario::topology::Graph;
use backwater_types::Instant;

/// A table of samples.
pub trait SampledTable: Default + Send {
    /// Name and columns.
    const SCHEMA: TableSchema;
    /// Whether a scenario asks for it. Others are empty.
    fn is_asked(measure: &Measure) -> bool;
    /// A switch that will be sampled. Called once for each, before the first sample.
    fn add_switch(&mut self, _switch: &dyn SwitchView, _scenario: &Scenario, _graph: &Graph) {}
    /// Reads a switch.
    fn sample(&mut self, now: Instant, switch: &dyn SwitchView);
    /// Takes over the samples of another partition.
    fn join(&mut self, other: Self);
    /// Puts rows in an order that does not depend on partitions.
    fn sort(&mut self);
    /// The rows in columns.
    fn columns(&self, peers: &Peers) -> Vec<Column>;
}

/// All tables of samples.
macro_rules! samples {
    ($($(#[$doc:meta])* $table:ident: $kind:ident,)*) => {
        /// The samples of a run.
        #[derive(Default)]
        pub struct Samples {
            $($(#[$doc])* pub $table: $kind,)*
        }

        impl Samples {
            /// Names and columns.
            pub const SCHEMA: &[TableSchema] = &[$($kind::SCHEMA),*];

            /// A switch that will be sampled.
            pub(crate) fn add_switch(&mut self, switch: &dyn SwitchView, scenario: &Scenario, graph: &Graph) {
                $(if $kind::is_asked(&scenario.measure) {
                    self.$table.add_switch(switch, scenario, graph);
                })*
            }

            /// Reads a switch.
            pub(crate) fn sample(&mut self, measure: &Measure, now: Instant, switch: &dyn SwitchView) {
                $(if $kind::is_asked(measure) {
                    self.$table.sample(now, switch);
                })*
            }

            /// Takes over the samples of another partition.
            pub(crate) fn join(&mut self, other: Samples) {
                $(self.$table.join(other.$table);)*
            }

            /// Puts rows in an order that does not depend on partitions.
            pub(crate) fn sort(&mut self) {
                $(self.$table.sort();)*
            }

            /// The table of this name in columns, if it is one of these.
            pub(crate) fn columns(&self, name: &str, peers: &Peers) -> Option<Vec<Column>> {
                $(if name == $kind::SCHEMA.0 {
                    return Some(self.$table.columns(peers));
                })*
                None
            }
        }
    };
}

samples! {
    /// Bytes buffered, by time, then switch.
    buffers: Buffers,
    /// Data that waits at egress ports.
    queues: Queues,
    /// Data that waits in single queues.
    data_queues: DataQueues,
    /// Occupancy of shared pools.
    pools: Pools,
    /// Flows with data at egress ports.
    active_flows: ActiveFlows,
    /// Pauses in force.
    pauses: PauseCensus,
    /// Flows that share queues.
    sharing: Sharing,
}
