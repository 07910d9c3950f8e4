//! The protocol of driving a [`DataPlane`], for any holder with links and a clock: a simulator, a software switch, a test.
//!
//! ```text
//! a packet arrives:    pass it on if its egress is free and empty; else receive it, then poll the egress, then the port where a
//!                      control frame waits because of it
//! a port is polled:    taken: it is polled again when it is free, if something may leave by it. Free: one frame leaves; packets that
//!                      were dropped on the way are drained; then the port where a control frame waits because of it is polled
//! a frame arrives:     the plane obeys it, and the port that it came by is polled
//! the timer runs:      what is due is done, and the ports that this opened are polled
//! a link changes:      packets that were dropped with it are drained; its port and those opened are polled by the next timer call
//! after each of these: the timer is set anew if it may have changed
//! ```
//!
//! A [`Driver`] owns the plane, so that no step can be left out. Its holder provides [`Outlets`].

use crate::plane::{DataPlane, Departed, Discarded, Joined, Readings};
use alloc::vec::Vec;
use backwater_types::{ControlFrame, DropReason, Extension, Frame, Instant, Kind, Packet, PortId};

/// The holder of a driver, as the driver sees it: it has links and alarms, and is told what happens to packets.
pub trait Outlets<E: Extension> {
    /// A control frame leaves before the packet that raised it, as in ns-3.
    const FRAMES_FIRST: bool = false;
    /// Whether the link of `port` is free.
    fn is_free(&self, now: Instant, port: PortId) -> bool;
    /// When the link of `port`, which is taken, is free.
    fn free_at(&self, port: PortId) -> Instant;
    /// Whether a poll of `port`, which is taken, is scheduled already. Needless polls are harmless.
    #[inline(always)]
    fn awaits(&self, _port: PortId) -> bool {
        false
    }
    /// Schedules [`Driver::poll_due`] for `port` at `at`, in place of any earlier request; [`Instant::NEVER`]: not at all.
    fn poll_at(&mut self, port: PortId, at: Instant);
    /// Schedules [`Driver::timer`] at `at`, in place of any earlier request; [`Instant::NEVER`]: not at all. A needless call is harmless.
    fn arm(&mut self, at: Instant);
    /// Whether packets may pass a free and empty port without being queued.
    #[inline(always)]
    fn lets_pass(&self) -> bool {
        true
    }
    /// Puts `frame` on the link of `port`, which is free. Returns when the link is free again.
    fn send(&mut self, now: Instant, port: PortId, frame: &Frame<E>, departed: &Departed) -> Instant;
    /// A packet joined a data queue, or passes through it.
    #[inline(always)]
    fn enqueued(&mut self, _now: Instant, _joined: Joined, _frame: &Frame<E>) {}
    /// A packet that was to leave by `egress` was not let in.
    fn dropped(&mut self, now: Instant, egress: PortId, frame: &Frame<E>, reason: DropReason);
    /// A packet that waited at `port` was dropped.
    fn discarded(&mut self, now: Instant, port: PortId, discarded: Discarded<E>, reason: DropReason);
}

/// A data plane, driven by the protocol.
#[derive(Clone, Debug)]
pub struct Driver<D> {
    plane: D,
    /// Ports that are to be polled when the timer has run.
    to_poll: Vec<PortId>,
}

impl<D: DataPlane> Driver<D> {
    /// Drives `plane`.
    pub fn new(plane: D) -> Driver<D> {
        Driver { plane, to_poll: Vec::with_capacity(16) }
    }

    /// A packet, not a control frame, came in by `ingress` and is routed to `egress`; it may be changed on the way.
    #[inline(always)]
    pub fn arrive(
        &mut self,
        now: Instant,
        ingress: PortId,
        egress: PortId,
        frame: &mut Frame<D::Extension>,
        out: &mut impl Outlets<D::Extension>,
    ) {
        let (as_data, upstream_queue) = (self.plane.queues_as_data(frame.kind), frame.upstream_queue);
        if out.is_free(now, egress)
            && out.lets_pass()
            && let Some(queue) = self.plane.pass(now, frame, ingress, egress)
        {
            if as_data {
                out.enqueued(now, Joined { ingress, egress, upstream_queue, queue, frame_on: None }, frame);
            }
            let queue = as_data.then_some(queue);
            out.send(now, egress, frame, &Departed { queue, entered: now, ..Departed::BESIDE_DATA });
            return;
        }
        let received = self.plane.receive(now, frame, ingress, egress);
        let frame_on = received.frame_on;
        if let Some(reason) = received.dropped {
            out.dropped(now, egress, frame, reason);
            // Where its sender is told.
            return frame_on.into_iter().for_each(|port| self.poll(now, port, out));
        }
        if as_data {
            out.enqueued(now, Joined { ingress, egress, upstream_queue, queue: received.queue, frame_on }, frame);
        }
        if received.timer_changed {
            out.arm(self.plane.next_timer());
        }
        self.poll_both(now, egress, frame_on, out);
    }

