//! Host: a NIC of some discipline, and both ends of flows under some transport.
//!
//! The transport decides what a flow may send. The NIC decides which flow sends, and when. The host passes events to
//! both, and gives packets their addresses and numbers. All NICs and transports share this one host.

pub mod params;
pub mod port;
pub mod queue_pairs;
pub mod receivers;
pub mod starts;

pub use params::{HostParams, Report};
pub use port::{EndHost, EventContext, HostPort, HostSetup};

use crate::observe::{Observer, SendState, Timer};
use crate::schedule::{Agenda, EventName, FlowTimer, Schedule};
use backwater_counters::{Credits, Timeouts};
use backwater_fabric::flow::Flow as Arrival;
use backwater_fabric::keys::FlowKeys;
use backwater_nic::{Context, Flow, Flows, NewFlow, Nic, Timers};
use backwater_transport::{Datagrams, Next, Receiver, Reply, Sender, Source, Start, Transport};
use backwater_types::{DropReason, Duration, Extension, Frame, Instant, Kind, LibraryRand, Packet, flags};
use port::{PORT, TIMER};
use queue_pairs::QueuePairs;
use receivers::Receivers;
use starts::Starts;
use std::collections::VecDeque;

/// Largest number of flows of a host for which nothing is prefetched. With so many, 128 hosts have 2 MB of flows, and a
/// core's second-level cache has 1 to 2 MB.
const FEW_FLOWS: usize = 128;

/// Host with NIC `N` and transport `T`, whose events are kept by schedule `S`.
pub struct Host<N: Nic<T::Sender>, T: Transport, S: Schedule<Extension = T::Extension>> {
    port: HostPort<S>,
    nic: N,
    keys: FlowKeys,
    peers: T::Peers,
    flows: Flows<T::Sender, N::Flow>,
    /// Timers of senders.
    sending: Timers,
    /// Timers of receivers.
    receiving: Timers,
    receivers: Receivers<Receiving<T::Receiver>>,
    /// State that all receivers of the host share.
    shared: <T::Receiver as Receiver>::Host,
    /// Packets inside the host for [`HostParams::delay`].
    delayed: VecDeque<(Instant, Frame<T::Extension>)>,
    changes: VecDeque<Instant>,
    reroutes: VecDeque<Instant>,
    starts: Starts,
    pairs: Box<QueuePairs>,
    timeouts: Timeouts,
    credits: Credits,
    /// `[workload]`: payload bytes of fully acknowledged flows, and of received datagrams.
    finished_bytes: Vec<u64>,
}

/// Passes an event to the NIC of a host and applies its effects. It is a macro, because a function that takes a closure
/// and is not inlined would pass packets through memory.
macro_rules! at_nic {
    ($host:ident, $w:ident, $event:ident $(, $of:expr)?) => {{
        let (nic, mut cx) = $host.nic($w);
        let result = nic.$event(&mut cx $(, $of)?);
        let wake = cx.wake;
        $host.apply_nic_effects($w, wake);
        result
    }};
}

/// Flow at its receiver.
#[derive(Clone, Debug, Default)]
struct Receiving<R> {
    state: R,
    /// Whether the flow has an entry in [`Host::receiving`].
    timed: bool,
}

impl<N: Nic<T::Sender>, T: Transport, S: Schedule<Extension = T::Extension>> EndHost for Host<N, T, S> {
    type Params = T::Params;
    type Schedule = S;

    fn draw_from(params: &mut T::Params, seed: u64, rand: Option<&LibraryRand>) {
        T::draw_from(params, seed, rand);
    }

    fn new(mut port: HostPort<S>, setup: HostSetup) -> Self {
        let first = setup.changes.front().into_iter().chain(setup.reroutes.front()).min();
        port.agenda.set_timer(port.event(TIMER), first.copied().unwrap_or(Instant::NEVER));
        Host {
            nic: N::new(setup.nic),
            port,
            keys: setup.keys,
            peers: T::Peers::default(),
            flows: Flows::default(),
            sending: Timers::default(),
            receiving: Timers::default(),
            receivers: Receivers::default(),
            shared: Default::default(),
            delayed: VecDeque::new(),
            changes: setup.changes,
            reroutes: setup.reroutes,
            starts: Starts::default(),
            pairs: Box::default(),
            timeouts: Timeouts::default(),
            credits: Credits::default(),
            finished_bytes: vec![0; setup.classes],
        }
    }

