//! A switch: choose a queue, admit to the buffer, count; schedule, count, mark, send.
//!
//! The order "choose, admit, count" lets a dropped packet leave no trace in any table. Control frames and then ACKs go
//! before data at every port and are exempt from the buffer (BFC-A13), unless the shape puts ACKs among the data.
//! Credits go between ACKs and data once their time has come; until then data goes. A switch may notify senders of
//! dropped data by a [`Kind::DropNotice`], which is sent like an ACK.

use crate::buffer::cells::Cells;
use crate::buffer::ring::Ring;
use crate::buffer::{Buffer, Pool};
use crate::canonical::Canonical;
use crate::hardware::Recirculated;
use crate::marking::Ns3Draws;
use crate::meta::{Assigned, Choice, Meta, Resident};
use crate::plane::{DataPlane, Departed, Discarded, Readings, Received, Sent};
use crate::policy::Policy;
use crate::port::{Port, Ports};
use crate::queues::{PausableQueues, Queues};
use crate::shape::{DownQueues, MarkingShape, Shape};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use backwater_types::hash::{self, Stream};
use backwater_types::{
    ControlFrame, DropReason, Extension, FlowName, Frame, Instant, Kind, LinkShape, Packet, PortId, QueueId, flags,
};
use core::hash::{Hash, Hasher};

/// A switch with policy `P`, for packets with metadata `E`.
#[derive(Clone, Debug)]
pub struct Switch<P: Policy, E: Extension = ()> {
    ports: Vec<Port<P::Queues, E>>,
    cells: Cells<E>,
    buffer: Buffer,
    policy: P,
    rng: Stream,
    /// Random numbers of ns-3, where marks use them.
    ns3: Option<Box<Ns3Draws>>,
    marking: MarkingShape,
    /// Packets dropped after admission and not taken by the holder yet.
    discarded: Vec<Discarded<E>>,
    acks_with_data: bool,
    discards_paused: bool,
    drop_notice: Option<u16>,
    pfc_frame: u16,
    down_queues: DownQueues,
}

impl<P: Policy, E: Extension> Switch<P, E> {
    /// Creates a switch. Allocates all memory, if the buffer has room for no more packets than [`Shape::cells_ahead`].
    pub fn new(shape: &Shape, params: &P::Params) -> Switch<P, E> {
        let buffer = Buffer::new(shape.buffer, shape.alpha, shape.ports.len(), &shape.memory);
        let cells =
            buffer.capacity().map_or(4096, |bytes| (bytes / shape.smallest_packet as u64 + 1).min(shape.cells_ahead));
        // Switches are compiled for many policies and extensions, so what runs once is written as loops: the adapters
        // of iterators would be compiled for each of them.
        let mut ports = Vec::with_capacity(shape.ports.len());
        for (number, p) in shape.ports.iter().enumerate() {
            ports.push(Port {
                queues: P::queues(params, shape),
                control: Ring::default(),
                acks: Ring::default(),
                mmu: buffer.mmu(number as PortId),
                red: p.red,
                telemetry: E::port(&link(shape, number)),
            });
        }
        Switch {
            ports,
            cells: Cells::new(cells as usize + P::extra_cells(params), shape.stamp),
            buffer,
            policy: P::new(params, shape),
            rng: Stream::new(shape.seed, 0x7377, 0),
            ns3: shape.ns3.clone().map(|streams| Box::new(Ns3Draws::new(streams))),
            marking: shape.marking,
            discarded: Vec::new(),
            acks_with_data: shape.acks_with_data,
            discards_paused: shape.discards_paused,
            drop_notice: shape.drop_notice,
            pfc_frame: shape.pfc_frame,
            down_queues: shape.down_queues,
        }
    }

    fn queue_frame(&mut self, port: PortId, frame: ControlFrame) -> PortId {
        if let Some(draws) = &mut self.ns3 {
            // ns-3 uses a random number here for a frame's identification.
            draws.skip();
        }
        self.ports[port as usize].queue_frame(frame, self.pfc_frame);
        port
    }

