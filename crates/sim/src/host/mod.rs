//! A host: a NIC of some discipline, and both ends of flows under some transport.
//!
//! The transport says what a flow may send, the NIC which flow does so and when; the host gives both their events, and packets
//! their names. One host for all of them.

pub mod fifo;
pub mod flows;
pub mod list;
pub mod nic;
pub mod port;
pub mod receivers;
pub mod rings;
pub mod starts;
pub mod timers;

pub use fifo::Fifo;
pub use list::List;
pub use nic::{Context, Nic};
pub use port::{EndHost, HostPort, HostSetup};
pub use rings::Rings;

use crate::compat::hpcc::in_order::{HostEvent, OrderedHost};
use crate::compat::hpcc::wheel::{Event, What};
use crate::net::link::Fabric;
use crate::observe::Observer;
use crate::workload::{Flow as Arrival, FlowKeys};
use backwater_transport::{Datagrams, GoBackN, Receiver, Reply, Sender, Source, Start, Tcp, TimeoutReason, Transport};
use backwater_types::{DropReason, Duration, Instant, Kind, Packet, SerTime, flags};
use flows::{Flow, Flows};
use port::{ARRIVAL, LINK, PORT, TIMER};
use receivers::Receivers;
use starts::Starts;
use std::collections::VecDeque;
use timers::Timers;

/// A host of RDMA, under control `C`: queues that BFC may pause, go-back-N.
pub type RdmaHost<C> = Host<Rings, GoBackN<C>, false>;
/// The host of the HPCC simulator; with `IN_ORDER`, one whose events come in the order of scheduling.
pub type HpccHost<C, const IN_ORDER: bool> = Host<List, GoBackN<C>, IN_ORDER>;
/// A host of TCP.
pub type TcpHost = Host<Fifo, Tcp, false>;

/// What is the same for all hosts of a run.
#[derive(Clone, Debug)]
pub struct HostParams<P> {
    /// Parameters of the transport.
    pub transport: P,
    /// Payload of a full packet, bytes.
    pub payload: u64,
    /// Headers of a data packet, bytes.
    pub header: u64,
    /// Time a received packet spends in the host.
    pub delay: Duration,
    /// A pause of the data class holds ACKs too.
    pub acks_paused: bool,
    /// ACKs take the path of their data, reversed.
    pub symmetric: bool,
    /// `[workload]`: flags of its data packets.
    pub flags: Vec<u8>,
    /// `[workload]`: traffic class of its packets.
    pub priorities: Vec<u8>,
    /// `[workload]`: the rate at which an application writes datagrams, as transmission times.
    pub datagrams: Vec<Option<SerTime>>,
    /// Hosts hold flows that a switch has paused by name.
    pub obeys_flow_pauses: bool,
    /// A pause of a flow that is not repeated lapses after this; zero: never.
    pub lapse: Duration,
    /// Bytes that may wait in a NIC that is a FIFO.
    pub nic_buffer: u64,
    /// There, ACKs wait with the data.
    pub acks_with_data: bool,
}

/// Timeouts by reason, in the order of [`TimeoutReason::ALL`].
pub type Timeouts = [u64; TimeoutReason::ALL.len()];

/// What happened to a flow.
#[derive(Debug)]
pub enum Finished<'a> {
    /// The last byte reached the receiver.
    Received {
        /// Flow number.
        flow: u32,
        /// Where to put what starts at the receiver because of it.
        starts: &'a mut Starts,
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

/// A host with NIC `N` and transport `T`. With `IN_ORDER` its events come one by one, in the order in which they were scheduled.
pub struct Host<N: Nic<T::Sender>, T: Transport, const IN_ORDER: bool> {
    port: HostPort,
    nic: N,
    keys: FlowKeys,
    peers: T::Peers,
    flows: Flows<T::Sender, N::Flow>,
    /// Timers of senders and of receivers.
    sending: Timers,
    receiving: Timers,
    receivers: Receivers<Receiving<T::Receiver>>,
    /// Packets inside the host for [`HostParams::delay`].
    delayed: VecDeque<(Instant, Packet)>,
    changes: VecDeque<Instant>,
    starts: Starts,
    /// What the timer of the port is set to.
    timer: Instant,
    /// A transmission has not come to its end yet; only where events come in order.
    busy: bool,
    timeouts: Timeouts,
    /// `[workload]`: payload bytes of flows that were acknowledged to the end, and of datagrams received.
    finished_bytes: Vec<u64>,
}

/// A flow at its receiver.
#[derive(Clone, Debug, Default)]
struct Receiving<R> {
    state: R,
    /// Has an entry in [`Host::receiving`].
    timed: bool,
}

/// What an event at a host touches beside it.
struct Around<'a, P, F, O> {
    now: Instant,
    params: &'a HostParams<P>,
    fabric: &'a mut Fabric,
    finished: &'a mut F,
    observer: &'a mut O,
}

