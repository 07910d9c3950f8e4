//! The upstream half of a backpressure: what the egress ports of a switch, or of a NIC, obey.

use crate::port::Ports;
use alloc::string::String;
use backwater_types::{ControlFrame, Extension, Instant, Packet, PortId, QueueId};

/// What the egress ports of a switch obey, over queues of type `Q`, with a state of its own for all of them.
///
/// It holds a port back as a whole, by [`Upstream::may_send`], or closes some of its queues wherever it is given them: a credit of
/// the port is the one, a pause of a class the other. A frame says which queue, class or flow it means.
pub trait Upstream<Q>: Clone + Send + 'static {
    /// A neighbour's frame came in by `port`, whose queues are given.
    fn on_control(&mut self, now: Instant, port: PortId, frame: ControlFrame, queues: &mut Q);
    /// Nothing is held any more, and all is as it was at first: the link of `port` went down or came back.
    fn release(&mut self, port: PortId, queues: &mut Q);
    /// The link of `port` came back, after [`Upstream::release`].
    #[inline(always)]
    fn on_link_up(&mut self, _now: Instant, _port: PortId) {}
    /// Whether `port` may send data. Asked before a packet is chosen, so whichever it is has to be covered.
    fn may_send(&self, port: PortId) -> bool;
    /// A data packet of `queue` starts its transmission by `port`, whose queues hold it no longer. Not the place to start a timer:
    /// the next one is asked for when a frame has come or been sent, a timer has run or a link has changed.
    #[inline(always)]
    fn on_sent(&mut self, _now: Instant, _port: PortId, _queue: QueueId, _packet: &Packet, _queues: &mut Q) {}
    /// When [`Upstream::on_timer`] wants to run next.
    #[inline(always)]
    fn next_timer(&self) -> Instant {
        Instant::NEVER
    }
    /// Lets lapse what was not repeated, or asks the neighbours.
    fn on_timer(&mut self, _now: Instant, _ports: &mut Ports<'_, Q, impl Extension>) {}
    /// Compares its state with the queues of all ports.
    fn audit(&self, _queues: &[&Q]) -> Result<(), String> {
        Ok(())
    }
}