    /// Drops an arriving packet. Where senders are notified of drops, a notice goes back to the ingress, behind control
    /// frames and ACKs that wait there. Replies to data cause no notice, nor do datagrams, which are never
    /// retransmitted.
    #[cold]
    fn refuse(&mut self, packet: &Packet, ingress: PortId, reason: DropReason) -> Received {
        let outgoing = self.drop_notice.filter(|_| packet.kind == Kind::Data && !packet.has(flags::DATAGRAM));
        if let Some(wire) = outgoing {
            let (dst, src) = (packet.src, packet.dst);
            // The notice is a packet of its own, so it does not own the frame of the one that was dropped.
            let receiver_slot = Packet::NO_FRAME;
            let notice = Packet { kind: Kind::DropNotice, dst, src, wire, receiver_slot, flags: 0, ..*packet };
            self.ports[ingress as usize].acks.push_back(notice.into());
        }
        Received { dropped: Some(reason), frame_on: outgoing.map(|_| ingress), ..Received::BESIDE_DATA }
    }

    /// Drops all packets that wait at `port`. Appends ports that may now have something to send to `to_poll`.
    #[cold]
    fn empty(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        let p = &mut self.ports[port as usize];
        (p.control, p.acks) = (Ring::default(), Ring::default());
        while let Some((queue, cell)) = self.ports[port as usize].queues.pop_at(now, &self.cells) {
            let p = &mut self.ports[port as usize];
            let (frame, held) = (*self.cells.frame(cell), self.cells.held(cell));
            self.buffer.release(p.mmu, port, queue, p.queues.bytes(queue), frame.wire as u64);
            self.discarded.push(Discarded { frame, entered: self.cells.entered(cell) });
            let outgoing = self.policy.on_lost(now, &frame, &held, port, queue);
            self.cells.free(cell);
            self.policy.on_gone(port, queue, &mut p.queues, &mut self.cells);
            if let Some((ingress, frame)) = outgoing {
                to_poll.push(self.queue_frame(ingress, frame));
            }
        }
    }

    fn parts<'a>(&'a mut self, to_poll: &'a mut Vec<PortId>) -> (&'a mut P, Ports<'a, P::Queues, E>) {
        let (ports, cells, pfc_frame) = (&mut self.ports[..], &mut self.cells, self.pfc_frame);
        (&mut self.policy, Ports { ports, cells, pfc_frame, to_poll })
    }

    /// Replaces the random stream, for model checkers.
    pub fn redraw(&mut self, draws: Stream) {
        self.rng = draws;
    }

    /// State that determines future behaviour, for model checkers (see [`crate::canonical`]).
    pub fn canonical<const W: usize>(&self, now: Instant, state: &mut impl Hasher)
    where
        P: Policy<Queues = PausableQueues<W>> + Canonical,
    {
        for port in &self.ports {
            port.queues.canonical(state);
            port.queues.visit(&self.cells, &mut |queue, packet, held| {
                (true, queue, packet, self.policy.owner(held.tag)).hash(state);
                (held.upstream_queue, held.ingress, held.counted, held.sampled).hash(state);
            });
            false.hash(state);
            for frames in [&port.control, &port.acks] {
                frames.len().hash(state);
                frames.iter().for_each(|frame| frame.packet.hash(state));
            }
        }
        self.rng.hash(state);
        self.policy.canonical(now, state);
    }

    /// The policy of the switch.
    pub fn policy(&self) -> &P {
        &self.policy
    }
}

/// Returns the properties of the link of `port` that extensions use.
fn link(shape: &Shape, port: usize) -> LinkShape {
    LinkShape {
        rate: shape.ports[port].rate,
        transport: shape.transport,
        int_unit: shape.int_unit,
        tag: Stream::new(shape.seed, 0x7461, port as u64).next_u32() as u16,
        credits: shape.credits,
        pint: shape.pint.clone(),
        seed: hash::stream(shape.seed, 0x7069_6e74, port as u64),
    }
}

impl<P: Policy, E: Extension> DataPlane for Switch<P, E> {
    type Extension = E;