type Params<T> = HostParams<<T as Transport>::Params>;

impl<N: Nic<T::Sender>, T: Transport, const IN_ORDER: bool> EndHost for Host<N, T, IN_ORDER> {
    type Params = T::Params;

    fn new(mut port: HostPort, setup: HostSetup) -> Self {
        let timer = setup.changes.front().copied().unwrap_or(Instant::NEVER);
        port.tree.set(TIMER, timer);
        Host {
            nic: N::new(port.id, &setup),
            port,
            keys: setup.keys,
            peers: T::Peers::default(),
            flows: Flows::default(),
            sending: Timers::default(),
            receiving: Timers::default(),
            receivers: Receivers::default(),
            delayed: VecDeque::new(),
            changes: setup.changes,
            starts: Starts::default(),
            timer,
            busy: false,
            timeouts: Timeouts::default(),
            finished_bytes: vec![0; setup.classes],
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
        params: &Params<T>,
        fabric: &mut Fabric,
        finished: &mut impl FnMut(Instant, Finished),
        observer: &mut O,
    ) {
        while let Some((now, leaf)) = self.port.tree.first_before(end) {
            let w = &mut Around { now, params, fabric, finished, observer };
            match leaf {
                LINK => {
                    let packet = self.port.take(w.fabric);
                    self.on_frame(w, packet);
                }
                PORT => {
                    self.port.tree.set(PORT, Instant::NEVER);
                    self.kick(w);
                }
                ARRIVAL => {
                    while let Some(arrival) = self.port.arrival(now) {
                        self.start(w, arrival);
                        if N::SENDS_AT_EACH_START {
                            self.kick(w);
                        }
                    }
                    if !N::SENDS_AT_EACH_START {
                        self.kick(w);
                    }
                }
                _ => self.on_timer(w),
            }
        }
    }

    fn add_acknowledged(&self, params: &Params<T>, sum: &mut [u64]) {
        self.finished_bytes.iter().zip(sum.iter_mut()).for_each(|(bytes, sum)| *sum += bytes);
        // Datagrams count where they arrive.
        for flow in self.flows.iter().filter(|flow| flow.live && !flow.source.is_done()) {
            sum[flow.class as usize] += flow.source.acknowledged() as u64 * params.payload;
        }
    }

    fn timeouts(&self) -> Timeouts {
        self.timeouts
    }
}

impl<N: Nic<T::Sender>, T: Transport> OrderedHost for Host<N, T, true> {
    #[inline]
    fn handle<O: Observer>(
        &mut self,
        now: Instant,
        event: HostEvent,
        params: &Params<T>,
        fabric: &mut Fabric,
        finished: &mut impl FnMut(Instant, Finished),
        observer: &mut O,
    ) {
        let w = &mut Around { now, params, fabric, finished, observer };
        match event {
            HostEvent::Arrival(packet) => {
                w.fabric.packet_hops += 1;
                self.on_frame(w, packet);
            }
            HostEvent::Free => {
                self.busy = false;
                self.kick(w);
            }
            HostEvent::Start(flow) => {
                self.start(w, flow);
                self.kick(w);
            }
            HostEvent::Timer => self.on_timer(w),
        }
    }

