//! What a source of flows is to the rest.

use crate::workload::flow::Arrival;

/// A source of flows.
pub trait Process {
    /// The next flow, in order of arrival.
    fn next(&mut self) -> Option<Arrival>;
}
