//! The interface of whatever runs the events of a window.

mod node_by_node;

use crate::flow::Flow;
use crate::host::params::{Finished, HostParams};
use crate::host::port::EndHost;
use crate::nodes::Nodes;
use crate::schedule::Schedule;
use backwater_types::Instant;
use std::sync::RwLock;

/// A schedule that can run hosts `H` and switches of data plane `D` under observer `O`.
pub trait Windows<H: EndHost, D, O>: Schedule {
    /// The nodes were built: what is ahead of them is found out.
    fn begin(nodes: &mut Nodes<H, D>);
    /// A flow will start at a host here, before the end of the next window.
    fn announce(nodes: &mut Nodes<H, D>, flow: Flow);
    /// Handles every event before `end`.
    fn run_window(
        nodes: &mut Nodes<H, D>,
        end: Instant,
        params: &HostParams<H::Params>,
        finished: &mut dyn FnMut(Instant, Finished),
        observer: &mut O,
    );
    /// The window that ended at `end` is over, and all partitions have put their accounts of it there; a lone one has not.
    #[inline(always)]
    fn settle(_nodes: &mut Nodes<H, D>, _accounts: &[RwLock<Self::Account>], _end: Instant) {}
    /// The earliest event that it knows of.
    fn next(nodes: &Nodes<H, D>) -> Instant;
}
