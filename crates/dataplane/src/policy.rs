//! A policy: what a scheme decides in a switch.
//!
//! It has no queue, buffer or wire of its own and sees those of the switch through what it is given. Where assignment and
//! backpressure do not know of each other a policy is a [`Composed`] of the two; FlowSail's share their flow records and are one.

use crate::assign::{Assigned, Assignment, Choice, Resident};
use crate::backpressure::Backpressure;
use crate::canonical::Canonical;
use crate::cells::{Cells, Held};
use crate::queues::Queues;
use crate::switch::{Port, Shape};
use alloc::string::String;
use alloc::vec::Vec;
use backwater_types::hash::Stream;
use backwater_types::{ControlFrame, Instant, Packet, PortId, QueueId};
use core::hash::Hasher;

/// A frame, and the port it goes out of.
pub type Told = (PortId, ControlFrame);

/// A scheme's decisions.
pub trait Policy: Clone + Send + 'static {
    /// The queues it needs at each port.
    type Queues: Queues;
    /// Its parameters.
    type Params;
    /// For a switch of this shape.
    fn new(params: &Self::Params, shape: &Shape) -> Self;
    /// Cells it may fill beyond those of packets.
    fn extra_cells(_params: &Self::Params) -> usize {
        0
    }
    /// The queue for `packet` at egress `port`. Pure: the buffer may still refuse the packet.
    fn choose(&self, now: Instant, packet: &Packet, port: PortId, queues: &Self::Queues, rng: &mut Stream) -> Choice;
    /// Reads what [`Policy::choose`] will read first of a flow, so that it is near by then: in large networks most of the time
    /// goes into waiting for it.
    #[inline(always)]
    fn touch(&self, _packet: &Packet) -> u32 {
        0
    }
    /// Whether its own accounting has room for `wire` bytes from `ingress`.
    fn admits(&self, _ingress: PortId, _wire: u64) -> bool {
        true
    }
    /// Whether this packet takes part in bookkeeping (spec B, sampling).
    #[inline(always)]
    fn samples(&self, _rng: &mut Stream) -> bool {
        true
    }
    /// The buffer took the packet, which is about to join the queue chosen; that may still be changed, and what is kept with
    /// the packet completed. The queues are given without it. A frame to send.
    fn on_enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &mut Held,
        port: PortId,
        choice: &mut Choice,
        queues: &Self::Queues,
    ) -> Option<Told>;
    /// The packet has joined `queue`.
    #[inline(always)]
    fn on_joined(&mut self, _port: PortId, _queue: QueueId, _queues: &mut Self::Queues, _cells: &mut Cells) {}
    /// The packet starts its transmission. A frame to send.
    fn on_dequeue(&mut self, now: Instant, packet: &Packet, held: &Held, port: PortId, queue: QueueId) -> Option<Told>;
    /// The packet has gone, and `queue` shows what was behind it.
    #[inline(always)]
    fn on_gone(&mut self, _port: PortId, _queue: QueueId, _queues: &mut Self::Queues, _cells: &mut Cells) {}
    /// Whether a packet of `wire` bytes from `ingress` that finds its port empty, and leaves at once, would leave no trace: no
    /// frame sent, all counters as before.
    #[inline(always)]
    fn passes(&self, _ingress: PortId, _wire: u64) -> bool {
        true
    }
    /// Whether a packet that finds its port empty may leave at once, where that hangs on more than its queue.
    #[inline(always)]
    fn lets_pass(&self, _choice: Choice) -> bool {
        true
    }
    /// A packet passes through the queue chosen at a port that holds nothing.
    fn on_pass(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Held,
        port: PortId,
        choice: Choice,
        queues: &Self::Queues,
    );
    /// A neighbour's frame came in by `port`.
    fn on_control(
        &mut self,
        now: Instant,
        port: PortId,
        frame: ControlFrame,
        queues: &mut Self::Queues,
        cells: &mut Cells,
    );
    /// When [`Policy::on_timer`] wants to run next.
    fn next_timer(&self) -> Instant {
        Instant::NEVER
    }
    /// Repeats state that a lost frame may have left wrong, and lets lapse what was not repeated.
    fn on_timer(&mut self, _now: Instant, _ports: &mut Ports<'_, Self::Queues>) {}
    /// The link of `port` went down: nothing holds its queues.
    fn on_link_down(&mut self, _now: Instant, _port: PortId, _ports: &mut Ports<'_, Self::Queues>) {}
    /// The link of `port` came up, with nothing held: the neighbour is to be told this switch's state.
    fn on_link_up(&mut self, _now: Instant, _port: PortId, _ports: &mut Ports<'_, Self::Queues>) {}
    /// Flows with packets in `port`, if the policy knows.
    fn active_flows(&self, _port: PortId) -> Option<u32> {
        None
    }
    /// Counts at `port`.
    fn assigned(&self, _port: PortId) -> Assigned {
        Assigned::default()
    }
    /// Flows kept apart from the others because a neighbour paused them.
    fn isolated_flows(&self) -> u32 {
        0
    }
    /// Compares its state with a recount over all that the queues of the ports hold, in order.
    fn audit(&self, _residents: &[Resident], _queues: &[&Self::Queues]) -> Result<(), String> {
        Ok(())
    }
}

/// The ports of a switch, as a policy sees them outside the path of packets.
pub struct Ports<'a, Q> {
    pub(crate) ports: &'a mut [Port<Q>],
    pub(crate) cells: &'a mut Cells,
    pub(crate) pfc_frame: u16,
    /// Ports that may have something to send now.
    pub(crate) kicked: &'a mut Vec<PortId>,
}

impl<Q> Ports<'_, Q> {
    /// Sends a frame out of `port`.
    pub fn send(&mut self, port: PortId, frame: ControlFrame) {
        self.ports[port as usize].queue_frame(frame, self.pfc_frame);
        self.kicked.push(port);
    }

    /// The queues of `port`, of which some may be opened, and the cells they are made of.
    pub fn open(&mut self, port: PortId) -> (&mut Q, &mut Cells) {
        self.kicked.push(port);
        (&mut self.ports[port as usize].queues, self.cells)
    }
}

