//! The interface of a switch to its holder, a simulator or a software switch: events in, packets and telemetry out.

use crate::buffer::Pool;
use crate::hardware::Recirculated;
use crate::meta::{Assigned, Meta};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use backwater_types::{ControlFrame, DropReason, Extension, FlowName, Frame, Instant, Kind, Packet, PortId, QueueId};
use core::any::Any;

/// Events of a switch. Calls are in the order of time.
pub trait DataPlane: Any + Send {
    /// Metadata that packets carry besides their headers.
    type Extension: Extension;
    /// Receives a packet that arrived by `ingress` and is routed to `egress`.
    fn receive(&mut self, now: Instant, frame: &Frame<Self::Extension>, ingress: PortId, egress: PortId) -> Received;
    /// Returns the next frame to send by `port`, whose link is free.
    fn transmit(&mut self, now: Instant, port: PortId) -> Option<Sent<Self::Extension>>;
    /// Like [`DataPlane::transmit_to`], for callers that do not know the type of the plane.
    fn transmit_with(
        &mut self,
        now: Instant,
        port: PortId,
        out: &mut dyn FnMut(&Frame<Self::Extension>, &Departed),
    ) -> Option<Departed> {
        let Sent { packet, queue, frame_on, timer_changed, entered } = self.transmit(now, port)?;
        let departed = Departed { queue, frame_on, timer_changed, entered };
        out(&packet, &departed);
        Some(departed)
    }
    /// Like [`DataPlane::transmit`], with the packet passed to `out` in place.
    #[inline(always)]
    fn transmit_to(
        &mut self,
        now: Instant,
        port: PortId,
        out: impl FnOnce(&Frame<Self::Extension>, &Departed),
    ) -> Option<Departed>
    where
        Self: Sized,
    {
        let mut out = Some(out);
        self.transmit_with(now, port, &mut |frame, departed| {
            if let Some(out) = out.take() {
                out(frame, departed);
            }
        })
    }
    /// Combines [`DataPlane::receive`] and [`DataPlane::transmit`] for a port whose link is free and that holds
    /// nothing. The packet takes no cell, has the same effects, and becomes as it goes on the wire. Returns the queue
    /// it bypassed (for an ACK, the upstream queue of its header). `None`: the packet is unchanged and has to be
    /// received.
    #[inline(always)]
    fn pass(
        &mut self,
        _now: Instant,
        _frame: &mut Frame<Self::Extension>,
        _ingress: PortId,
        _egress: PortId,
    ) -> Option<QueueId> {
        None
    }
    /// Prefetches the state for a data packet on its way to `ingress`, which will likely leave by `egress`.
    #[inline(always)]
    fn prefetch(&self, _packet: &Packet, _ingress: PortId, _egress: PortId) -> u32 {
        0
    }
    /// Prefetches the state of the ports.
    #[inline(always)]
    fn prefetch_ports(&self) -> u64 {
        0
    }
    /// Whether packets of this kind join the data queues.
    #[inline(always)]
    fn queues_as_data(&self, kind: Kind) -> bool {
        kind == Kind::Data
    }
    /// Whether `port` has something to send, now or at a later time.
    fn sendable(&self, port: PortId) -> bool;
    /// Time when a credit held by `port` may be sent; [`Instant::NEVER`] without one. Called only where packets carry
    /// credits.
    #[inline(always)]
    fn due(&self, _port: PortId) -> Instant {
        Instant::NEVER
    }
    /// Handles a neighbour's control frame that arrived by `port`.
    fn control(&mut self, now: Instant, port: PortId, frame: ControlFrame);
    /// Time of the next [`DataPlane::timer`].
    fn next_timer(&self) -> Instant;
    /// Runs the timer. Appends ports that may now have something to send to `to_poll`.
    fn timer(&mut self, now: Instant, to_poll: &mut Vec<PortId>);
    /// Handles the failure of the link of `port`.
    fn link_down(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>);
    /// Handles the return of the link of `port`.
    fn link_up(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>);
    /// Packets dropped after admission, at dequeue or with their port. The holder of the plane drains them.
    fn discarded(&mut self) -> &mut Vec<Discarded<Self::Extension>>;
    /// Telemetry of the switch.
    fn readings(&self) -> &dyn Readings;
}

/// A packet dropped after admission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Discarded<E = ()> {
    /// The packet with its metadata. A payload handle in it must be released.
    pub frame: Frame<E>,
    /// Enqueue time (only if stamps are kept).
    pub entered: Instant,
}

/// A packet's entry into a data queue.
#[derive(Clone, Copy, Debug)]
pub struct Joined {
    /// Ingress port.
    pub ingress: PortId,
    /// Egress port.
    pub egress: PortId,
    /// Queue that the packet left upstream, from its header on arrival.
    pub upstream_queue: QueueId,
    /// Queue at the egress.
    pub queue: QueueId,
    /// Port with a control frame that the packet caused.
    pub frame_on: Option<PortId>,
}

/// Result of the arrival of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Reason of the drop. `None`: the packet was queued.
    pub dropped: Option<DropReason>,
    /// Data queue of the packet; 0 if it joined none.
    pub queue: QueueId,
    /// Port to poll, because a control frame or a drop notice now waits there.
    pub frame_on: Option<PortId>,
    /// Whether [`DataPlane::next_timer`] may have changed.
    pub timer_changed: bool,
}

