//! Nodes of one thread, by type.

use crate::host::port::EndHost;
use crate::link::Transit;
use crate::switch_node::SwitchNode;
use backwater_fabric::flow::Flow;

/// Hosts, switches and the frames in flight towards them.
pub struct Nodes<H: EndHost, D> {
    /// Hosts, numbered from 0 in the partition.
    pub hosts: Vec<H>,
    /// Switches, numbered after the hosts.
    pub switches: Vec<SwitchNode<D, H::Schedule>>,
    /// Frames in flight towards the nodes.
    pub transit: Transit<H::Schedule>,
    /// `[host in the graph]`: its number in the partition; `u32::MAX` for hosts of other partitions.
    pub local: Vec<u32>,
}

impl<H: EndHost, D> Nodes<H, D> {
    /// Queues a flow, which will start, at its source. Returns the number of this host in the partition.
    pub fn announce_at_source(&mut self, flow: Flow) -> usize {
        let host = self.local[flow.src as usize] as usize;
        self.hosts[host].port_mut().announce(flow);
        host
    }
}
