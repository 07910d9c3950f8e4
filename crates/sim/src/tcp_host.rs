//! A host that speaks TCP: connections, a NIC that is one FIFO, and a receiver that acknowledges.
//!
//! What a window lets go waits in the NIC, first in, first out, up to `host.nic_buffer`; more is dropped. Flows between two
//! hosts may share connections, one after another: the idle one with the lowest number, so that few are in use and keep their
//! windows (baselines 1.2).

use crate::host::{Finished, HostParams};
use crate::host_port::{ARRIVAL, EndHost, HostPort, HostSetup, LINK, PORT, TIMER};
use crate::link::Fabric;
use crate::observe::Observer;
use crate::receivers::Receivers;
use crate::timers::Timers;
use crate::traffic::{Flow as Arrival, FlowKeys};
use backwater_dataplane::{Red, Ring};
use backwater_transport::tcp::Answers;
use backwater_transport::{AckPolicy, Congestion, TcpAck, TcpParams, TcpReceiver, TcpSender, TimeoutReason};
use backwater_types::hash::Stream;
use backwater_types::{ControlFrame, DropReason, Duration, Instant, Kind, Packet, SerTime, flags};
use std::collections::VecDeque;

/// Parameters of a [`TcpHost`].
#[derive(Clone, Debug)]
pub struct TcpHostParams {
    /// Of every flow.
    pub tcp: TcpParams,
    /// Segments an acknowledgement stands for.
    pub acks: AckPolicy,
    /// It waits no longer for more of them.
    pub ack_delay: Duration,
    /// Connections that two hosts have from the start; `None`: a new one for each flow.
    pub persistent: Option<u32>,
    /// A new connection opens with a segment without payload.
    pub handshake: bool,
    /// Bytes that may wait for the link.
    pub nic_buffer: u64,
    /// ACKs wait with the data.
    pub acks_with_data: bool,
}

/// Timeouts by reason, in the order of [`TimeoutReason::ALL`].
pub type Timeouts = [u64; TimeoutReason::ALL.len()];

type Params = HostParams<TcpHostParams>;

/// A host.
pub struct TcpHost {
    port: HostPort,
    nic: Nic,
    keys: FlowKeys,
    flows: Vec<Flow>,
    free: Vec<u32>,
    /// `[destination]`.
    connections: Vec<Connections>,
    rto: Timers,
    /// Acknowledgements that wait for more segments.
    acks: Timers,
    /// Applications that write datagrams.
    datagrams: Timers,
    receivers: Receivers<Receive>,
    /// Packets inside the host for [`HostParams::delay`].
    delayed: VecDeque<(Instant, Packet)>,
    changes: VecDeque<Instant>,
    timeouts: Timeouts,
    /// `[workload]`: payload bytes of flows that were acknowledged to the end, and of datagrams received.
    finished_bytes: Vec<u64>,
}

/// Connections to one destination, numbered in the order in which they were opened.
#[derive(Default)]
struct Connections {
    opened: u32,
    /// Highest number first.
    idle: Vec<Idle>,
}

/// A connection that no flow uses.
struct Idle {
    number: u32,
    congestion: Congestion,
    /// Of its packets.
    key: u32,
}

impl Connections {
    fn rest(&mut self, idle: Idle) {
        let at = self.idle.partition_point(|other| other.number > idle.number);
        self.idle.insert(at, idle);
    }
}

struct Flow {
    send: TcpSender,
    size: u64,
    id: u32,
    /// Number and key of its connection.
    connection: u32,
    key: u32,
    receiver_slot: u32,
    /// Datagrams: when the next is written.
    next_datagram: Instant,
    datagrams: Option<SerTime>,
    dst: u16,
    last_wire: u16,
    class: u8,
    /// Of its entry in `rto` that counts; never if there is none.
    timer: Instant,
    live: bool,
}

/// A flow at its receiver.
#[derive(Clone, Debug, Default)]
struct Receive {
    state: TcpReceiver,
    /// The last segment that waits for its acknowledgement, if any does, and when the first of those came.
    waiting: Option<Box<(Packet, Instant)>>,
    /// Has an entry in `acks`.
    timed: bool,
}