    #[inline(always)]
    fn receive(&mut self, now: Instant, packet: &Frame<E>, ingress: PortId, egress: PortId) -> Received {
        let port = &mut self.ports[egress as usize];
        if E::CREDITED && packet.kind == Kind::Credit {
            let held = E::hold(&mut port.telemetry, packet);
            return Received { dropped: (!held).then_some(DropReason::Credit), ..Received::BESIDE_DATA };
        }
        if packet.kind != Kind::Data && !self.acks_with_data {
            port.acks.push_back(*packet);
            return Received::BESIDE_DATA;
        }
        let wire = packet.wire as u64;
        self.policy.catch_up(now);
        let mut choice = self.policy.choose(now, packet, ingress, egress, &port.queues, &mut self.rng);
        if E::TELLS_LEFT {
            choice = self.policy.adjust(choice, packet.left(), &port.queues);
        }
        if let Err(why) = self.buffer.admits(port.mmu, egress, choice.queue, port.queues.bytes(choice.queue), wire) {
            self.buffer.refuse(port.mmu, why);
            return self.refuse(packet, ingress, DropReason::Buffer);
        }
        if !self.policy.admits(ingress, packet) {
            return self.refuse(packet, ingress, DropReason::Headroom);
        }
        if self.discards_paused && port.queues.is_paused(choice) {
            return self.refuse(packet, ingress, DropReason::Paused);
        }
        self.buffer.charge(port.mmu, egress, choice.queue, wire);
        let mut held = Meta::new(packet, ingress, choice.tag, self.policy.samples(&mut self.rng));
        let outgoing = self.policy.on_enqueue(now, packet, &mut held, egress, &mut choice, &port.queues);
        port.queues.push(&mut self.cells, choice.queue, packet, held, now);
        self.policy.on_joined(egress, choice.queue, &mut port.queues, &mut self.cells);
        let frame_on = outgoing.map(|(port, frame)| self.queue_frame(port, frame));
        let timer_changed = P::SETS_TIMERS || frame_on.is_some();
        Received { dropped: None, queue: choice.queue, frame_on, timer_changed }
    }

    fn transmit(&mut self, now: Instant, port: PortId) -> Option<Sent<E>> {
        let mut packet = None;
        let departed = self.transmit_with(now, port, &mut |sent, _| packet = Some(*sent))?;
        let Departed { queue, frame_on, timer_changed, entered } = departed;
        packet.map(|packet| Sent { packet, queue, frame_on, timer_changed, entered })
    }

    fn transmit_with(
        &mut self,
        now: Instant,
        port: PortId,
        out: &mut dyn FnMut(&Frame<E>, &Departed),
    ) -> Option<Departed> {
        self.transmit_to(now, port, out)
    }

    #[inline(always)]
    fn transmit_to(&mut self, now: Instant, port: PortId, out: impl FnOnce(&Frame<E>, &Departed)) -> Option<Departed> {
        let p = &mut self.ports[port as usize];
        for queue in [&mut p.control, &mut p.acks] {
            if let Some(packet) = queue.front() {
                let (wire, departed) = (packet.wire, Departed::BESIDE_DATA);
                out(packet, &departed);
                queue.drop_front();
                E::sent(&mut p.telemetry, now, wire);
                return Some(departed);
            }
        }
        if E::CREDITED
            && let Some(credit) = E::release(&mut p.telemetry, now)
        {
            let departed = Departed::BESIDE_DATA;
            out(&credit, &departed);
            E::sent(&mut p.telemetry, now, credit.wire);
            return Some(departed);
        }
        if !self.policy.may_send(port) {
            return None;
        }
        let (queue, cell) = loop {
            let (queue, cell) = p.queues.pop_at(now, &self.cells)?;
            let packet = self.cells.frame(cell);
            let (wire, left) = (packet.wire as u64, p.queues.bytes(queue));
            self.buffer.release(p.mmu, port, queue, left, wire);
            if !packet.has(flags::ECT) && !self.marking.drops_not_ect {
                if let Some(draws) = &mut self.ns3 {
                    // ns-3 marks ACKs too; nobody reads these marks.
                    p.red.marks_as_ns3(left, wire, draws);
                }
                break (queue, cell);
            }
            // Both rules are evaluated in any case: with uniform spacing each counts every packet.
            let covered = self.marking.exempt == 0 || self.marking.exempt >> queue & 1 == 0;
            let length = if self.marking.per_port { p.queues.all_bytes() } else { left };
            let by_queue = covered
                && match &mut self.ns3 {
                    Some(draws) => p.red.marks_as_ns3(length, wire, draws),
                    None => p.red.marks(length, wire, &mut self.rng),
                };
            let by_pool =
                self.buffer.marks(p.mmu, port, wire, &mut self.rng) && (covered || !self.marking.pool_exempts);
            if !by_queue && !by_pool {
                break (queue, cell);
            }
            if packet.has(flags::ECT) {
                packet.flags |= flags::CE;
                self.buffer.marked(p.mmu, by_queue);
                break (queue, cell);
            }
            self.discarded.push(Discarded { frame: *packet, entered: self.cells.entered(cell) });
            let held = self.cells.held(cell);
            let outgoing = self.policy.on_dequeue(now, self.cells.frame(cell), &held, port, queue);
            debug_assert!(
                outgoing.is_none(),
                "a backpressure has a frame for a packet dropped at dequeue: scenarios exclude it"
            );
            self.cells.free(cell);
            self.policy.on_gone(port, queue, &mut p.queues, &mut self.cells);
        };
        let (held, entered) = (self.cells.held(cell), self.cells.entered(cell));
        let packet = self.cells.frame(cell);
        p.stamp(now, packet);
        let outgoing = self.policy.on_dequeue(now, packet, &held, port, queue);
        let frame_on = outgoing.map(|(port, _)| port);
        let timer_changed = P::SETS_TIMERS || frame_on.is_some();
        let departed = Departed { queue: Some(queue), frame_on, timer_changed, entered };
        out(packet, &departed);
        self.policy.on_sent(now, port, queue, packet, &mut p.queues);
        self.cells.free(cell);
        self.policy.on_gone(port, queue, &mut p.queues, &mut self.cells);
        if let Some((port, frame)) = outgoing {
            self.queue_frame(port, frame);
        }
        Some(departed)
    }

