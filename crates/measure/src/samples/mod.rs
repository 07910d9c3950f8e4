//! Tables of samples: readings of switches on a grid of instants, where a scenario asks for them.
//!
//! A table is one file here and one line in [`Samples`]. The file states the key that asks for the table, its readings
//! and its columns. Each partition of a run fills tables of its own; the tables are joined and sorted at the end of the
//! run.

mod active_flows;
mod buffers;
mod data_queues;
mod pauses;
mod pools;
mod queues;
mod sharing;
#[cfg(test)]
mod test_switch;

pub use active_flows::ActiveFlows;
pub use buffers::{Buffers, Sample};
pub use data_queues::DataQueues;
pub use pauses::PauseCensus;
pub use pools::Pools;
pub use queues::{QueueSample, Queues};
pub use sharing::Sharing;

use crate::columns::{Column, Peers, TableSchema};
use backwater_counters::SwitchView;
use backwater_scenario::model::{Measure, Scenario};
use backwater_scenario::topology::Graph;
use backwater_types::Instant;

/// A table of samples.
pub trait SampledTable: Default + Send {
    /// Name and columns of the table.
    const SCHEMA: TableSchema;
    /// Whether a scenario asks for the table; otherwise the table is empty.
    fn is_asked(measure: &Measure) -> bool;
    /// Prepares sampling of a switch. Called once for each switch, before the first sample.
    fn add_switch(&mut self, _switch: &dyn SwitchView, _scenario: &Scenario, _graph: &Graph) {}
    /// Samples a switch.
    fn sample(&mut self, now: Instant, switch: &dyn SwitchView);
    /// Appends the samples of another partition.
    fn join(&mut self, other: Self);
    /// Sorts the rows, into an order that does not depend on partitions.
    fn sort(&mut self);
    /// Converts the rows to columns.
    fn columns(&self, peers: &Peers) -> Vec<Column>;
}

/// Defines [`Samples`] from the list of its tables.
macro_rules! samples {
    ($($(#[$doc:meta])* $table:ident: $kind:ident,)*) => {
        /// All tables of samples of a run.
        #[derive(Default, serde::Serialize, serde::Deserialize)]
        pub struct Samples {
            $($(#[$doc])* pub $table: $kind,)*
        }

        impl Samples {
            /// Names and columns of the tables.
            pub const SCHEMA: &[TableSchema] = &[$($kind::SCHEMA),*];

            /// Prepares sampling of a switch.
            pub fn add_switch(&mut self, switch: &dyn SwitchView, scenario: &Scenario, graph: &Graph) {
                $(if $kind::is_asked(&scenario.measure) {
                    self.$table.add_switch(switch, scenario, graph);
                })*
            }

            /// Samples a switch into the tables that the scenario asks for.
            pub fn sample(&mut self, measure: &Measure, now: Instant, switch: &dyn SwitchView) {
                $(if $kind::is_asked(measure) {
                    self.$table.sample(now, switch);
                })*
            }

            /// Appends the samples of another partition.
            pub fn join(&mut self, other: Samples) {
                $(self.$table.join(other.$table);)*
            }

            /// Sorts the rows of every table, into an order that does not depend on partitions.
            pub fn sort(&mut self) {
                $(self.$table.sort();)*
            }

            /// Converts the table named `name` to columns; `None` if it is not a table of samples.
            pub fn columns(&self, name: &str, peers: &Peers) -> Option<Vec<Column>> {
                $(if name == $kind::SCHEMA.0 {
                    return Some(self.$table.columns(peers));
                })*
                None
            }
        }
    };
}

samples! {
    /// Bytes buffered by each switch, ordered by time, then switch.
    buffers: Buffers,
    /// Queue lengths of egress ports.
    queues: Queues,
    /// Queue lengths of single data queues.
    data_queues: DataQueues,
    /// Occupancy of shared pools.
    pools: Pools,
    /// Flows with data at egress ports.
    active_flows: ActiveFlows,
    /// Pauses in force, by their cause.
    pauses: PauseCensus,
    /// Flows that share queues.
    sharing: Sharing,
}