/// The egress of a host: a FIFO.
struct Nic {
    queue: Ring<Packet>,
    bytes: u64,
    /// ACKs that do not wait with the data.
    acks: Ring<Packet>,
    red: Red,
    rng: Stream,
    held: bool,
}

impl Nic {
    fn pop(&mut self) -> Option<Packet> {
        if let Some(ack) = self.acks.pop_front() {
            return Some(ack);
        }
        if self.held {
            return None;
        }
        let mut packet = self.queue.pop_front()?;
        self.bytes -= packet.wire as u64;
        if packet.has(flags::ECT) && self.red.marks(self.bytes, packet.wire as u64, &mut self.rng) {
            packet.flags |= flags::CE;
        }
        Some(packet)
    }

    #[inline(always)]
    fn sendable(&self) -> bool {
        !self.acks.is_empty() || (!self.held && !self.queue.is_empty())
    }
}

impl EndHost for TcpHost {
    type Params = TcpHostParams;

    fn new(mut port: HostPort, setup: HostSetup) -> TcpHost {
        let HostSetup { nic: _, red, classes, keys, seed, changes } = setup;
        port.tree.set(TIMER, changes.front().copied().unwrap_or(Instant::NEVER));
        let rng = Stream::new(seed, 0x6e69_6373, port.id as u64);
        TcpHost {
            nic: Nic { queue: Ring::default(), bytes: 0, acks: Ring::default(), red, rng, held: false },
            port,
            keys,
            flows: Vec::with_capacity(64),
            free: Vec::with_capacity(64),
            connections: Vec::new(),
            rto: Timers::default(),
            acks: Timers::default(),
            datagrams: Timers::default(),
            receivers: Receivers::default(),
            delayed: VecDeque::new(),
            changes,
            timeouts: Timeouts::default(),
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
        params: &Params,
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
                            self.obey(frame);
                            self.kick(now, fabric, observer);
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
                    self.kick(now, fabric, observer);
                }
                ARRIVAL => {
                    while let Some(arrival) = self.port.arrival(now) {
                        self.start(now, arrival, params, observer);
                    }
                    self.kick(now, fabric, observer);
                }
                _ => self.on_timer(now, params, fabric, finished, observer),
            }
        }
    }

    fn add_acknowledged(&self, params: &Params, sum: &mut [u64]) {
        self.finished_bytes.iter().zip(sum.iter_mut()).for_each(|(bytes, sum)| *sum += bytes);
        // Datagrams count where they arrive.
        for flow in self.flows.iter().filter(|f| f.live && f.datagrams.is_none()) {
            let acked = flow.send.acked.saturating_sub(flow.send.handshake as u32);
            sum[flow.class as usize] += acked as u64 * params.payload;
        }
    }

    fn timeouts(&self) -> Timeouts {
        self.timeouts
    }
}

impl TcpHost {
    fn obey(&mut self, frame: ControlFrame) {
        match frame {
            ControlFrame::PfcPause(_) => self.nic.held = true,
            ControlFrame::PfcResume(_) => self.nic.held = false,
            _ => {}
        }
    }

