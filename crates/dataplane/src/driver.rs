//! The protocol of driving a [`DataPlane`], for any holder with links and a clock: a simulator, a software switch, a
//! test.
//!
//! ```text
//! packet arrives:   egress free and empty: pass it on
//!                   else: receive it, poll the egress, then poll the port where it raised a control frame
//! port is polled:   busy: schedule a poll for when it is free, if it has something to send
//!                   free: send one frame, drain the packets dropped on the way, then poll the port where the departure
//!                   raised a control frame
//! frame arrives:    the plane obeys it; poll the port it arrived by
//! timer runs:       do the work that is due; poll the ports that this opened
//! link changes:     drain the packets dropped with it; the next timer call polls its port and those opened
//! after each step:  set the timer again if it may have changed
//! ```
//!
//! A [`Driver`] owns the plane, so that no step can be left out. Its holder provides [`Outlets`].

use crate::plane::{DataPlane, Departed, Discarded, Joined, Readings};
use alloc::vec::Vec;
use backwater_types::{ControlFrame, DropReason, Extension, Frame, Instant, Kind, Packet, PortId};

/// The holder's side of a driver: it has links and timers, and is notified of the fate of packets.
pub trait Outlets<E: Extension> {
    /// Whether a control frame leaves before the packet that caused it, as in ns-3.
    const FRAMES_FIRST: bool = false;
    /// Whether the link of `port` is free.
    fn is_free(&self, now: Instant, port: PortId) -> bool;
    /// Time when the link of `port`, which is busy, will be free.
    fn free_at(&self, port: PortId) -> Instant;
    /// Whether a poll of `port`, which is busy, is scheduled already. Redundant polls are harmless.
    #[inline(always)]
    fn awaits(&self, _port: PortId) -> bool {
        false
    }
    /// Schedules [`Driver::poll_due`] for `port` at `at`, in place of any earlier request; [`Instant::NEVER`]: cancels
    /// it.
    fn poll_at(&mut self, port: PortId, at: Instant);
    /// Schedules [`Driver::timer`] at `at`, in place of any earlier request; [`Instant::NEVER`]: cancels it. A
    /// redundant call is harmless.
    fn arm(&mut self, at: Instant);
    /// Puts `frame` on the link of `port`, which is free. Returns when the link is free again.
    fn send(&mut self, now: Instant, port: PortId, frame: &Frame<E>, departed: &Departed) -> Instant;
    /// Notifies that a packet joins a data queue.
    #[inline(always)]
    fn enqueued(&mut self, _now: Instant, _joined: Joined, _frame: &Frame<E>) {}
    /// Notifies that a packet bypasses a data queue, because its port is free and empty.
    #[inline(always)]
    fn passed(&mut self, now: Instant, joined: Joined, frame: &Frame<E>) {
        self.enqueued(now, joined, frame);
    }
    /// Notifies that a packet routed to `egress` was dropped on arrival.
    fn dropped(&mut self, now: Instant, egress: PortId, frame: &Frame<E>, reason: DropReason);
    /// Notifies that a packet that waited at `port` was dropped.
    fn discarded(&mut self, now: Instant, port: PortId, discarded: Discarded<E>, reason: DropReason);
}

/// A data plane, driven by the protocol.
#[derive(Clone, Debug)]
pub struct Driver<D> {
    plane: D,
    /// Ports to poll after the timer has run.
    to_poll: Vec<PortId>,
}

impl<D: DataPlane> Driver<D> {
    /// Creates the driver of `plane`.
    pub fn new(plane: D) -> Driver<D> {
        Driver { plane, to_poll: Vec::with_capacity(16) }
    }

    /// Handles a packet, not a control frame, that arrived by `ingress` and is routed to `egress`. The frame may be
    /// changed.
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
            && let Some(queue) = self.plane.pass(now, frame, ingress, egress)
        {
            if as_data {
                out.passed(now, Joined { ingress, egress, upstream_queue, queue, frame_on: None }, frame);
            }
            let queue = as_data.then_some(queue);
            out.send(now, egress, frame, &Departed { queue, entered: now, ..Departed::BESIDE_DATA });
            return;
        }
        let received = self.plane.receive(now, frame, ingress, egress);
        let frame_on = received.frame_on;
        if let Some(reason) = received.dropped {
            out.dropped(now, egress, frame, reason);
            // A notice to the sender may wait at the ingress.
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

    /// Polls the port of a queued packet, and the port with a control frame that the packet caused.
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

    /// Handles a neighbour's control frame that arrived by `port`.
    #[inline(always)]
    pub fn control(&mut self, now: Instant, port: PortId, frame: ControlFrame, out: &mut impl Outlets<D::Extension>) {
        self.plane.control(now, port, frame);
        out.arm(self.plane.next_timer());
        self.poll(now, port, out);
    }

    /// Runs the timer. Also called after all link changes of an instant.
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

    /// Handles the failure of the link of `port`, or its return if `up`. [`Driver::timer`] must be called after all
    /// changes of an instant.
    pub fn link_changed(&mut self, now: Instant, port: PortId, up: bool, out: &mut impl Outlets<D::Extension>) {
        match up {
            true => self.plane.link_up(now, port, &mut self.to_poll),
            false => self.plane.link_down(now, port, &mut self.to_poll),
        }
        self.drain(now, port, DropReason::LinkDown, out);
        self.to_poll.push(port);
    }

    /// Handles a scheduled poll of `port`.
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

    /// Sends if the link is free, else schedules a poll for the time when it is. A departing packet may cause a control
    /// frame at the port it arrived by, which is then polled in turn. A control frame never causes another.
    #[inline(always)]
    fn poll(&mut self, now: Instant, port: PortId, out: &mut impl Outlets<D::Extension>) {
        let mut next = Some(port);
        while let Some(port) = next {
            if !out.is_free(now, port) {
                // A port with credits may wait for a later time.
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

    /// Puts the next frame of `port` on its link. Returns the time of the port's next poll, or never, and the port with
    /// a control frame caused by the departure.
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

    /// Hands over packets that were dropped as they left their queue, or with their port.
    #[cold]
    fn drain(&mut self, now: Instant, port: PortId, reason: DropReason, out: &mut impl Outlets<D::Extension>) {
        for discarded in core::mem::take(self.plane.discarded()) {
            out.discarded(now, port, discarded, reason);
        }
    }

    /// Time of the next [`Driver::timer`].
    pub fn next_timer(&self) -> Instant {
        self.plane.next_timer()
    }

    /// Whether `port` has something to send, now or at a later time.
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

    /// Telemetry of the plane.
    pub fn readings(&self) -> &dyn Readings {
        self.plane.readings()
    }
}