    fn changes(&self) -> impl Iterator<Item = Instant> {
        self.changes.iter().copied()
    }
}

impl<N: Nic<T::Sender>, T: Transport, const IN_ORDER: bool> Host<N, T, IN_ORDER> {
    /// Something happens to the NIC.
    #[inline(always)]
    fn at_nic<R>(
        &mut self,
        w: &mut Around<T::Params, impl FnMut(Instant, Finished), impl Observer>,
        event: impl FnOnce(&mut N, &mut Context<T::Sender, N::Flow>) -> R,
    ) -> R {
        let (busy_until, ser, host) = (self.port.busy_until, self.port.wire.ser, self.port.id);
        let mut cx = Context {
            now: w.now,
            busy_until,
            ser,
            host,
            params: w.params,
            flows: &mut self.flows,
            wake: Instant::NEVER,
        };
        let result = event(&mut self.nic, &mut cx);
        let wake = cx.wake;
        if wake != Instant::NEVER {
            self.wake_at(wake, w.fabric);
        }
        while let Some(packet) = self.nic.dropped() {
            self.port.stats.dropped += 1;
            self.port.drops.count(DropReason::Nic, &packet);
            w.observer.dropped(w.now, host as usize, &packet, DropReason::Nic);
        }
        result
    }

    /// The timer runs at `at` or before.
    #[inline(always)]
    fn wake_at(&mut self, at: Instant, fabric: &mut Fabric) {
        if at < self.timer {
            self.timer = at;
            self.port.tree.set(TIMER, at);
        }
        if IN_ORDER {
            fabric.schedule(at, Event::new(What::Timer, self.port.id as u32, 0));
        }
    }

    #[inline(always)]
    fn on_frame(&mut self, w: &mut Around<T::Params, impl FnMut(Instant, Finished), impl Observer>, packet: Packet) {
        match packet.control() {
            Some(frame) => {
                w.observer.controlled(w.now, self.port.id as usize, 0, frame);
                self.port.stats.held.on_control(w.now, frame);
                self.at_nic(w, |nic, cx| nic.on_control(cx, frame));
                self.kick(w);
            }
            None if w.params.delay > Duration::ZERO => {
                self.delayed.push_back((w.now + w.params.delay, packet));
                self.wake_at(w.now + w.params.delay, w.fabric);
            }
            None => self.receive(w, packet),
        }
    }

    fn start(&mut self, w: &mut Around<T::Params, impl FnMut(Instant, Finished), impl Observer>, arrival: Arrival) {
        let (packets, last) = arrival.packets(w.params.payload);
        let class = arrival.class as usize;
        let start = Start {
            dst: arrival.dst,
            key: self.keys.next(&arrival),
            packets,
            last_wire: (last + w.params.header) as u16,
            class: w.params.priorities[class],
            flags: w.params.flags[class],
        };
        let source = match w.params.datagrams[class] {
            None => Source::Flow(T::open(&w.params.transport, &mut self.peers, w.now, start)),
            Some(rate) => {
                let full_wire = (w.params.payload + w.params.header) as u16;
                Source::Datagrams(Datagrams::new(start, full_wire, rate, w.now))
            }
        };
        let slot = self.flows.add(Flow::new(source, &arrival));
        self.offer(w, slot);
    }

    /// Starts what is due of what flows that arrived here start.
    fn start_due(&mut self, w: &mut Around<T::Params, impl FnMut(Instant, Finished), impl Observer>) {
        while let Some(flow) = self.starts.pop_due(w.now) {
            self.start(w, flow);
            if N::SENDS_AT_EACH_START {
                self.kick(w);
            }
            self.await_start(w.fabric);
        }
    }

    /// Sees to it that the next of these starts.
    fn await_start(&mut self, fabric: &mut Fabric) {
        let at = self.starts.next();
        if at != Instant::NEVER {
            self.wake_at(at, fabric);
        }
    }

    /// What the flow in `slot` may do has changed.
    #[inline(always)]
    fn offer(&mut self, w: &mut Around<T::Params, impl FnMut(Instant, Finished), impl Observer>, slot: u32) {
        self.at_nic(w, |nic, cx| nic.offer(cx, slot));
        if N::TAKES_AT_ONCE || !T::Sender::TIMER_RECEDES {
            self.set_timer(w, slot);
        }
    }

    /// Sees to it that the timer of the flow in `slot` will be heard.
    #[inline(always)]
    fn set_timer(&mut self, w: &mut Around<T::Params, impl FnMut(Instant, Finished), impl Observer>, slot: u32) {
        let flow = &mut self.flows[slot];
        if T::Sender::TIMER_RECEDES && flow.timer != Instant::NEVER {
            return;
        }
        let due = flow.source.timer(&w.params.transport);
        if due < flow.timer {
            flow.timer = due;
            let entry = (due, slot, flow.id);
            self.sending.push_sorted(entry);
            self.wake_at(due, w.fabric);
        }
    }