    #[inline(always)]
    fn port(&self) -> &HostPort<S> {
        &self.port
    }

    #[inline(always)]
    fn port_mut(&mut self) -> &mut HostPort<S> {
        &mut self.port
    }

    fn changes(&self) -> impl Iterator<Item = Instant> {
        self.changes.iter().chain(&self.reroutes).copied()
    }

    #[inline(always)]
    fn prefetch<'a>(&self, frames: impl Iterator<Item = &'a Frame<T::Extension>>)
    where
        Self: 'a,
    {
        if self.flows.count() > FEW_FLOWS {
            let flows = frames.filter(|frame| !frame.kind.is_for_receiver()).map(|frame| frame.sender_slot);
            std::hint::black_box(flows.fold(0, |sum, slot| sum ^ self.flows.prefetch(slot)));
        }
    }

    #[inline(always)]
    fn arrive(&mut self, w: &mut EventContext<T::Params, S, impl Observer>, packet: Frame<T::Extension>) {
        w.transit.packet_hops += 1;
        match packet.control() {
            Some(frame) => {
                w.observer.controlled(w.now, self.port.id as usize, 0, frame);
                self.port.stats.held.on_control(w.now, frame);
                if let Some(flows) = &mut self.port.flows_held {
                    flows.on_control(w.now, frame);
                }
                at_nic!(self, w, on_control, frame);
                self.poll_tx(w);
            }
            None if w.params.delay > Duration::ZERO => {
                self.delayed.push_back((w.now + w.params.delay, packet));
                self.wake_at(w, w.now + w.params.delay);
            }
            None => self.receive(w, packet),
        }
    }

    #[inline(always)]
    fn free(&mut self, w: &mut EventContext<T::Params, S, impl Observer>) {
        S::ended(&mut self.port.busy_until);
        let busy_until = self.port.busy_until;
        let again = if self.port.is_free(w.now, w.transit) { self.transmit(w) } else { busy_until };
        self.port.poll_at(again);
    }

    #[inline(always)]
    fn start(&mut self, w: &mut EventContext<T::Params, S, impl Observer>, arrival: Arrival) {
        if arrival.is_wake() {
            return self.on_wake(w, arrival);
        }
        if arrival.is_of_queue_pair() && !self.pairs.admit(&arrival) {
            return;
        }
        self.open(w, arrival);
        if N::SENDS_AT_EACH_START {
            self.poll_tx(w);
        }
    }

    #[inline(always)]
    fn started(&mut self, w: &mut EventContext<T::Params, S, impl Observer>) {
        if !N::SENDS_AT_EACH_START {
            self.poll_tx(w);
        }
    }

    fn timer(&mut self, w: &mut EventContext<T::Params, S, impl Observer>, number: u16) {
        w.observer.woke(w.now, self.port.id as usize, self.due_timer(w.now));
        // If each setting of a timer is an event, the NIC may have set its timer anew since. The event of the older
        // setting then finds nothing due.
        let of_nic = !S::EACH_TIMER_IS_AN_EVENT || number == self.nic.timer_number() && self.nic.next_timer() <= w.now;
        let mut due = of_nic;
        while self.changes.front().is_some_and(|at| *at <= w.now) {
            due = true;
            self.changes.pop_front();
            self.port.stats.held.on_link_change(w.now);
            if let Some(flows) = &mut self.port.flows_held {
                flows.on_link_change(w.now);
            }
            w.observer.released(w.now, self.port.id as usize);
            at_nic!(self, w, release);
        }
        while self.reroutes.front().is_some_and(|at| *at <= w.now) {
            self.reroutes.pop_front();
            at_nic!(self, w, reroute);
            while at_nic!(self, w, relist) {
                self.poll_tx(w);
            }
        }
        while self.delayed.front().is_some_and(|(at, _)| *at <= w.now) {
            if let Some((_, packet)) = self.delayed.pop_front() {
                due = true;
                self.receive(w, packet);
            }
        }
        if self.starts.next() <= w.now {
            self.start_due(w);
        }
        if of_nic {
            at_nic!(self, w, on_timer);
        }
        while let Some((_, slot, id)) = self.receiving.pop_due(w.now) {
            due = true;
            self.on_receiver_due(w, slot, id);
        }
        while let Some((_, slot, id)) = self.sending.pop_due(w.now) {
            due = true;
            self.on_sender_due(w, slot, id);
        }
        let next = |queue: Option<Instant>| queue.unwrap_or(Instant::NEVER);
        let change = next(self.changes.front().copied()).min(next(self.reroutes.front().copied()));
        let delayed = next(self.delayed.front().map(|(at, _)| *at));
        let timers = self.nic.next_timer().min(self.receiving.next()).min(self.sending.next());
        self.port.agenda.set_timer(self.port.event(TIMER), timers.min(change).min(delayed).min(self.starts.next()));
        if due {
            self.poll_tx(w);
        }
    }

    /// Handles the expiry of a flow's timer. The flow may now be able to send, but the port is not polled: it sends at
    /// the next event of the NIC.
    fn expire(
        &mut self,
        w: &mut EventContext<T::Params, S, impl Observer>,
        FlowTimer { slot, flow: id, number }: FlowTimer,
    ) {
        let flow = &mut self.flows[slot];
        if flow.id == id && flow.live && !flow.source.is_done() {
            flow.source.on_expiry(&w.params.nic.transport, w.now, number);
            self.offer(w, slot);
        }
    }

    fn add_acknowledged(&self, params: &HostParams<T::Params>, sum: &mut [u64]) {
        self.finished_bytes.iter().zip(sum.iter_mut()).for_each(|(bytes, sum)| *sum += bytes);
        // Datagrams count at their receiver.
        for flow in self.flows.iter().filter(|flow| flow.live && !flow.source.is_done()) {
            sum[flow.class as usize] += flow.source.acknowledged() as u64 * params.payload;
        }
    }

    fn unfinished(&self, params: &T::Params, now: Instant, see: &mut dyn FnMut(u32, bool)) {
        for flow in self.flows.iter().filter(|flow| flow.live && !flow.source.is_done()) {
            see(flow.id, matches!(flow.source.peek(params, now), Next::Packet(_)));
        }
    }

    fn send_state(&self, params: &HostParams<T::Params>, now: Instant, slot: u32, id: u32) -> SendState {
        let flow = &self.flows[slot];
        if flow.id != id || !flow.live {
            return SendState::Blocked;
        }
        let next = flow.source.peek(&params.nic.transport, now);
        match (self.nic.held(flow), next) {
            (held, Next::Packet(_)) => held.map_or(SendState::Ready, SendState::Held),
            (held, _) if self.nic.holds_packet_of(id) => held.map_or(SendState::Ready, SendState::Held),
            (_, Next::NotBefore(at)) => SendState::Paced(at),
            (_, Next::Blocked) => SendState::Blocked,
        }
    }

    fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    fn credits(&self) -> Credits {
        let live = self.flows.iter().filter(|flow| flow.live && !flow.source.is_done());
        let wasted = live.map(|flow| flow.source.wasted() as u64).sum::<u64>();
        Credits { wasted: self.credits.wasted + wasted, ..self.credits }
    }
}