    #[inline(always)]
    fn pass(&mut self, now: Instant, packet: &mut Frame<E>, ingress: PortId, egress: PortId) -> Option<QueueId> {
        let port = &mut self.ports[egress as usize];
        if !port.acks.is_empty() || !port.control.is_empty() {
            return None;
        }
        if E::CREDITED {
            if packet.kind == Kind::Credit {
                return E::passes(&mut port.telemetry, now, packet.wire).then_some(packet.upstream_queue);
            }
            // A credit whose time has come goes before data.
            if packet.kind == Kind::Data && E::credit_due(&port.telemetry) <= now {
                return None;
            }
        }
        if packet.kind != Kind::Data && !self.acks_with_data {
            E::sent(&mut port.telemetry, now, packet.wire);
            return Some(packet.upstream_queue);
        }
        let wire = packet.wire as u64;
        if !self.policy.may_send(egress) || !port.queues.is_empty() {
            return None;
        }
        if !self.policy.passes(ingress, packet) {
            return None;
        }
        let choice = self.policy.choose(now, packet, ingress, egress, &port.queues, &mut self.rng);
        // The pool's rule matters only for packets that can be marked, or dropped instead. The port's rule sees an
        // empty queue.
        let asked = packet.has(flags::ECT) || self.marking.drops_not_ect;
        if !self.policy.lets_pass(choice)
            || !self.buffer.passes(port.mmu, egress, choice.queue, wire, asked)
            || !port.queues.pass(choice)
        {
            return None;
        }
        if asked {
            port.red.is_below(0);
        }
        self.buffer.passed(port.mmu, egress, choice.queue, wire);
        port.stamp(now, packet);
        let held = Meta::new(packet, ingress, choice.tag, self.policy.samples(&mut self.rng));
        self.policy.on_pass(now, packet, &held, egress, choice, &port.queues);
        self.policy.on_sent(now, egress, choice.queue, packet, &mut port.queues);
        packet.upstream_queue = choice.queue;
        Some(choice.queue)
    }

    #[inline(always)]
    fn prefetch(&self, packet: &Packet, ingress: PortId, egress: PortId) -> u32 {
        self.policy.prefetch(packet, ingress, egress)
    }

    fn prefetch_ports(&self) -> u64 {
        let mut sum = 0u64;
        for port in &self.ports {
            sum = sum.wrapping_add(port.queues.bytes(0));
        }
        sum
    }

    #[inline(always)]
    fn queues_as_data(&self, kind: Kind) -> bool {
        kind == Kind::Data || self.acks_with_data && !(E::CREDITED && kind == Kind::Credit)
    }