    /// Sends if the link is free, else makes sure it is looked at when it is.
    #[inline(always)]
    fn kick(&mut self, w: &mut Around<T::Params, impl FnMut(Instant, Finished), impl Observer>) {
        let free = if IN_ORDER { !self.busy } else { self.port.busy_until <= w.now };
        if free {
            if let Some(packet) = self.at_nic(w, |nic, cx| nic.pull(cx)) {
                if !N::TAKES_AT_ONCE && packet.kind == Kind::Data {
                    self.set_timer(w, packet.sender_slot);
                }
                self.depart(w, &packet);
            }
        } else if !IN_ORDER && !self.port.tree.is_set(PORT) && self.nic.sendable() {
            self.port.tree.set(PORT, self.port.busy_until);
        }
    }

    /// A packet takes the link; the port is looked at again after it if something else may go.
    #[inline(always)]
    fn depart(&mut self, w: &mut Around<T::Params, impl FnMut(Instant, Finished), impl Observer>, packet: &Packet) {
        let free_at = self.port.depart(w.now, packet, w.fabric, w.observer);
        if IN_ORDER {
            self.busy = true;
            w.fabric.schedule(free_at, Event::new(What::Free, self.port.id as u32, 0));
        } else if self.nic.sendable() {
            self.port.tree.set(PORT, free_at);
        }
    }

    #[inline]
    fn receive(&mut self, w: &mut Around<T::Params, impl FnMut(Instant, Finished), impl Observer>, packet: Packet) {
        w.observer.host_received(w.now, self.port.id as usize, &packet);
        if packet.kind != Kind::Data {
            self.on_reply(w, packet);
        } else if packet.has(flags::DATAGRAM) {
            self.finished_bytes[packet.receiver_slot as usize] += packet.wire as u64 - w.params.header;
        } else {
            self.on_data(w, &packet);
        }
    }

    #[inline(always)]
    fn on_data(&mut self, w: &mut Around<T::Params, impl FnMut(Instant, Finished), impl Observer>, packet: &Packet) {
        let receiving = T::receiving(&w.params.transport);
        let slot = packet.receiver_slot;
        // One reply is usual, and it can often go at once.
        let (mut reply, mut earlier) = (None, None);
        let (host, keys, symmetric) = (self.port.id, &self.keys, w.params.symmetric);
        match self.receivers.get(slot) {
            // It has finished here.
            None => {
                reply = T::Receiver::late(receiving, packet).map(|reply| answer(host, keys, symmetric, packet, reply))
            }
            Some(flow) => {
                flow.state.on_packet(receiving, w.now, packet, &mut |of, one| {
                    debug_assert!(earlier.is_none(), "two replies to a packet at most");
                    earlier = reply.replace(answer(host, keys, symmetric, of, one));
                });
                if flow.state.is_done() {
                    self.receivers.finish(slot);
                    (w.finished)(w.now, Finished::Received { flow: packet.flow, starts: &mut self.starts });
                    self.await_start(w.fabric);
                } else {
                    let due = flow.state.timer(receiving);
                    if due != Instant::NEVER && !std::mem::replace(&mut flow.timed, true) {
                        self.receiving.push_sorted((due, slot, packet.flow));
                        self.wake_at(due, w.fabric);
                    }
                }
            }
        }
        let Some(reply) = reply else { return };
        if let Some(earlier) = earlier {
            self.at_nic(w, |nic, cx| nic.reply(cx, earlier));
        } else if !IN_ORDER && self.port.busy_until <= w.now && self.nic.lets_replies_pass() {
            return self.depart(w, &reply);
        }
        self.at_nic(w, |nic, cx| nic.reply(cx, reply));
        self.kick(w);
    }

