//! A host: flows, a NIC that pulls packets from them, and a receiver that answers.

use crate::host_port::{ARRIVAL, EndHost, HostPort, HostSetup, LINK, PORT, TIMER};
use crate::link::Fabric;
use crate::observe::Observer;
use crate::receivers::Receivers;
use crate::timers::Timers;
use crate::traffic::{Flow as Arrival, FlowKeys};
use backwater_dataplane::{NicQueues, Ring};
use backwater_transport::{Ack, Answer, Control, Receiver, Sender};
use backwater_types::hash::Stream;
use backwater_types::{ControlFrame, Duration, Instant, Kind, Packet, QueueId, SerTime, flags};
use std::collections::VecDeque;

/// What is the same for all hosts of a run.
#[derive(Clone, Debug)]
pub struct HostParams<P> {
    /// Parameters of end-to-end control.
    pub control: P,
    /// Payload of a full packet, bytes.
    pub payload: u64,
    /// Headers of a data packet, bytes.
    pub header: u64,
    /// Wire size of an ACK or NACK.
    pub ack: u16,
    /// Retransmission timeout.
    pub rto: Duration,
    /// A second NACK for the same packet waits this long.
    pub nack_guard: Duration,
    /// Time a received packet spends in the host.
    pub delay: Duration,
    /// A pause of the data class holds ACKs too.
    pub acks_paused: bool,
    /// Data packets are ECN-capable.
    pub ecn: bool,
    /// ACKs take the path of their data, reversed.
    pub symmetric: bool,
    /// `[workload]`: flags its packets carry.
    pub labels: Vec<u8>,
    /// `[workload]`: traffic class of its packets.
    pub priorities: Vec<u8>,
    /// `[workload]`: the rate at which an application writes datagrams, as transmission times.
    pub datagrams: Vec<Option<SerTime>>,
    /// Hosts hold flows that a switch has paused by name.
    pub obeys_flow_pauses: bool,
    /// A pause of a flow that is not repeated lapses after this; zero: never.
    pub lapse: Duration,
}

impl<P> HostParams<P> {
    /// Flags of a data packet of this class.
    #[inline(always)]
    pub fn flags(&self, class: u8, last: bool) -> u8 {
        self.labels[class as usize] | if last { flags::LAST } else { 0 } | if self.ecn { flags::ECT } else { 0 }
    }

    /// An ACK or NACK of `seq` by host `from`, for a data packet that came in.
    #[inline(always)]
    pub fn answer(&self, from: u16, keys: &FlowKeys, packet: &Packet, kind: Kind, seq: u32) -> Packet {
        Packet {
            kind,
            seq,
            dst: packet.src,
            src: from,
            wire: self.ack,
            key: if self.symmetric { packet.key } else { keys.answer(packet.key) },
            flags: packet.flags & flags::CE,
            ..*packet
        }
    }
}

/// What happened to a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    /// The last byte reached the receiver.
    Received {
        /// Flow number.
        flow: u32,
    },
    /// The last acknowledgement reached the sender.
    Acknowledged {
        /// Flow number.
        flow: u32,
        /// Packets sent again.
        retransmitted: u32,
        /// Timeouts of TCP.
        timeouts: u32,
    },
}

/// A host.
pub struct Host<C: Control> {
    port: HostPort,
    nic: NicQueues,
    keys: FlowKeys,
    acks: Ring<Packet>,
    flows: Vec<Flow<C>>,
    free: Vec<u32>,
    /// Flows that wait for their pace.
    paced: Timers,
    rto: Timers,
    /// Flows that a switch has paused.
    paused: Timers,
    receivers: Receivers<Receiver>,
    /// Packets inside the host for [`HostParams::delay`].
    delayed: VecDeque<(Instant, Packet)>,
    changes: VecDeque<Instant>,
    rng: Stream,
    /// `[workload]`: payload bytes of flows that were acknowledged to the end, and of datagrams received.
    finished_bytes: Vec<u64>,
}