impl<N: Nic<T::Sender>, T: Transport, S: Schedule<Extension = T::Extension>> Host<N, T, S> {
    /// Returns the work of the timer that expires at `now`.
    fn due_timer(&self, now: Instant) -> Timer {
        let changes = self.changes.front().into_iter().chain(self.reroutes.front()).any(|at| *at <= now);
        let flows = self.receiving.next().min(self.sending.next()).min(self.starts.next()) <= now;
        if changes || flows || !self.nic.only_paces(now) { Timer::Any } else { Timer::Pace }
    }

    /// Returns the NIC and its view of the host.
    #[inline(always)]
    fn nic<'a, 'w: 'a, O>(
        &'a mut self,
        w: &EventContext<'w, T::Params, S, O>,
    ) -> (&'a mut N, Context<'a, T::Sender, N::Flow>) {
        let cx = Context {
            now: w.now,
            busy_until: self.port.busy_until,
            ser: self.port.wire.ser,
            host: self.port.id,
            params: &w.params.nic,
            flows: &mut self.flows,
            wake: Instant::NEVER,
        };
        (&mut self.nic, cx)
    }

    /// Applies the effects of an event at the NIC: the timer that it set to `wake`, if any, and the packets that it
    /// dropped.
    #[inline(always)]
    fn apply_nic_effects(&mut self, w: &mut EventContext<T::Params, S, impl Observer>, wake: Instant) {
        if wake != Instant::NEVER {
            let timer = EventName { port: self.nic.timer_number(), ..self.port.event(TIMER) };
            self.port.agenda.wake_at(&mut w.transit.schedule, timer, wake);
        }
        while N::DROPS
            && let Some(packet) = self.nic.dropped()
        {
            let reason = if packet.kind == Kind::Credit { DropReason::Credit } else { DropReason::Nic };
            self.port.stats.dropped += (reason != DropReason::Credit) as u64;
            self.port.drops.count(reason, &packet);
            w.observer.dropped(w.now, self.port.id as usize, &packet, reason);
        }
    }

    /// Schedules an expiry of the timer at `at`.
    #[inline(always)]
    fn wake_at<O>(&mut self, w: &mut EventContext<T::Params, S, O>, at: Instant) {
        self.port.agenda.wake_at(&mut w.transit.schedule, self.port.event(TIMER), at);
    }

    fn open(&mut self, w: &mut EventContext<T::Params, S, impl Observer>, arrival: Arrival) {
        let (packets, last) = arrival.packets(w.params.payload);
        let class = arrival.class as usize;
        let start = Start {
            dst: arrival.dst,
            key: self.keys.next(&arrival),
            site: w.params.sites.of(arrival.src, arrival.dst),
            packets,
            last_wire: (last + w.params.header) as u16,
            class: arrival.priority,
            flags: w.params.flags[class] | if w.observer.follows(arrival.id) { flags::FOLLOWED } else { 0 },
        };
        let source = match w.params.datagrams[class] {
            None => Source::Flow(T::open(&w.params.nic.transport, &mut self.peers, w.now, start)),
            Some(rate) => {
                let full_wire = (w.params.payload + w.params.header) as u16;
                Source::Datagrams(Datagrams::new(start, full_wire, rate, w.now))
            }
        };
        let Arrival { id, dst, size, receiver_slot, class, .. } = arrival;
        let slot = self.flows.add(Flow::new(source, NewFlow { id, dst, size, receiver_slot, class }));
        w.observer.flow_started(w.now, &arrival, slot);
        self.offer(w, slot);
    }

    /// Starts the next message of the queue pair that has sent all of flow `sent`, and returns whether there is one. The
    /// port is busy with the last packet of that flow.
    #[cold]
    fn open_next(&mut self, w: &mut EventContext<T::Params, S, impl Observer>, sent: u32) -> bool {
        let Some(next) = self.pairs.next(sent) else { return false };
        (w.report)(w.now, Report::Began { flow: next.id });
        self.open(w, Arrival { at: w.now, ..next });
        true
    }

    /// Tells a workload that its time has come, and starts what it starts.
    #[cold]
    fn on_wake(&mut self, w: &mut EventContext<T::Params, S, impl Observer>, wake: Arrival) {
        (w.report)(w.now, Report::Woke { wake, starts: &mut self.starts });
        self.start_due(w);
        self.await_start(w);
    }

    /// Starts the flows that are due because other flows were received here.
    #[cold]
    fn start_due(&mut self, w: &mut EventContext<T::Params, S, impl Observer>) {
        while let Some(flow) = self.starts.pop_due(w.now) {
            self.start(w, flow);
            if N::SENDS_AT_EACH_START {
                self.poll_tx(w);
            }
            self.await_start(w);
        }
    }

    /// Schedules the start of the next flow in `starts`.
    fn await_start(&mut self, w: &mut EventContext<T::Params, S, impl Observer>) {
        let at = self.starts.next();
        if at != Instant::NEVER {
            self.wake_at(w, at);
        }
    }

    /// Offers the flow in `slot`, which may have become able to send, to the NIC, and sets its timers.
    #[inline(always)]
    fn offer(&mut self, w: &mut EventContext<T::Params, S, impl Observer>, slot: u32) {
        at_nic!(self, w, offer, slot);
        self.arm_timers(w, slot);
        if N::TAKES_AT_ONCE || !T::Sender::TIMER_RECEDES {
            self.set_timer(w, slot);
        }
    }

    /// Schedules the timers that the flow in `slot` has armed, each as an event.
    #[inline(always)]
    fn arm_timers(&mut self, w: &mut EventContext<T::Params, S, impl Observer>, slot: u32) {
        let flow = &mut self.flows[slot];
        while let Some((at, number)) = flow.source.take_armed() {
            let timer = FlowTimer { slot, flow: flow.id, number };
            self.port.agenda.set_flow_timer(&mut w.transit.schedule, self.port.event(TIMER), at, timer);
        }
    }

    /// Schedules the timer of the sender in `slot`.
    #[inline(always)]
    fn set_timer(&mut self, w: &mut EventContext<T::Params, S, impl Observer>, slot: u32) {
        let flow = &mut self.flows[slot];
        if T::Sender::TIMER_RECEDES && flow.timer != Instant::NEVER {
            return;
        }
        let due = flow.source.timer(&w.params.nic.transport);
        if due < flow.timer {
            flow.timer = due;
            let entry = (due, slot, flow.id);
            self.sending.push_sorted(entry);
            self.wake_at(w, due);
        }
    }

    /// Polls the transmitter: sends if the link is free, else schedules a poll for the end of the transmission.
    #[inline(always)]
    fn poll_tx(&mut self, w: &mut EventContext<T::Params, S, impl Observer>) {
        if self.port.is_free(w.now, w.transit) {
            let again = self.transmit(w);
            if again != Instant::NEVER {
                self.port.poll_at(again);
            }
        } else if !self.port.agenda.awaits(self.port.event(PORT)) && self.nic.sendable() {
            self.port.poll_at(self.port.busy_until);
        }
    }

    /// Sends a reply, or the next packet of a flow, on the free link. Returns when the port is to be polled again;
    /// [`Instant::NEVER`]: not at all.
    #[inline(never)]
    fn transmit(&mut self, w: &mut EventContext<T::Params, S, impl Observer>) -> Instant {
        if let Some(reply) = self.nic.next_reply(&w.params.nic) {
            return depart(&mut self.port, &self.nic, w, &reply);
        }
        let Some(packet) = at_nic!(self, w, next_data) else { return Instant::NEVER };
        if !N::TAKES_AT_ONCE {
            self.set_timer(w, packet.sender_slot);
        }
        let again = depart(&mut self.port, &self.nic, w, &packet);
        if w.params.queue_pairs && packet.has(flags::LAST) && self.open_next(w, packet.flow) && self.nic.sendable() {
            return self.port.busy_until;
        }
        again
    }

    #[inline]
    fn receive(&mut self, w: &mut EventContext<T::Params, S, impl Observer>, packet: Frame<T::Extension>) {
        w.observer.host_received(w.now, self.port.id as usize, &packet);
        if !packet.kind.is_for_receiver() {
            self.on_reply(w, packet);
        } else if packet.has(flags::DATAGRAM) {
            self.finished_bytes[packet.receiver_slot as usize] += packet.wire as u64 - w.params.header;
        } else {
            self.on_data(w, &packet);
        }
    }

    #[inline(always)]
    fn on_data(&mut self, w: &mut EventContext<T::Params, S, impl Observer>, packet: &Frame<T::Extension>) {
        let (now, receiving) = (w.now, T::receiving(&w.params.nic.transport));
        let slot = packet.receiver_slot;
        let Some(flow) = self.receivers.get(slot) else { return self.on_late_data(w, packet) };
        let (nic, port, keys, mut waits) = (&mut self.nic, &mut self.port, &self.keys, false);
        let shared = &mut self.shared;
        let reply = flow.state.on_packet(receiving, shared, now, packet, &mut |of, one| {
            waits = true;
            nic.reply(&w.params.nic, answer(port.id, keys, w.params.symmetric, of, one));
        });
        // A reply that can leave at once is sent where it is made. If it were written to memory in parts and read back
        // whole, the read would wait for the writes.
        if let Some(one) = reply {
            let reply = answer(port.id, keys, w.params.symmetric, packet, one);
            if port.is_free(now, w.transit) && nic.lets_replies_pass() {
                let again = depart(port, nic, w, &reply);
                if again != Instant::NEVER {
                    port.poll_at(again);
                }
            } else {
                waits = true;
                nic.reply(&w.params.nic, reply);
            }
        }
        if flow.state.is_done() {
            self.receivers.finish(slot);
            (w.report)(now, Report::Received { flow: packet.flow, starts: &mut self.starts });
            self.await_start(w);
        } else {
            let due = flow.state.timer(receiving, shared);
            if due != Instant::NEVER && !std::mem::replace(&mut flow.timed, true) {
                self.receiving.push_sorted((due, slot, packet.flow));
                self.wake_at(w, due);
            }
        }
        if waits {
            self.apply_nic_effects(w, Instant::NEVER);
            self.poll_tx(w);
        }
    }

    /// Answers data of a flow that has finished at this receiver.
    fn on_late_data(&mut self, w: &mut EventContext<T::Params, S, impl Observer>, packet: &Frame<T::Extension>) {
        let Some(reply) = T::Receiver::late(T::receiving(&w.params.nic.transport), packet) else { return };
        self.nic.reply(&w.params.nic, answer(self.port.id, &self.keys, w.params.symmetric, packet, reply));
        self.apply_nic_effects(w, Instant::NEVER);
        self.poll_tx(w);
    }

    #[inline(always)]
    fn on_reply(&mut self, w: &mut EventContext<T::Params, S, impl Observer>, packet: Frame<T::Extension>) {
        let slot = packet.sender_slot;
        let flow = &mut self.flows[slot];
        let gone = flow.id != packet.flow || !flow.live || flow.source.is_done();
        if T::Extension::CREDITED && packet.kind == Kind::Credit {
            self.credits.received += 1;
            self.credits.wasted += gone as u64;
        }
        if gone {
            return;
        }
        flow.source.on_packet(&w.params.nic.transport, w.now, &packet);
        if flow.source.is_done() {
            self.finished_bytes[flow.class as usize] += flow.size;
            self.credits.wasted += flow.source.wasted() as u64;
            let (retransmitted, timeouts) = (flow.source.retransmitted(), flow.source.timeouts());
            let (next, starts) = (self.starts.next(), &mut self.starts);
            (w.report)(w.now, Report::Acknowledged { flow: flow.id, retransmitted, timeouts, starts });
            let starts_sooner = self.starts.next() < next;
            if let Source::Flow(sender) = &mut flow.source {
                T::close(&w.params.nic.transport, &mut self.peers, sender);
            }
            at_nic!(self, w, done, slot);
            if starts_sooner {
                self.await_start(w);
            }
        } else {
            self.offer(w, slot);
        }
        self.poll_tx(w);
    }

    fn on_receiver_due(&mut self, w: &mut EventContext<T::Params, S, impl Observer>, slot: u32, id: u32) {
        let receiving = T::receiving(&w.params.nic.transport);
        let Some(flow) = self.receivers.get(slot) else { return };
        let (nic, host, keys, shared) = (&mut self.nic, self.port.id, &self.keys, &mut self.shared);
        if flow.state.timer(receiving, shared) <= w.now {
            flow.state.on_timer(receiving, shared, w.now, &mut |of, one| {
                nic.reply(&w.params.nic, answer(host, keys, w.params.symmetric, of, one))
            });
        }
        let due = flow.state.timer(receiving, shared);
        flow.timed = due != Instant::NEVER;
        if flow.timed {
            self.receiving.push_sorted((due, slot, id));
            self.wake_at(w, due);
        }
        self.apply_nic_effects(w, Instant::NEVER);
    }

    fn on_sender_due(&mut self, w: &mut EventContext<T::Params, S, impl Observer>, slot: u32, id: u32) {
        let flow = &mut self.flows[slot];
        if flow.id != id || !flow.live || flow.timer != w.now {
            return;
        }
        flow.timer = Instant::NEVER;
        if flow.source.timer(&w.params.nic.transport) > w.now {
            return self.set_timer(w, slot);
        }
        if let Some(reason) = flow.source.on_timer(&w.params.nic.transport, w.now) {
            self.timeouts[reason as usize] += 1;
        }
        self.offer(w, slot);
    }
}

/// Puts a packet on the link. Returns when the port is to be polled again; [`Instant::NEVER`]: not at all.
#[inline(always)]
fn depart<X: Sender, N: Nic<X>, S: Schedule<Extension = X::Extension>, O: Observer>(
    port: &mut HostPort<S>,
    nic: &N,
    w: &mut EventContext<X::Params, S, O>,
    packet: &Frame<X::Extension>,
) -> Instant {
    let free_at = port.depart(w.now, packet, w.transit, w.observer);
    if nic.sendable() { free_at } else { Instant::NEVER }
}

/// Makes the reply of host `from` to a received packet.
#[inline(always)]
fn answer<E>(from: u16, keys: &FlowKeys, symmetric: bool, packet: &Packet, reply: Reply<E>) -> Frame<E> {
    let packet = Packet {
        kind: reply.kind,
        seq: reply.seq,
        receiver_slot: reply.word.unwrap_or(packet.receiver_slot),
        dst: packet.src,
        src: from,
        wire: reply.wire,
        key: if symmetric { packet.key } else { keys.answer(packet.key) },
        flags: reply.flags,
        ..*packet
    };
    Frame { packet, extension: reply.extension }
}
