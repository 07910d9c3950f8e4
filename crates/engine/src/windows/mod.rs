//! Interface of a schedule to the events of a window.

mod node_by_node;

use crate::host::params::{HostParams, Report};
use crate::host::port::EndHost;
use crate::nodes::Nodes;
use crate::schedule::Schedule;
use backwater_fabric::flow::Flow;
use backwater_types::Instant;
use std::sync::RwLock;

/// Schedule that runs hosts `H` and switches of data plane `D` under observer `O`.
pub trait Windows<H: EndHost, D, O>: Schedule {
    /// Finds the first event of each node, after the nodes were built.
    fn begin(nodes: &mut Nodes<H, D>);
    /// Queues a flow that starts at a host of the partition before the end of the next window.
    fn announce(nodes: &mut Nodes<H, D>, flow: Flow);
    /// Handles every event before `end`.
    fn run_window(
        nodes: &mut Nodes<H, D>,
        end: Instant,
        params: &HostParams<H::Params>,
        report: &mut dyn FnMut(Instant, Report),
        observer: &mut O,
    );
    /// Completes the window that ended at `end`, after all partitions have put their accounts of it into `accounts`.
    /// The list is empty if the partition is alone, since it hands nothing over.
    #[inline(always)]
    fn settle(_nodes: &mut Nodes<H, D>, _accounts: &[RwLock<Self::Account>], _end: Instant) {}
    /// Returns the time of the earliest pending event of the partition.
    fn next(nodes: &Nodes<H, D>) -> Instant;
}