struct Flow<C> {
    send: Sender,
    control: C,
    size: u64,
    id: u32,
    key: u32,
    receiver_slot: u32,
    /// Earliest start of its next packet.
    not_before: Instant,
    dst: u16,
    last_wire: u16,
    queue: QueueId,
    class: u8,
    /// Counts as a member of its NIC queue: it has unsent packets.
    joined: bool,
    /// In the ring of its NIC queue.
    ringed: bool,
    /// In `paced`.
    pacing: bool,
    /// Has an entry in `rto`.
    timed: bool,
    /// A switch has paused it, and when it last said so.
    paused: bool,
    paused_at: Instant,
    /// Has an entry in [`Host::paused`].
    lapsing: bool,
    /// Its application writes datagrams at this rate.
    datagrams: Option<SerTime>,
    live: bool,
}

impl<C: Control> EndHost for Host<C> {
    type Params = C::Params;

    fn new(mut port: HostPort, setup: HostSetup) -> Host<C> {
        let HostSetup { nic, red: _, classes, keys, seed, changes } = setup;
        port.tree.set(TIMER, changes.front().copied().unwrap_or(Instant::NEVER));
        Host {
            rng: Stream::new(seed, 0x6e69_6373, port.id as u64),
            port,
            nic,
            keys,
            acks: Ring::default(),
            flows: Vec::with_capacity(64),
            free: Vec::with_capacity(64),
            paced: Timers::default(),
            rto: Timers::default(),
            paused: Timers::default(),
            receivers: Receivers::default(),
            delayed: VecDeque::new(),
            changes,
            finished_bytes: vec![0; classes],
        }
    }

    #[inline(always)]
    fn port(&self) -> &HostPort {
        &self.port
    }

    #[inline(always)]
    fn port_mut(&mut self) -> &mut HostPort {
        &mut self.port
    }

    #[inline]
    fn run<O: Observer>(
        &mut self,
        end: Instant,
        params: &HostParams<C::Params>,
        fabric: &mut Fabric,
        finished: &mut impl FnMut(Instant, Finished),
        observer: &mut O,
    ) {
        while let Some((now, leaf)) = self.port.tree.first_before(end) {
            match leaf {
                LINK => {
                    let packet = self.port.take(fabric);
                    match packet.control() {
                        Some(frame) => {
                            observer.controlled(now, self.port.id as usize, 0, frame);
                            self.port.stats.held.on_control(now, frame);
                            self.nic.control(frame);
                            self.hold_flow(now, frame, params);
                            self.kick(now, params, fabric, observer);
                        }
                        None if params.delay > Duration::ZERO => {
                            self.delayed.push_back((now + params.delay, packet));
                            self.arm_timer();
                        }
                        None => self.receive(now, packet, params, fabric, finished, observer),
                    }
                }
                PORT => {
                    self.port.tree.set(PORT, Instant::NEVER);
                    self.transmit(now, params, fabric, observer);
                }
                ARRIVAL => {
                    while let Some(arrival) = self.port.arrival(now) {
                        self.start(now, arrival, params);
                    }
                    self.kick(now, params, fabric, observer);
                }
                _ => self.on_timer(now, params, fabric, finished, observer),
            }
        }
    }

    fn add_acknowledged(&self, params: &HostParams<C::Params>, sum: &mut [u64]) {
        self.finished_bytes.iter().zip(sum.iter_mut()).for_each(|(bytes, sum)| *sum += bytes);
        // Datagrams count where they arrive.
        for flow in self.flows.iter().filter(|f| f.live && f.datagrams.is_none() && !f.send.is_done()) {
            sum[flow.class as usize] += flow.send.acked as u64 * params.payload;
        }
    }
}