    fn start<O: Observer>(&mut self, now: Instant, arrival: Arrival, params: &Params, observer: &mut O) {
        let (total, last) = arrival.packets(params.payload);
        let key = self.keys.next(&arrival);
        let datagrams = params.datagrams[arrival.class as usize];
        let new = Idle { number: 0, congestion: Congestion::new(&params.control.tcp, now), key };
        let (Idle { number, congestion, key }, handshake) = match datagrams {
            None => self.connect(now, arrival.dst, new, &params.control),
            Some(_) => (new, false),
        };
        let flow = Flow {
            send: TcpSender::new(total, handshake, congestion, now),
            size: arrival.size,
            id: arrival.id,
            connection: number,
            key,
            receiver_slot: arrival.receiver_slot,
            next_datagram: now,
            datagrams,
            dst: arrival.dst,
            last_wire: (last + params.header) as u16,
            class: arrival.class,
            timer: Instant::NEVER,
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
        match datagrams {
            None => self.pump(now, slot, params, observer),
            Some(_) => self.write_datagrams(now, slot, params, observer),
        }
    }

    /// A connection to `dst`, `new` if none is idle, and whether it has to be opened.
    fn connect(&mut self, now: Instant, dst: u16, mut new: Idle, params: &TcpHostParams) -> (Idle, bool) {
        let Some(ready) = params.persistent else { return (new, params.handshake) };
        if self.connections.len() <= dst as usize {
            self.connections.resize_with(dst as usize + 1, Connections::default);
        }
        let connections = &mut self.connections[dst as usize];
        if let Some(mut idle) = connections.idle.pop() {
            idle.congestion = idle.congestion.resumed(&params.tcp, now);
            return (idle, false);
        }
        new.number = connections.opened;
        connections.opened += 1;
        (new, params.handshake && connections.opened > ready)
    }

    /// Hands the NIC what the window of a flow lets go.
    #[inline(always)]
    fn pump<O: Observer>(&mut self, now: Instant, slot: u32, params: &Params, observer: &mut O) {
        while let Some(segment) = self.flows[slot as usize].send.send(&params.control.tcp, now) {
            let packet = self.packet(slot, segment, params);
            self.enqueue(now, packet, params, observer);
        }
        let flow = &mut self.flows[slot as usize];
        if let Some(due) = flow.send.deadline(&params.control.tcp).filter(|due| *due < flow.timer) {
            flow.timer = due;
            self.rto.push_sorted((due, slot, flow.id));
            self.arm_timer();
        }
    }

    #[inline(always)]
    fn packet(&self, slot: u32, segment: u32, params: &Params) -> Packet {
        let flow = &self.flows[slot as usize];
        let last = segment + 1 == flow.send.total;
        let opening = flow.send.handshake && segment == 0;
        let full = (params.payload + params.header) as u16;
        Packet {
            flow: flow.id,
            seq: segment,
            key: flow.key,
            sender_slot: slot,
            receiver_slot: flow.receiver_slot,
            dst: flow.dst,
            src: self.port.id,
            wire: if opening {
                params.header as u16
            } else if last {
                flow.last_wire
            } else {
                full
            },
            upstream_queue: 0,
            class: params.priorities[flow.class as usize],
            kind: Kind::Data,
            flags: if opening { 0 } else { params.flags(flow.class, last) },
        }
    }

    /// The application of a flow writes what is due, and says when it will write more.
    fn write_datagrams<O: Observer>(&mut self, now: Instant, slot: u32, params: &Params, observer: &mut O) {
        loop {
            let flow = &mut self.flows[slot as usize];
            let Some(rate) = flow.datagrams.filter(|_| flow.send.next < flow.send.total) else {
                flow.live = false;
                return self.free.push(slot);
            };
            if flow.next_datagram > now {
                let entry = (flow.next_datagram, slot, flow.id);
                self.datagrams.push(entry);
                return self.arm_timer();
            }
            let segment = flow.send.next;
            flow.send.next += 1;
            flow.send.acked = flow.send.next;
            let class = flow.class;
            let mut packet = self.packet(slot, segment, params);
            packet.flags = packet.flags & !flags::ECT | flags::DATAGRAM;
            packet.receiver_slot = class as u32;
            let flow = &mut self.flows[slot as usize];
            flow.next_datagram += rate.of_bytes(packet.wire as u64);
            self.enqueue(now, packet, params, observer);
        }
    }

    #[inline(always)]
    fn enqueue<O: Observer>(&mut self, now: Instant, packet: Packet, params: &Params, observer: &mut O) {
        if packet.kind != Kind::Data && !params.control.acks_with_data {
            self.nic.acks.push_back(packet);
            return;
        }
        let wire = packet.wire as u64;
        if self.nic.bytes + wire > params.control.nic_buffer {
            self.port.stats.dropped += 1;
            self.port.drops.count(DropReason::Nic, &packet);
            return observer.dropped(now, self.port.id as usize, &packet, DropReason::Nic);
        }
        self.nic.bytes += wire;
        self.nic.queue.push_back(packet);
    }

    /// Sends if the link is free, and makes sure it is looked at when it will be.
    #[inline(always)]
    fn kick<O: Observer>(&mut self, now: Instant, fabric: &mut Fabric, observer: &mut O) {
        if self.port.busy_until <= now
            && let Some(packet) = self.nic.pop()
        {
            self.port.depart(now, &packet, fabric, observer);
        }
        if self.nic.sendable() && !self.port.tree.is_set(PORT) {
            self.port.tree.set(PORT, self.port.busy_until);
        }
    }

    #[inline]
    fn receive<O: Observer>(
        &mut self,
        now: Instant,
        packet: Packet,
        params: &Params,
        fabric: &mut Fabric,
        finished: &mut impl FnMut(Instant, Finished),
        observer: &mut O,
    ) {
        observer.host_received(now, self.port.id as usize, &packet);
        match packet.kind {
            Kind::Data if packet.has(flags::DATAGRAM) => {
                self.finished_bytes[packet.receiver_slot as usize] += packet.wire as u64 - params.header;
                return;
            }
            Kind::Data => {
                let acks = self.on_data(now, &packet, params, finished);
                acks.into_iter().flatten().for_each(|ack| self.answer(now, &packet, ack, params, observer));
            }
            _ => self.on_ack(now, &packet, params, finished, observer),
        }
        self.kick(now, fabric, observer);
    }

    #[inline(always)]
    fn on_data(
        &mut self,
        now: Instant,
        packet: &Packet,
        params: &Params,
        finished: &mut impl FnMut(Instant, Finished),
    ) -> Answers {
        let Some(receive) = self.receivers.get(packet.receiver_slot) else {
            // It has finished here: whatever this is, everything up to the end has arrived.
            return [None, Some(TcpAck { next: u32::MAX, block: (0, 0), marked: false })];
        };
        let (marked, waited) = (packet.has(flags::CE), receive.state.is_waiting());
        let acks = receive.state.on_data(params.control.acks, packet.seq, packet.has(flags::LAST), marked);
        if receive.state.is_done() {
            self.receivers.finish(packet.receiver_slot);
            finished(now, Finished::Received { flow: packet.flow });
        } else if receive.state.is_waiting() {
            let more = waited && acks.iter().all(Option::is_none);
            match &mut receive.waiting {
                Some(waiting) => **waiting = (*packet, if more { waiting.1 } else { now }),
                none => *none = Some(Box::new((*packet, now))),
            }
            if !std::mem::replace(&mut receive.timed, true) {
                self.acks.push_sorted((now + params.control.ack_delay, packet.receiver_slot, packet.flow));
                self.arm_timer();
            }
        }
        acks
    }

    /// Sends an acknowledgement. Its block travels where data packets name their receiver.
    #[inline(always)]
    fn answer<O: Observer>(&mut self, now: Instant, packet: &Packet, ack: TcpAck, params: &Params, observer: &mut O) {
        let mut answer = params.answer(self.port.id, &self.keys, packet, Kind::Ack, ack.next);
        answer.flags = if ack.marked { flags::CE } else { 0 };
        answer.receiver_slot = pack_block(&ack);
        self.enqueue(now, answer, params, observer);
    }

    #[inline(always)]
    fn on_ack<O: Observer>(
        &mut self,
        now: Instant,
        packet: &Packet,
        params: &Params,
        finished: &mut impl FnMut(Instant, Finished),
        observer: &mut O,
    ) {
        let slot = packet.sender_slot;
        let flow = &mut self.flows[slot as usize];
        if flow.id != packet.flow || !flow.live {
            return;
        }
        let block = unpack_block(packet.seq, packet.receiver_slot);
        let ack = TcpAck { next: packet.seq, block, marked: packet.has(flags::CE) };
        flow.send.on_ack(&params.control.tcp, now, ack);
        if !flow.send.is_done() {
            return self.pump(now, slot, params, observer);
        }
        flow.live = false;
        self.finished_bytes[flow.class as usize] += flow.size;
        if params.control.persistent.is_some() {
            let idle = Idle { number: flow.connection, congestion: flow.send.congestion, key: flow.key };
            self.connections[flow.dst as usize].rest(idle);
        }
        let (flow, retransmitted, timeouts) = (flow.id, flow.send.retransmitted, flow.send.timeouts);
        finished(now, Finished::Acknowledged { flow, retransmitted, timeouts });
        self.free.push(slot);
    }

    fn arm_timer(&mut self) {
        let delayed = self.delayed.front().map_or(Instant::NEVER, |(at, _)| *at);
        let changes = self.changes.front().copied().unwrap_or(Instant::NEVER);
        let timers = self.rto.next().min(self.acks.next()).min(self.datagrams.next());
        self.port.tree.set(TIMER, timers.min(delayed).min(changes));
    }

    fn on_timer<O: Observer>(
        &mut self,
        now: Instant,
        params: &Params,
        fabric: &mut Fabric,
        finished: &mut impl FnMut(Instant, Finished),
        observer: &mut O,
    ) {
        while self.changes.front().is_some_and(|at| *at <= now) {
            self.changes.pop_front();
            self.nic.held = false;
            self.port.stats.held.on_link_change(now);
        }
        while self.delayed.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, packet)) = self.delayed.pop_front() {
                self.receive(now, packet, params, fabric, finished, observer);
            }
        }
        while let Some((_, slot, id)) = self.datagrams.pop_due(now) {
            let flow = &self.flows[slot as usize];
            if flow.id == id && flow.live {
                self.write_datagrams(now, slot, params, observer);
            }
        }
        while let Some((_, slot, id)) = self.acks.pop_due(now) {
            self.on_ack_due(now, slot, id, params, observer);
        }
        while let Some((_, slot, id)) = self.rto.pop_due(now) {
            self.on_rto_due(now, slot, id, params, observer);
        }
        self.arm_timer();
        self.kick(now, fabric, observer);
    }

    /// What waits for more segments waits no longer.
    fn on_ack_due<O: Observer>(&mut self, now: Instant, slot: u32, id: u32, params: &Params, observer: &mut O) {
        let Some(receive) = self.receivers.get(slot) else { return };
        receive.timed = false;
        let Some(waiting) = receive.waiting.as_ref().filter(|_| receive.state.is_waiting()) else { return };
        let (packet, since) = **waiting;
        let due = since + params.control.ack_delay;
        if due > now {
            receive.timed = true;
            return self.acks.push_sorted((due, slot, id));
        }
        let ack = receive.state.acknowledge();
        self.answer(now, &packet, ack, params, observer);
    }

    fn on_rto_due<O: Observer>(&mut self, now: Instant, slot: u32, id: u32, params: &Params, observer: &mut O) {
        let flow = &mut self.flows[slot as usize];
        if flow.id != id || !flow.live || flow.timer != now {
            return;
        }
        flow.timer = Instant::NEVER;
        match flow.send.deadline(&params.control.tcp) {
            None => {}
            Some(due) if due > now => {
                flow.timer = due;
                self.rto.push_sorted((due, slot, id));
            }
            Some(_) => {
                let reason = flow.send.on_timeout(now);
                self.timeouts[reason as usize] += 1;
                self.pump(now, slot, params, observer);
            }
        }
    }
}

/// A block beyond the next segment expected, in 16 bits each: how far beyond, and how long. Longer ones are cut.
fn pack_block(ack: &TcpAck) -> u32 {
    let (from, to) = ack.block;
    let (beyond, long) = (from.saturating_sub(ack.next), (to - from).min(u16::MAX as u32));
    if from < to && beyond <= u16::MAX as u32 { beyond << 16 | long } else { 0 }
}

fn unpack_block(next: u32, word: u32) -> (u32, u32) {
    let from = next.saturating_add(word >> 16);
    if word == 0 { (0, 0) } else { (from, from + (word & 0xffff)) }
}
