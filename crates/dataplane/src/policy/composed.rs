//! A policy composed of an independent assignment and backpressure.

use crate::assign::Assignment;
use crate::backpressure::{Backpressure, Upstream};
use crate::buffer::cells::Cells;
use crate::canonical::Canonical;
use crate::flow_table::NONE;
use crate::meta::{Assigned, Choice, Meta, Resident};
use crate::policy::{Outgoing, Policy};
use crate::port::Ports;
use crate::shape::Shape;
use alloc::string::String;
use backwater_types::hash::Stream;
use backwater_types::{ControlFrame, Extension, FlowName, Instant, Packet, PortId, QueueId};
use core::hash::Hasher;

/// An assignment and a backpressure that do not depend on each other.
#[derive(Clone, Debug)]
pub struct Composed<A: Assignment, B: Backpressure<A::Queues>> {
    assignment: A,
    backpressure: B,
    upstream: B::Upstream,
}

impl<A: Assignment, B: Backpressure<A::Queues>> Policy for Composed<A, B> {
    type Queues = A::Queues;
    type Params = (A::Params, B::Params);
    const SETS_TIMERS: bool = B::SETS_TIMERS;

    fn queues(params: &Self::Params, shape: &Shape) -> A::Queues {
        A::queues(&params.0, shape)
    }

    fn new(params: &Self::Params, shape: &Shape) -> Self {
        Composed {
            assignment: A::new(&params.0, shape),
            backpressure: B::new(&params.1, shape),
            upstream: B::upstream(&params.1, shape),
        }
    }

    #[inline(always)]
    fn choose(
        &self,
        now: Instant,
        packet: &Packet,
        ingress: PortId,
        port: PortId,
        queues: &A::Queues,
        rng: &mut Stream,
    ) -> Choice {
        self.assignment.choose(now, packet, ingress, port, queues, rng)
    }

    #[inline(always)]
    fn adjust(&self, choice: Choice, left: u64, queues: &A::Queues) -> Choice {
        self.assignment.adjust(choice, left, queues)
    }

    #[inline(always)]
    fn prefetch(&self, packet: &Packet, ingress: PortId, port: PortId) -> u32 {
        self.assignment.prefetch(packet, ingress, port)
    }

    #[inline(always)]
    fn admits(&self, ingress: PortId, packet: &Packet) -> bool {
        self.backpressure.admits(ingress, packet)
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
        held: &mut Meta,
        port: PortId,
        choice: &mut Choice,
        queues: &A::Queues,
    ) -> Option<Outgoing> {
        self.assignment.on_enqueue(now, packet, held, port, *choice, queues);
        let frame = self.backpressure.on_enqueue(now, packet, held, port, choice.queue, queues);
        frame.map(|frame| (held.ingress as PortId, frame))
    }

    #[inline(always)]
    fn on_dequeue(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        port: PortId,
        queue: QueueId,
    ) -> Option<Outgoing> {
        self.assignment.on_dequeue(now, held, port, queue);
        let frame = self.backpressure.on_dequeue(now, packet, held, port, queue);
        frame.map(|frame| (held.ingress as PortId, frame))
    }

    fn on_lost(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        port: PortId,
        queue: QueueId,
    ) -> Option<Outgoing> {
        self.assignment.on_dequeue(now, held, port, queue);
        let frame = self.backpressure.on_lost(now, packet, held, port, queue);
        frame.map(|frame| (held.ingress as PortId, frame))
    }

    #[inline(always)]
    fn passes(&self, ingress: PortId, packet: &Packet) -> bool {
        self.backpressure.passes(ingress, packet)
    }

    #[inline(always)]
    fn on_pass(
        &mut self,
        now: Instant,
        packet: &Packet,
        held: &Meta,
        port: PortId,
        choice: Choice,
        queues: &A::Queues,
    ) {
        self.assignment.on_enqueue(now, packet, held, port, choice, queues);
        self.assignment.on_dequeue(now, held, port, choice.queue);
    }

    fn on_control(
        &mut self,
        now: Instant,
        port: PortId,
        frame: ControlFrame,
        queues: &mut A::Queues,
        _cells: &mut Cells<impl Extension>,
    ) {
        self.upstream.on_control(now, port, frame, queues);
        self.backpressure.on_control(now, port, frame);
    }

    #[inline(always)]
    fn lets_pass(&self, _choice: Choice) -> bool {
        true
    }

    fn record_of(&self, _port: PortId, _flow: FlowName) -> u32 {
        NONE
    }

    #[inline(always)]
    fn may_send(&self, port: PortId) -> bool {
        self.upstream.may_send(port)
    }

    #[inline(always)]
    fn on_sent(&mut self, now: Instant, port: PortId, queue: QueueId, packet: &Packet, queues: &mut A::Queues) {
        self.upstream.on_sent(now, port, queue, packet, queues);
        self.backpressure.on_gone(now, port, queue, queues);
    }

    #[inline(always)]
    fn next_timer(&self) -> Instant {
        self.backpressure.next_refresh().min(self.upstream.next_timer())
    }

    fn on_timer(&mut self, now: Instant, ports: &mut Ports<'_, A::Queues, impl Extension>) {
        if self.upstream.next_timer() <= now {
            self.upstream.on_timer(now, ports);
        }
        if self.backpressure.next_refresh() <= now {
            self.backpressure.refresh(now, &mut |port, frame| ports.send(port, frame));
        }
    }

    fn on_link_down(&mut self, _now: Instant, port: PortId, ports: &mut Ports<'_, A::Queues, impl Extension>) {
        self.upstream.release(port, ports.open(port).0);
    }

    fn on_link_up(&mut self, now: Instant, port: PortId, ports: &mut Ports<'_, A::Queues, impl Extension>) {
        self.upstream.on_link_up(now, port);
        self.backpressure.state_of(now, port, &mut |frame| ports.send(port, frame));
    }

    fn active_flows(&self, port: PortId) -> Option<u32> {
        self.assignment.active_flows(port)
    }

    fn assigned(&self, port: PortId) -> Assigned {
        self.assignment.assigned(port)
    }

    fn audit(&self, residents: &[Resident], queues: &[&A::Queues]) -> Result<(), String> {
        self.assignment.audit(residents)?;
        self.backpressure.audit(residents)?;
        self.upstream.audit(queues)
    }
}

impl<A, B> Canonical for Composed<A, B>
where
    A: Assignment + Canonical,
    B: Backpressure<A::Queues, Upstream: Canonical> + Canonical,
{
    fn canonical(&self, now: Instant, state: &mut impl Hasher) {
        self.assignment.canonical(now, state);
        self.backpressure.canonical(now, state);
        self.upstream.canonical(now, state);
    }

    fn owner(&self, tag: u32) -> u64 {
        self.assignment.owner(tag)
    }
}