impl<C: Control> Host<C> {
    fn start(&mut self, now: Instant, arrival: Arrival, params: &HostParams<C::Params>) {
        let (total, last) = arrival.packets(params.payload);
        let flow = Flow {
            send: Sender::new(total, now),
            control: C::new(&params.control),
            size: arrival.size,
            id: arrival.id,
            key: self.keys.next(&arrival),
            receiver_slot: arrival.receiver_slot,
            not_before: now,
            dst: arrival.dst,
            last_wire: (last + params.header) as u16,
            queue: 0,
            class: arrival.class,
            joined: false,
            ringed: false,
            pacing: false,
            timed: false,
            paused: false,
            paused_at: now,
            lapsing: false,
            datagrams: params.datagrams[arrival.class as usize],
            live: true,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.flows[slot as usize] = flow;
                slot
            }
            None => {
                self.flows.push(flow);
                (self.flows.len() - 1) as u32
            }
        };
        self.offer(now, slot, params);
    }

    /// Puts the flow where it can be served from, if it may send: its queue's ring, or the pacing timer.
    #[inline(always)]
    fn offer(&mut self, now: Instant, slot: u32, params: &HostParams<C::Params>) {
        let flow = &mut self.flows[slot as usize];
        if flow.ringed || flow.pacing || !flow.may_send(params) {
            return;
        }
        if !flow.joined {
            flow.joined = true;
            flow.queue = self.nic.join(params.priorities[flow.class as usize], &mut self.rng);
        }
        if flow.not_before > now.max(self.port.busy_until) {
            flow.pacing = true;
            let entry = (flow.not_before, slot, flow.id);
            self.paced.push(entry);
            self.arm_timer();
        } else {
            flow.ringed = true;
            self.nic.make_ready(flow.queue, slot);
        }
    }

    /// A switch pauses or resumes one flow.
    fn hold_flow(&mut self, now: Instant, frame: ControlFrame, params: &HostParams<C::Params>) {
        let (name, paused) = match frame {
            ControlFrame::PauseFlow(name) if params.obeys_flow_pauses => (name, true),
            ControlFrame::ResumeFlow(name) => (name, false),
            _ => return,
        };
        let Some(flow) = self.flows.get_mut(name.slot as usize) else { return };
        if flow.id != name.flow || !flow.live {
            return;
        }
        (flow.paused, flow.paused_at) = (paused, now);
        if !paused {
            return self.offer(now, name.slot, params);
        }
        if params.lapse > Duration::ZERO && !flow.lapsing {
            flow.lapsing = true;
            self.paused.push_last((now + params.lapse, name.slot, name.flow));
            self.arm_timer();
        }
    }

    /// Sends if the link is free, else makes sure it is looked at when it is.
    #[inline(always)]
    fn kick<O: Observer>(
        &mut self,
        now: Instant,
        params: &HostParams<C::Params>,
        fabric: &mut Fabric,
        observer: &mut O,
    ) {
        if self.port.busy_until <= now {
            self.transmit(now, params, fabric, observer);
        } else if !self.port.tree.is_set(PORT) && (!self.acks.is_empty() || self.nic.sendable()) {
            self.port.tree.set(PORT, self.port.busy_until);
        }
    }

    #[inline]
    fn transmit<O: Observer>(
        &mut self,
        now: Instant,
        params: &HostParams<C::Params>,
        fabric: &mut Fabric,
        observer: &mut O,
    ) {
        if self.port.busy_until > now {
            return self.kick(now, params, fabric, observer);
        }
        if let Some(ack) = self.acks.pop_front() {
            self.depart(now, &ack, fabric, observer);
        } else if let Some(data) = self.pull(now, params) {
            self.depart(now, &data, fabric, observer);
        }
    }

    /// A packet takes the link; the port is looked at again after it if something else may go.
    #[inline(always)]
    fn depart<O: Observer>(&mut self, now: Instant, packet: &Packet, fabric: &mut Fabric, observer: &mut O) {
        let free_at = self.port.depart(now, packet, fabric, observer);
        if !self.acks.is_empty() || self.nic.sendable() {
            self.port.tree.set(PORT, free_at);
        }
    }

    /// The next data packet, out of the flow whose turn it is.
    #[inline]
    fn pull(&mut self, now: Instant, params: &HostParams<C::Params>) -> Option<Packet> {
        loop {
            let flows = &self.flows;
            let wire = |slot: u32| {
                let flow = &flows[slot as usize];
                if flow.may_send(params) && flow.not_before <= now { flow.wire(params) } else { 0 }
            };
            let (queue, slot) = self.nic.pick(wire)?;
            let flow = &mut self.flows[slot as usize];
            if flow.may_send(params) && flow.not_before <= now {
                return Some(self.send_from(now, queue, slot, params));
            }
            // Since it was put there its window closed, its pace slowed, or everything was acknowledged.
            flow.ringed = false;
            self.nic.sent(queue, false);
            self.settle(now, slot, params);
            self.offer(now, slot, params);
        }
    }

    #[inline(always)]
    fn send_from(&mut self, now: Instant, queue: QueueId, slot: u32, params: &HostParams<C::Params>) -> Packet {
        let flow = &mut self.flows[slot as usize];
        let wire = flow.wire(params) as u16;
        let seq = flow.send.send(now);
        let last = seq + 1 == flow.send.total;
        let mut flags = params.flags(flow.class, last);
        let mut receiver_slot = flow.receiver_slot;
        match flow.datagrams {
            None => flow.not_before = now + flow.control.gap(&params.control, wire as u64),
            Some(rate) => {
                // What was held back is sent as soon as it may be.
                flow.not_before += rate.of_bytes(wire as u64);
                flow.send.acked = flow.send.next;
                (flags, receiver_slot) = (flags & !flags::ECT | flags::DATAGRAM, flow.class as u32);
            }
        }
        let packet = Packet {
            flow: flow.id,
            seq,
            key: flow.key,
            sender_slot: slot,
            receiver_slot,
            dst: flow.dst,
            src: self.port.id,
            wire,
            upstream_queue: queue,
            class: params.priorities[flow.class as usize],
            kind: Kind::Data,
            flags,
        };
        if !flow.timed && flow.datagrams.is_none() {
            flow.timed = true;
            let entry = (now + params.rto, slot, flow.id);
            self.rto.push_last(entry);
            if !self.port.tree.is_set(TIMER) {
                self.arm_timer();
            }
        }
        let flow = &mut self.flows[slot as usize];
        let free_at = now + self.port.wire.ser.of_bytes(wire as u64);
        let ready = flow.may_send(params) && flow.not_before <= free_at;
        flow.ringed = ready;
        self.nic.sent(queue, ready);
        if !ready {
            self.settle(now, slot, params);
            self.port.busy_until = free_at;
            self.offer(now, slot, params);
        }
        packet
    }

    /// A flow that left its ring: gives its queue back when all is sent, its slot when all is done.
    #[inline(always)]
    fn settle(&mut self, _now: Instant, slot: u32, _params: &HostParams<C::Params>) {
        let flow = &mut self.flows[slot as usize];
        if flow.joined && !flow.send.has_unsent() {
            flow.joined = false;
            self.nic.leave(flow.queue);
        }
        if flow.live && flow.send.is_done() && !flow.ringed && !flow.pacing {
            flow.live = false;
            self.free.push(slot);
        }
    }

    #[inline]
    fn receive<O: Observer>(
        &mut self,
        now: Instant,
        packet: Packet,
        params: &HostParams<C::Params>,
        fabric: &mut Fabric,
        finished: &mut impl FnMut(Instant, Finished),
        observer: &mut O,
    ) {
        observer.host_received(now, self.port.id as usize, &packet);
        if packet.kind == Kind::Data {
            let Some(ack) = self.on_data(now, &packet, params, finished) else { return };
            if self.port.busy_until <= now && self.acks.is_empty() {
                return self.depart(now, &ack, fabric, observer);
            }
            self.acks.push_back(ack);
        } else {
            self.on_answer(now, packet, params, finished);
        }
        self.kick(now, params, fabric, observer);
    }

    /// What answers a data packet.
    #[inline(always)]
    fn on_data(
        &mut self,
        now: Instant,
        packet: &Packet,
        params: &HostParams<C::Params>,
        finished: &mut impl FnMut(Instant, Finished),
    ) -> Option<Packet> {
        if packet.has(flags::DATAGRAM) {
            self.finished_bytes[packet.receiver_slot as usize] += packet.wire as u64 - params.header;
            return None;
        }
        let (kind, seq) = match self.receivers.get(packet.receiver_slot) {
            // It has finished here: whatever this is, everything up to it has arrived.
            None => (Kind::Ack, packet.seq + 1),
            Some(receiver) => {
                let first_time = packet.seq == receiver.expected;
                let answer = receiver.on_data(now, packet.seq, params.nack_guard);
                if first_time && packet.has(flags::LAST) {
                    self.receivers.finish(packet.receiver_slot);
                    finished(now, Finished::Received { flow: packet.flow });
                }
                match answer {
                    Answer::Ack(seq) => (Kind::Ack, seq),
                    Answer::Nack(seq) => (Kind::Nack, seq),
                    Answer::Silence => return None,
                }
            }
        };
        Some(params.answer(self.port.id, &self.keys, packet, kind, seq))
    }

    #[inline(always)]
    fn on_answer(
        &mut self,
        now: Instant,
        packet: Packet,
        params: &HostParams<C::Params>,
        finished: &mut impl FnMut(Instant, Finished),
    ) {
        let slot = packet.sender_slot;
        let flow = &mut self.flows[slot as usize];
        if flow.id != packet.flow || !flow.live || flow.send.is_done() {
            return;
        }
        if packet.kind == Kind::Nack {
            flow.send.on_nack(now, packet.seq);
        } else {
            flow.send.on_ack(now, packet.seq);
            let ack = Ack { seq: packet.seq, next: flow.send.next, marked: packet.has(flags::CE) };
            flow.control.on_ack(&params.control, ack);
        }
        if flow.send.is_done() {
            self.finished_bytes[flow.class as usize] += flow.size;
            let (flow, retransmitted) = (flow.id, flow.send.retransmitted);
            finished(now, Finished::Acknowledged { flow, retransmitted, timeouts: 0 });
            self.settle(now, slot, params);
        } else {
            self.offer(now, slot, params);
        }
    }

    fn arm_timer(&mut self) {
        let delayed = self.delayed.front().map_or(Instant::NEVER, |(at, _)| *at);
        let changes = self.changes.front().copied().unwrap_or(Instant::NEVER);
        self.port
            .tree
            .set(TIMER, self.paced.next().min(self.rto.next()).min(self.paused.next()).min(delayed).min(changes));
    }

    fn on_timer<O: Observer>(
        &mut self,
        now: Instant,
        params: &HostParams<C::Params>,
        fabric: &mut Fabric,
        finished: &mut impl FnMut(Instant, Finished),
        observer: &mut O,
    ) {
        while self.changes.front().is_some_and(|at| *at <= now) {
            self.changes.pop_front();
            self.nic.release();
            self.port.stats.held.on_link_change(now);
            for slot in 0..self.flows.len() {
                let flow = &mut self.flows[slot];
                if std::mem::take(&mut flow.paused) && flow.live {
                    self.offer(now, slot as u32, params);
                }
            }
        }
        while self.delayed.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, packet)) = self.delayed.pop_front() {
                self.receive(now, packet, params, fabric, finished, observer);
            }
        }
        while let Some((_, slot, id)) = self.paced.pop_due(now) {
            let flow = &mut self.flows[slot as usize];
            if flow.id == id && flow.live {
                flow.pacing = false;
                self.settle(now, slot, params);
                self.offer(now, slot, params);
            }
        }
        while let Some((_, slot, id)) = self.paused.pop_due(now) {
            let flow = &mut self.flows[slot as usize];
            if flow.id != id || !flow.live {
                continue;
            }
            let lapses_at = flow.paused_at + params.lapse;
            if flow.paused && lapses_at > now {
                self.paused.push((lapses_at, slot, id));
                continue;
            }
            (flow.paused, flow.lapsing) = (false, false);
            self.offer(now, slot, params);
        }
        while let Some((_, slot, id)) = self.rto.pop_due(now) {
            let flow = &mut self.flows[slot as usize];
            if flow.id != id || !flow.live || flow.send.is_done() {
                continue;
            }
            let due = flow.send.deadline(params.rto).unwrap_or(now + params.rto);
            if due <= now {
                flow.send.on_timeout(now);
                self.rto.push((now + params.rto, slot, id));
                self.offer(now, slot, params);
            } else {
                self.rto.push((due, slot, id));
            }
        }
        self.arm_timer();
        self.kick(now, params, fabric, observer);
    }
}

impl<C: Control> Flow<C> {
    /// Something is left to send and the window has room for it.
    #[inline(always)]
    fn may_send(&self, params: &HostParams<C::Params>) -> bool {
        self.send.has_unsent()
            && !self.paused
            && (self.send.in_flight() as u64 * params.payload) < self.control.window(&params.control)
    }

    /// Wire bytes of its next packet.
    #[inline(always)]
    fn wire(&self, params: &HostParams<C::Params>) -> u32 {
        if self.send.next + 1 == self.send.total {
            self.last_wire as u32
        } else {
            (params.payload + params.header) as u32
        }
    }
}
