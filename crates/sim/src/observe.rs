//! Hooks that checks and tests hang on. The default does nothing and costs nothing.

use backwater_dataplane::Departed;
use backwater_types::{ControlFrame, Instant, Packet, PortId};

/// Sees what happens at the nodes of one partition. Nodes are numbered as in the graph.
pub trait Observer: Send {
    /// A host puts a packet on its link.
    fn host_sent(&mut self, _now: Instant, _host: usize, _packet: &Packet) {}
    /// A packet reached the host it is for.
    fn host_received(&mut self, _now: Instant, _host: usize, _packet: &Packet) {}
    /// A packet joined a queue of `egress`.
    fn enqueued(&mut self, _now: Instant, _switch: usize, _egress: PortId, _packet: &Packet) {}
    /// A frame left by `port`.
    fn departed(&mut self, _now: Instant, _switch: usize, _port: PortId, _packet: &Packet, _sent: &Departed) {}
    /// A packet was dropped at a node or lost on the link it was put on.
    fn dropped(&mut self, _now: Instant, _node: usize, _packet: &Packet, _reason: &'static str) {}
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