/// An assignment and a backpressure that do not know of each other.
#[derive(Clone, Debug)]
pub struct Composed<A, B> {
    assignment: A,
    backpressure: B,
}

impl<A: Assignment, B: Backpressure<A::Queues>> Policy for Composed<A, B> {
    type Queues = A::Queues;
    type Params = (A::Params, B::Params);

    fn new(params: &Self::Params, shape: &Shape) -> Self {
        Composed { assignment: A::new(&params.0, shape), backpressure: B::new(&params.1, shape) }
    }

    #[inline(always)]
    fn choose(&self, now: Instant, packet: &Packet, port: PortId, queues: &A::Queues, rng: &mut Stream) -> Choice {
        self.assignment.choose(now, packet, port, queues, rng)
    }

    #[inline(always)]
    fn admits(&self, ingress: PortId, wire: u64) -> bool {
        self.backpressure.admits(ingress, wire)
    }

    #[inline(always)]
    fn samples(&self, rng: &mut Stream) -> bool {
        self.backpressure.samples(rng)
    }

    #[inline(always)]
    fn on_enqueue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &mut Held,
        port: PortId,
        choice: &mut Choice,
        queues: &A::Queues,
    ) -> Option<Told> {
        self.assignment.on_enqueue(now, packet, held, port, *choice, queues);
        let frame = self.backpressure.on_enqueue(now, packet, held, port, choice.queue, queues);
        frame.map(|frame| (held.ingress as PortId, frame))
    }

    #[inline(always)]
    fn on_dequeue(&mut self, now: Instant, packet: &Packet, held: &Held, port: PortId, queue: QueueId) -> Option<Told> {
        self.assignment.on_dequeue(now, held, port, queue);
        let frame = self.backpressure.on_dequeue(now, packet.wire, held);
        frame.map(|frame| (held.ingress as PortId, frame))
    }

    #[inline(always)]
    fn passes(&self, ingress: PortId, wire: u64) -> bool {
        self.backpressure.passes(ingress, wire)
    }

    #[inline(always)]
    fn on_pass(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Held,
        port: PortId,
        choice: Choice,
        queues: &A::Queues,
    ) {
        self.assignment.on_enqueue(now, packet, held, port, choice, queues);
        self.assignment.on_dequeue(now, held, port, choice.queue);
    }

    fn on_control(
        &mut self,
        _now: Instant,
        _port: PortId,
        frame: ControlFrame,
        queues: &mut A::Queues,
        _cells: &mut Cells,
    ) {
        B::obey(frame, queues);
    }

    #[inline(always)]
    fn next_timer(&self) -> Instant {
        self.backpressure.next_refresh()
    }

    fn on_timer(&mut self, now: Instant, ports: &mut Ports<'_, A::Queues>) {
        self.backpressure.refresh(now, &mut |port, frame| ports.send(port, frame));
    }

    fn on_link_down(&mut self, _now: Instant, port: PortId, ports: &mut Ports<'_, A::Queues>) {
        B::release(ports.open(port).0);
    }

    fn on_link_up(&mut self, now: Instant, port: PortId, ports: &mut Ports<'_, A::Queues>) {
        if let Some(frame) = self.backpressure.state_of(now, port) {
            ports.send(port, frame);
        }
    }

    fn active_flows(&self, port: PortId) -> Option<u32> {
        self.assignment.active_flows(port)
    }

    fn assigned(&self, port: PortId) -> Assigned {
        self.assignment.assigned(port)
    }

    fn audit(&self, residents: &[Resident], _queues: &[&A::Queues]) -> Result<(), String> {
        self.assignment.audit(residents)?;
        self.backpressure.audit(residents)
    }
}

impl<A: Canonical, B: Canonical> Canonical for Composed<A, B> {
    fn canonical(&self, now: Instant, state: &mut impl Hasher) {
        self.assignment.canonical(now, state);
        self.backpressure.canonical(now, state);
    }

    fn owner(&self, tag: u32) -> u64 {
        self.assignment.owner(tag)
    }
}