    /// Polls the port of a packet that was queued, and the port where a control frame waits because of it.
    #[inline(always)]
    fn poll_both<O: Outlets<D::Extension>>(
        &mut self,
        now: Instant,
        egress: PortId,
        frame_on: Option<PortId>,
        out: &mut O,
    ) {
        if O::FRAMES_FIRST {
            frame_on.into_iter().for_each(|port| self.poll(now, port, out));
            return self.poll(now, egress, out);
        }
        self.poll(now, egress, out);
        frame_on.into_iter().for_each(|port| self.poll(now, port, out));
    }

    /// A neighbour's frame came in by `port`.
    #[inline(always)]
    pub fn control(&mut self, now: Instant, port: PortId, frame: ControlFrame, out: &mut impl Outlets<D::Extension>) {
        self.plane.control(now, port, frame);
        out.arm(self.plane.next_timer());
        self.poll(now, port, out);
    }

    /// The timer runs, or links have changed at this instant.
    pub fn timer(&mut self, now: Instant, out: &mut impl Outlets<D::Extension>) {
        let mut to_poll = core::mem::take(&mut self.to_poll);
        if self.plane.next_timer() <= now {
            self.plane.timer(now, &mut to_poll);
        }
        out.arm(self.plane.next_timer());
        for port in to_poll.drain(..) {
            self.poll(now, port, out);
        }
        self.to_poll = to_poll;
    }

    /// The link of `port` failed, or came back if `up`. After all changes of an instant [`Driver::timer`] is to be called.
    pub fn link_changed(&mut self, now: Instant, port: PortId, up: bool, out: &mut impl Outlets<D::Extension>) {
        match up {
            true => self.plane.link_up(now, port, &mut self.to_poll),
            false => self.plane.link_down(now, port, &mut self.to_poll),
        }
        self.drain(now, port, DropReason::LinkDown, out);
        self.to_poll.push(port);
    }

    /// The time has come at which `port` was to be polled.
    #[inline(always)]
    pub fn poll_due(&mut self, now: Instant, port: PortId, out: &mut impl Outlets<D::Extension>) {
        if !out.is_free(now, port) {
            return out.poll_at(port, out.free_at(port));
        }
        let (again, frame_on) = self.transmit(now, port, out);
        out.poll_at(port, again);
        if let Some(port) = frame_on {
            self.poll(now, port, out);
        }
    }

    /// Sends if the link is free, else makes sure that the port is polled when it is. A packet that leaves may put a control frame on
    /// the port it came by, which is then polled in turn; a frame never causes another.
    #[inline(always)]
    fn poll(&mut self, now: Instant, port: PortId, out: &mut impl Outlets<D::Extension>) {
        let mut next = Some(port);
        while let Some(port) = next {
            if !out.is_free(now, port) {
                // What a port that holds credits awaits may be later than that.
                let awaits = !D::Extension::CREDITED && out.awaits(port);
                if !awaits && self.plane.sendable(port) {
                    out.poll_at(port, out.free_at(port));
                }
                return;
            }
            let again;
            (again, next) = self.transmit(now, port, out);
            if again != Instant::NEVER {
                out.poll_at(port, again);
            }
        }
    }

    /// Puts the next frame of `port` on its link. When the port is to be polled again, or never; and the port where a control frame
    /// now waits.
    #[inline(never)]
    fn transmit(
        &mut self,
        now: Instant,
        port: PortId,
        out: &mut impl Outlets<D::Extension>,
    ) -> (Instant, Option<PortId>) {
        let mut free_at = now;
        let departed =
            self.plane.transmit_to(now, port, |frame, departed| free_at = out.send(now, port, frame, departed));
        if !self.plane.discarded().is_empty() {
            self.drain(now, port, DropReason::NotEct, out);
        }
        let Some(departed) = departed else {
            return (if D::Extension::CREDITED { self.plane.due(port) } else { Instant::NEVER }, None);
        };
        if departed.timer_changed {
            out.arm(self.plane.next_timer());
        }
        (if self.plane.sendable(port) { free_at } else { Instant::NEVER }, departed.frame_on)
    }

    /// Hands on what was dropped as it left its queue, or with its port.
    #[cold]
    fn drain(&mut self, now: Instant, port: PortId, reason: DropReason, out: &mut impl Outlets<D::Extension>) {
        for discarded in core::mem::take(self.plane.discarded()) {
            out.discarded(now, port, discarded, reason);
        }
    }

    /// When [`Driver::timer`] is due.
    pub fn next_timer(&self) -> Instant {
        self.plane.next_timer()
    }

    /// Whether `port` has something it may send, now or when its time has come.
    pub fn sendable(&self, port: PortId) -> bool {
        self.plane.sendable(port)
    }

    /// Whether packets of this kind join the data queues.
    #[inline(always)]
    pub fn queues_as_data(&self, kind: Kind) -> bool {
        self.plane.queues_as_data(kind)
    }

    /// See [`DataPlane::prefetch`].
    #[inline(always)]
    pub fn prefetch(&self, packet: &Packet, ingress: PortId, egress: PortId) -> u32 {
        self.plane.prefetch(packet, ingress, egress)
    }

    /// See [`DataPlane::prefetch_ports`].
    #[inline(always)]
    pub fn prefetch_ports(&self) -> u64 {
        self.plane.prefetch_ports()
    }

    /// What can be read off the plane.
    pub fn readings(&self) -> &dyn Readings {
        self.plane.readings()
    }
}
