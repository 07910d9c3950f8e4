//! Hooks that checks and tests hang on. The default does nothing and costs nothing.

use backwater_dataplane::Departed;
use backwater_types::{ControlFrame, DropReason, Instant, Packet, PortId};
use std::any::Any;

/// Sees what happens at the nodes of one partition. Nodes are numbered as in the graph.
pub trait Observer: Send + Any {
    /// A host puts a packet on its link.
    fn host_sent(&mut self, _now: Instant, _host: usize, _packet: &Packet) {}
    /// A packet reached the host it is for.
    fn host_received(&mut self, _now: Instant, _host: usize, _packet: &Packet) {}
    /// A packet joined a queue of `egress`.
    fn enqueued(&mut self, _now: Instant, _switch: usize, _egress: PortId, _packet: &Packet) {}
    /// A frame left by `port`.
    fn departed(&mut self, _now: Instant, _switch: usize, _port: PortId, _packet: &Packet, _sent: &Departed) {}
    /// A packet was dropped at a node or lost on the link it was put on.
    fn dropped(&mut self, _now: Instant, _node: usize, _packet: &Packet, _reason: DropReason) {}
    /// A neighbour's frame came in by `port`.
    fn controlled(&mut self, _now: Instant, _node: usize, _port: PortId, _frame: ControlFrame) {}
    /// A link of `switch` failed or came back.
    fn link_changed(&mut self, _now: Instant, _switch: usize, _port: PortId) {}
    /// An event at `switch` has been handled; `audit` recounts its state.
    fn settled(&mut self, _now: Instant, _switch: usize, _audit: &dyn Fn() -> Result<(), String>) {}
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Observer for Nobody {}

/// For whoever would rather not be compiled once for each; slower.
impl Observer for Box<dyn Observer> {
    fn host_sent(&mut self, now: Instant, host: usize, packet: &Packet) {
        (**self).host_sent(now, host, packet);
    }

    fn host_received(&mut self, now: Instant, host: usize, packet: &Packet) {
        (**self).host_received(now, host, packet);
    }

    fn enqueued(&mut self, now: Instant, switch: usize, egress: PortId, packet: &Packet) {
        (**self).enqueued(now, switch, egress, packet);
    }

    fn departed(&mut self, now: Instant, switch: usize, port: PortId, packet: &Packet, sent: &Departed) {
        (**self).departed(now, switch, port, packet, sent);
    }

    fn dropped(&mut self, now: Instant, node: usize, packet: &Packet, reason: DropReason) {
        (**self).dropped(now, node, packet, reason);
    }

    fn controlled(&mut self, now: Instant, node: usize, port: PortId, frame: ControlFrame) {
        (**self).controlled(now, node, port, frame);
    }

    fn link_changed(&mut self, now: Instant, switch: usize, port: PortId) {
        (**self).link_changed(now, switch, port);
    }

    fn settled(&mut self, now: Instant, switch: usize, audit: &dyn Fn() -> Result<(), String>) {
        (**self).settled(now, switch, audit);
    }
}