impl Received {
    /// Result for a packet outside the data queues that changes no other state.
    pub const BESIDE_DATA: Received = Received { dropped: None, queue: 0, frame_on: None, timer_changed: false };
}

/// A frame that starts its transmission.
#[derive(Clone, Copy, Debug)]
pub struct Sent<E = ()> {
    /// Frame to put on the wire.
    pub packet: Frame<E>,
    /// Data queue that the frame left, if any.
    pub queue: Option<QueueId>,
    /// Port to poll, because a control frame now waits there.
    pub frame_on: Option<PortId>,
    /// Whether [`DataPlane::next_timer`] may have changed.
    pub timer_changed: bool,
    /// Enqueue time (data, and only if stamps are kept).
    pub entered: Instant,
}

/// Description of a packet that starts its transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departed {
    /// Data queue that the packet left, if any.
    pub queue: Option<QueueId>,
    /// Port to poll, because a control frame now waits there.
    pub frame_on: Option<PortId>,
    /// Whether [`DataPlane::next_timer`] may have changed.
    pub timer_changed: bool,
    /// Enqueue time (data, and only if stamps are kept).
    pub entered: Instant,
}

impl Departed {
    /// Description of a packet outside the data queues that changes no other state.
    pub const BESIDE_DATA: Departed =
        Departed { queue: None, frame_on: None, timer_changed: false, entered: Instant::ZERO };
}

/// Telemetry of a switch for samplers, reports and checkers.
pub trait Readings {
    /// Bytes in the buffer.
    fn buffered(&self) -> u64;
    /// Data bytes queued at `port`.
    fn queued(&self, port: PortId) -> u64;
    /// Visits every buffered packet with its egress port, queue and metadata.
    fn visit(&self, see: &mut dyn FnMut(PortId, QueueId, &Packet, Meta));
    /// Shared pools, by MMU.
    fn pools(&self) -> &[Pool];
    /// MMU of `port`.
    fn mmu(&self, port: PortId) -> u8;
    /// Number of flows with data at `port`, if the policy tracks flows.
    fn active_flows(&self, port: PortId) -> Option<u32>;
    /// Assignment counts at `port`.
    fn assigned(&self, port: PortId) -> Assigned;
    /// Delays of recirculated bookkeeping.
    fn recirculated(&self) -> Recirculated {
        Recirculated::default()
    }
    /// Number of flows isolated because a neighbour paused them.
    fn isolated_flows(&self) -> u32;
    /// Whether data of `flow` in `queue` of `port` may not leave, whatever the scheduler picks: a neighbour pauses the
    /// port, the queue or the flow.
    fn is_held(&self, port: PortId, queue: QueueId, flow: FlowName) -> bool;
    /// Recounts all state from the buffered packets. For test builds: it walks every queue.
    ///
    /// # Errors
    /// The first disagreement.
    fn audit(&self) -> Result<(), String>;
}

/// A plane behind dynamic dispatch: slower, but its users are not compiled for each plane.
impl<E: Extension> DataPlane for Box<dyn DataPlane<Extension = E>> {
    type Extension = E;

    fn receive(&mut self, now: Instant, frame: &Frame<E>, ingress: PortId, egress: PortId) -> Received {
        (**self).receive(now, frame, ingress, egress)
    }

    fn transmit(&mut self, now: Instant, port: PortId) -> Option<Sent<E>> {
        (**self).transmit(now, port)
    }

    #[inline]
    fn transmit_with(
        &mut self,
        now: Instant,
        port: PortId,
        out: &mut dyn FnMut(&Frame<E>, &Departed),
    ) -> Option<Departed> {
        (**self).transmit_with(now, port, out)
    }

    fn pass(&mut self, now: Instant, frame: &mut Frame<E>, ingress: PortId, egress: PortId) -> Option<QueueId> {
        (**self).pass(now, frame, ingress, egress)
    }

    fn prefetch(&self, packet: &Packet, ingress: PortId, egress: PortId) -> u32 {
        (**self).prefetch(packet, ingress, egress)
    }

    fn prefetch_ports(&self) -> u64 {
        (**self).prefetch_ports()
    }

    fn queues_as_data(&self, kind: Kind) -> bool {
        (**self).queues_as_data(kind)
    }

    fn sendable(&self, port: PortId) -> bool {
        (**self).sendable(port)
    }

    fn due(&self, port: PortId) -> Instant {
        (**self).due(port)
    }

    fn control(&mut self, now: Instant, port: PortId, frame: ControlFrame) {
        (**self).control(now, port, frame);
    }

    fn next_timer(&self) -> Instant {
        (**self).next_timer()
    }

    fn timer(&mut self, now: Instant, to_poll: &mut Vec<PortId>) {
        (**self).timer(now, to_poll);
    }

    fn link_down(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        (**self).link_down(now, port, to_poll);
    }

    fn link_up(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        (**self).link_up(now, port, to_poll);
    }

    fn discarded(&mut self) -> &mut Vec<Discarded<E>> {
        (**self).discarded()
    }

    fn readings(&self) -> &dyn Readings {
        (**self).readings()
    }
}