    #[inline(always)]
    fn sendable(&self, port: PortId) -> bool {
        let p = &self.ports[port as usize];
        !p.acks.is_empty()
            || !p.control.is_empty()
            || (self.policy.may_send(port) && p.queues.sendable())
            || self.due(port) != Instant::NEVER
    }

    #[inline(always)]
    fn due(&self, port: PortId) -> Instant {
        if E::CREDITED { E::credit_due(&self.ports[port as usize].telemetry) } else { Instant::NEVER }
    }

    fn control(&mut self, now: Instant, port: PortId, frame: ControlFrame) {
        let queues = &mut self.ports[port as usize].queues;
        self.policy.on_control(now, port, frame, queues, &mut self.cells);
    }

    #[inline(always)]
    fn next_timer(&self) -> Instant {
        self.policy.next_timer()
    }

    // Repeats pauses and ends pauses that were not repeated. Appends ports that may now have something to send to
    // `to_poll`.
    fn timer(&mut self, now: Instant, to_poll: &mut Vec<PortId>) {
        let (policy, mut ports) = self.parts(to_poll);
        policy.on_timer(now, &mut ports);
    }

    // Handles the failure of the link of `port`. Pauses of its queues end; packets drain and are lost, with their
    // departures booked.
    fn link_down(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        let (policy, mut ports) = self.parts(to_poll);
        policy.on_link_down(now, port, &mut ports);
        if self.down_queues != DownQueues::Drain {
            self.empty(now, port, to_poll);
        }
    }

    // Handles the return of the link of `port`, with nothing paused: sends the neighbour this switch's state.
    fn link_up(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        self.link_down(now, port, to_poll);
        let (policy, mut ports) = self.parts(to_poll);
        policy.on_link_up(now, port, &mut ports);
    }

    #[inline(always)]
    fn discarded(&mut self) -> &mut Vec<Discarded<E>> {
        &mut self.discarded
    }

    fn readings(&self) -> &dyn Readings {
        self
    }
}

impl<P: Policy, E: Extension> Readings for Switch<P, E> {
    fn buffered(&self) -> u64 {
        self.buffer.used()
    }

    fn queued(&self, port: PortId) -> u64 {
        self.ports[port as usize].queues.all_bytes()
    }

    fn visit(&self, see: &mut dyn FnMut(PortId, QueueId, &Packet, Meta)) {
        for (p, port) in self.ports.iter().enumerate() {
            port.queues.visit(&self.cells, &mut |queue, packet, held| see(p as PortId, queue, packet, held));
        }
    }

    fn pools(&self) -> &[Pool] {
        self.buffer.pools()
    }

    fn mmu(&self, port: PortId) -> u8 {
        self.ports[port as usize].mmu
    }

    fn active_flows(&self, port: PortId) -> Option<u32> {
        self.policy.active_flows(port)
    }

    fn assigned(&self, port: PortId) -> Assigned {
        self.policy.assigned(port)
    }

    fn isolated_flows(&self) -> u32 {
        self.policy.isolated_flows()
    }

    fn is_held(&self, port: PortId, queue: QueueId, flow: FlowName) -> bool {
        let choice = Choice { queue, tag: self.policy.record_of(port, flow), fresh: false };
        !self.policy.may_send(port) || self.ports[port as usize].queues.is_paused(choice)
    }

    fn recirculated(&self) -> Recirculated {
        self.policy.recirculated()
    }

    fn audit(&self) -> Result<(), String> {
        let (mut residents, mut held, mut queues) = (Vec::new(), Vec::new(), Vec::new());
        for (p, port) in self.ports.iter().enumerate() {
            let mut bytes = Vec::new();
            port.queues.visit(&self.cells, &mut |queue, packet, held| {
                residents.push(Resident { port: p as PortId, queue, packet: *packet, held });
                bytes.resize(bytes.len().max(queue as usize + 1), 0u64);
                bytes[queue as usize] += packet.wire as u64;
            });
            for (queue, bytes) in bytes.into_iter().enumerate() {
                held.push((p as PortId, queue as QueueId, bytes));
            }
            queues.push(&port.queues);
        }
        self.buffer.audit(&held)?;
        self.policy.audit(&residents, &queues)
    }
}
