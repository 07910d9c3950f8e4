//! The upstream half of a backpressure, which the egress ports of a switch or a NIC obey.

use crate::port::Ports;
use alloc::string::String;
use backwater_types::{ControlFrame, Extension, Instant, Packet, PortId, QueueId};

/// State of received pauses and credits, for all egress ports of a switch with queues of type `Q`.
///
/// It either stops a whole port, through [`Upstream::may_send`], as for a credit of the port, or closes some of the
/// queues it is given, as for a pause of a class. A frame names its queue, class or flow.
pub trait Upstream<Q>: Clone + Send + 'static {
    /// Handles a control frame that arrived by `port`, which has these `queues`.
    fn on_control(&mut self, now: Instant, port: PortId, frame: ControlFrame, queues: &mut Q);
    /// Resets `port` to its initial state, with nothing paused: its link went down or came back.
    fn release(&mut self, port: PortId, queues: &mut Q);
    /// Records that the link of `port` came back, after [`Upstream::release`].
    #[inline(always)]
    fn on_link_up(&mut self, _now: Instant, _port: PortId) {}
    /// Whether `port` may send data. Asked before a packet is chosen, so the answer has to hold for any packet.
    fn may_send(&self, port: PortId) -> bool;
    /// Records that a data packet of `queue` starts its transmission on `port`, whose queues no longer hold it. A timer
    /// must not be started here: the next timer is read only when a frame has come or gone, a timer has run or a link
    /// has changed.
    #[inline(always)]
    fn on_sent(&mut self, _now: Instant, _port: PortId, _queue: QueueId, _packet: &Packet, _queues: &mut Q) {}
    /// Time of the next [`Upstream::on_timer`].
    #[inline(always)]
    fn next_timer(&self) -> Instant {
        Instant::NEVER
    }
    /// Ends pauses that were not repeated, or sends requests to neighbours.
    fn on_timer(&mut self, _now: Instant, _ports: &mut Ports<'_, Q, impl Extension>) {}
    /// Compares the state with the queues of all ports.
    fn audit(&self, _queues: &[&Q]) -> Result<(), String> {
        Ok(())
    }
}