    #[inline(always)]
    fn on_reply(&mut self, w: &mut Around<T::Params, impl FnMut(Instant, Finished), impl Observer>, packet: Packet) {
        let slot = packet.sender_slot;
        let flow = &mut self.flows[slot];
        if flow.id != packet.flow || !flow.live || flow.source.is_done() {
            return;
        }
        flow.source.on_packet(&w.params.transport, w.now, &packet);
        if flow.source.is_done() {
            self.finished_bytes[flow.class as usize] += flow.size;
            let (retransmitted, timeouts) = (flow.source.retransmitted(), flow.source.timeouts());
            (w.finished)(w.now, Finished::Acknowledged { flow: flow.id, retransmitted, timeouts });
            if let Source::Flow(sender) = &mut flow.source {
                T::close(&w.params.transport, &mut self.peers, sender);
            }
            self.at_nic(w, |nic, cx| nic.done(cx, slot));
        } else {
            self.offer(w, slot);
        }
        self.kick(w);
    }

    fn on_timer(&mut self, w: &mut Around<T::Params, impl FnMut(Instant, Finished), impl Observer>) {
        while self.changes.front().is_some_and(|at| *at <= w.now) {
            self.changes.pop_front();
            self.port.stats.held.on_link_change(w.now);
            self.at_nic(w, |nic, cx| nic.release(cx));
        }
        while self.delayed.front().is_some_and(|(at, _)| *at <= w.now) {
            if let Some((_, packet)) = self.delayed.pop_front() {
                self.receive(w, packet);
            }
        }
        self.start_due(w);
        self.at_nic(w, |nic, cx| nic.on_timer(cx));
        while let Some((_, slot, id)) = self.receiving.pop_due(w.now) {
            self.on_receiver_due(w, slot, id);
        }
        while let Some((_, slot, id)) = self.sending.pop_due(w.now) {
            self.on_sender_due(w, slot, id);
        }
        let next = |queue: Option<Instant>| queue.unwrap_or(Instant::NEVER);
        let (change, delayed) = (next(self.changes.front().copied()), next(self.delayed.front().map(|(at, _)| *at)));
        let timers = self.nic.next_timer().min(self.receiving.next()).min(self.sending.next());
        self.timer = timers.min(change).min(delayed).min(self.starts.next());
        self.port.tree.set(TIMER, self.timer);
        self.kick(w);
    }

    fn on_receiver_due(
        &mut self,
        w: &mut Around<T::Params, impl FnMut(Instant, Finished), impl Observer>,
        slot: u32,
        id: u32,
    ) {
        let receiving = T::receiving(&w.params.transport);
        let Some(flow) = self.receivers.get(slot) else { return };
        let (mut reply, host, keys) = (None, self.port.id, &self.keys);
        if flow.state.timer(receiving) <= w.now {
            flow.state.on_timer(receiving, w.now, &mut |of, one| {
                reply = Some(answer(host, keys, w.params.symmetric, of, one))
            });
        }
        let due = flow.state.timer(receiving);
        flow.timed = due != Instant::NEVER;
        if flow.timed {
            self.receiving.push_sorted((due, slot, id));
            self.wake_at(due, w.fabric);
        }
        if let Some(reply) = reply {
            self.at_nic(w, |nic, cx| nic.reply(cx, reply));
        }
    }

    fn on_sender_due(
        &mut self,
        w: &mut Around<T::Params, impl FnMut(Instant, Finished), impl Observer>,
        slot: u32,
        id: u32,
    ) {
        let flow = &mut self.flows[slot];
        if flow.id != id || !flow.live || flow.timer != w.now {
            return;
        }
        flow.timer = Instant::NEVER;
        if flow.source.timer(&w.params.transport) > w.now {
            return self.set_timer(w, slot);
        }
        if let Some(reason) = flow.source.on_timer(&w.params.transport, w.now) {
            self.timeouts[reason as usize] += 1;
        }
        self.offer(w, slot);
    }
}

/// A reply of host `from` to a packet that came in.
#[inline(always)]
fn answer(from: u16, keys: &FlowKeys, symmetric: bool, packet: &Packet, reply: Reply) -> Packet {
    Packet {
        kind: reply.kind,
        seq: reply.seq,
        receiver_slot: reply.word.unwrap_or(packet.receiver_slot),
        dst: packet.src,
        src: from,
        wire: reply.wire,
        key: if symmetric { packet.key } else { keys.answer(packet.key) },
        flags: reply.flags,
        ..*packet
    }
}
