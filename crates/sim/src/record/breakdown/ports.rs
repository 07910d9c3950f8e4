//! Egress ports of all nodes.

use crate::record::breakdown::in_queue::InQueue;
use crate::record::breakdown::on_link::OnLink;
use crate::record::breakdown::port_clock::PortClock;
use backwater_engine::observe::Transmission;
use backwater_types::PortId;
use std::ops::Range;

/// Egress port with its link.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub(super) clock: PortClock,
    pub(super) queues: InQueue,
    pub(super) link: OnLink,
    /// Node and port at the other end of the link.
    pub(super) peer: (usize, PortId),
}

/// Ports of all nodes, in one list.
#[derive(Clone, Debug)]
pub(super) struct Ports {
    list: Vec<Port>,
    /// `[node]`: place of its first port. The last entry is the end of the list.
    first: Vec<u32>,
    /// `[node]`: ports whose clocks run, as bits by port number modulo 64. A bit is set exactly if one of its ports
    /// runs a clock. Every packet reads these bits, and most packets use ports without a running clock.
    running: Vec<u64>,
}

impl Ports {
    /// Builds the list from the ports of each node in turn.
    pub(super) fn new(nodes: impl Iterator<Item = Vec<Port>>) -> Ports {
        let (mut list, mut first) = (Vec::new(), vec![0]);
        for ports in nodes {
            list.extend(ports);
            first.push(list.len() as u32);
        }
        Ports { list, running: vec![0; first.len() - 1], first }
    }

    #[inline(always)]
    fn number(&self, node: usize, port: PortId) -> usize {
        self.first[node] as usize + usize::from(port)
    }

    /// Places in the list of a node's ports.
    fn numbers(&self, node: usize) -> Range<usize> {
        self.first[node] as usize..self.first[node + 1] as usize
    }

    /// Port `port` of `node`.
    #[inline(always)]
    pub(super) fn at(&self, node: usize, port: PortId) -> &Port {
        &self.list[self.number(node, port)]
    }

    /// Port `port` of `node`.
    #[inline(always)]
    pub(super) fn at_mut(&mut self, node: usize, port: PortId) -> &mut Port {
        let number = self.number(node, port);
        &mut self.list[number]
    }

    /// All ports of a node.
    pub(super) fn of(&self, node: usize) -> &[Port] {
        &self.list[self.numbers(node)]
    }

    /// Whether the clock of this port may run. If not, it does not run.
    #[inline(always)]
    pub(super) fn may_run(&self, node: usize, port: PortId) -> bool {
        self.running[node] & bit(port) != 0
    }

    /// Whether the clock of this port runs.
    pub(super) fn runs(&self, node: usize, port: PortId) -> bool {
        self.may_run(node, port) && self.at(node, port).clock.runs()
    }

    /// Starts the clock of a port whose last transmission is `last`, of class `class`.
    pub(super) fn start(&mut self, node: usize, port: PortId, last: Transmission, class: u8) {
        self.at_mut(node, port).clock.start(last, class);
        self.running[node] |= bit(port);
    }

    /// Stops the clock of a port.
    pub(super) fn stop(&mut self, node: usize, port: PortId) {
        self.at_mut(node, port).clock.stop();
        let mut same_bit = self.of(node).iter().skip(usize::from(port % 64)).step_by(64);
        if !same_bit.any(|port| port.clock.runs()) {
            self.running[node] &= !bit(port);
        }
    }
}

fn bit(port: PortId) -> u64 {
    1 << (port % 64)
}
