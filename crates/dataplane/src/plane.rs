//! A switch as they see it who hold one, a simulator or a software switch: what happens to it, and what can be read off it.

use crate::buffer::Pool;
use crate::hardware::Recirculated;
use crate::held::{Assigned, Held};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use backwater_types::{ControlFrame, DropReason, Extension, FlowName, Frame, Instant, Kind, Packet, PortId, QueueId};
use core::any::Any;

/// What happens to a switch. Calls come in the order of time.
pub trait DataPlane: Any + Send {
    /// What its packets carry beside their headers.
    type Extension: Extension;
    /// A packet came in by `ingress` and is routed to `egress`.
    fn receive(&mut self, now: Instant, frame: &Frame<Self::Extension>, ingress: PortId, egress: PortId) -> Received;
    /// The link of `port` is free: what goes next, if anything may.
    fn transmit(&mut self, now: Instant, port: PortId) -> Option<Sent<Self::Extension>>;
    /// As [`DataPlane::transmit`], with the packet given to `out` where it lies; for callers who do not know the type of the plane.
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
    /// As [`DataPlane::transmit`], with the packet given to `out` where it lies.
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
    /// As [`DataPlane::receive`] followed by [`DataPlane::transmit`], for a port whose link is free and that holds nothing: the
    /// packet takes no cell, leaves the same traces, and is then as it goes on the wire. The queue it went through (for an ACK, as it
    /// came); `None` if it has to be received, and is as it was.
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
    /// Prefetches the state that a data packet on its way to `ingress` will need, which likely leaves by `egress`.
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
    /// Whether `port` has something it may send, now or when its time has come.
    fn sendable(&self, port: PortId) -> bool;
    /// When the time comes of what `port` holds until then, a credit; [`Instant::NEVER`] if nothing waits for its time. Asked where
    /// packets carry credits.
    #[inline(always)]
    fn due(&self, _port: PortId) -> Instant {
        Instant::NEVER
    }
    /// A neighbour's frame came in by `port`.
    fn control(&mut self, now: Instant, port: PortId, frame: ControlFrame);
    /// When [`DataPlane::timer`] is due.
    fn next_timer(&self) -> Instant;
    /// Its time has come. Ports that may have something to send now are appended to `to_poll`.
    fn timer(&mut self, now: Instant, to_poll: &mut Vec<PortId>);
    /// The link of `port` failed.
    fn link_down(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>);
    /// The link of `port` came back.
    fn link_up(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>);
    /// Packets dropped as they left their queues, or with their port, since these were last taken: whoever holds the plane takes them.
    fn discarded(&mut self) -> &mut Vec<Discarded<Self::Extension>>;
    /// What can be read off it.
    fn readings(&self) -> &dyn Readings;
}

/// A packet that was dropped after it had been let in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Discarded<E = ()> {
    /// The packet, with what it carries: a handle of a payload is to be given back.
    pub frame: Frame<E>,
    /// When it was enqueued (only if stamps are kept).
    pub entered: Instant,
}

/// Where a packet joined a data queue.
#[derive(Clone, Copy, Debug)]
pub struct Joined {
    /// The port it came by.
    pub ingress: PortId,
    /// The port it leaves by.
    pub egress: PortId,
    /// The queue it left upstream, as its header said on arrival.
    pub upstream_queue: QueueId,
    /// Its queue at the egress.
    pub queue: QueueId,
    /// Because of it a control frame now waits at this port.
    pub frame_on: Option<PortId>,
}

/// What became of an arriving packet.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// `None`: it was queued.
    pub dropped: Option<DropReason>,
    /// The data queue it joined; 0 where it joined none.
    pub queue: QueueId,
    /// A control frame, or a notice of a drop, now waits at this port, which is to be polled.
    pub frame_on: Option<PortId>,
    /// [`DataPlane::next_timer`] may have changed.
    pub timer_changed: bool,
}

impl Received {
    /// Of a packet that waits in no data queue, and changes nothing else.
    pub const BESIDE_DATA: Received = Received { dropped: None, queue: 0, frame_on: None, timer_changed: false };
}

/// A frame that starts its transmission.
#[derive(Clone, Copy, Debug)]
pub struct Sent<E = ()> {
    /// What goes on the wire.
    pub packet: Frame<E>,
    /// The data queue it left, if it was in one.
    pub queue: Option<QueueId>,
    /// A control frame now waits at this port, which is to be polled.
    pub frame_on: Option<PortId>,
    /// [`DataPlane::next_timer`] may have changed.
    pub timer_changed: bool,
    /// When it was enqueued (data, and only if stamps are kept).
    pub entered: Instant,
}

/// What is to be said of a packet that starts its transmission.
#[derive(Clone, Copy, Debug)]
pub struct Departed {
    /// The data queue it left, if it was in one.
    pub queue: Option<QueueId>,
    /// A control frame now waits at this port, which is to be polled.
    pub frame_on: Option<PortId>,
    /// [`DataPlane::next_timer`] may have changed.
    pub timer_changed: bool,
    /// When it was enqueued (data, and only if stamps are kept).
    pub entered: Instant,
}

impl Departed {
    /// Of a packet that was in no data queue, and changes nothing else.
    pub const BESIDE_DATA: Departed =
        Departed { queue: None, frame_on: None, timer_changed: false, entered: Instant::ZERO };
}

/// What can be read off a switch, by samplers, reports and checkers.
pub trait Readings {
    /// Bytes held.
    fn buffered(&self) -> u64;
    /// Data bytes that wait at `port`.
    fn queued(&self, port: PortId) -> u64;
    /// Every packet held, with its egress port, its queue and what is kept with it.
    fn visit(&self, see: &mut dyn FnMut(PortId, QueueId, &Packet, Held));
    /// The shared pools, by MMU.
    fn pools(&self) -> &[Pool];
    /// The MMU of `port`.
    fn mmu(&self, port: PortId) -> u8;
    /// Flows with data at `port`, if the policy knows.
    fn active_flows(&self, port: PortId) -> Option<u32>;
    /// How often flows were given a queue at `port`.
    fn assigned(&self, port: PortId) -> Assigned;
    /// What bookkeeping was late by.
    fn recirculated(&self) -> Recirculated {
        Recirculated::default()
    }
    /// Flows kept apart from the others because a neighbour paused them.
    fn isolated_flows(&self) -> u32;
    /// Whether data of this flow in `queue` of `port` may not leave, whatever the scheduler says: a neighbour holds the
    /// port, the queue or the flow.
    fn is_held(&self, port: PortId, queue: QueueId, flow: FlowName) -> bool;
    /// Recounts everything from the packets held. For test builds: it walks every queue.
    ///
    /// # Errors
    /// What disagrees.
    fn audit(&self) -> Result<(), String>;
}

/// For whoever would rather not be compiled once for each; slower.
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
