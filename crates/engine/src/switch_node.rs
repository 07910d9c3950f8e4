//! A switch in the network: the data plane, its links and its routes.

use crate::link::{Fabric, put_on_wire};
use crate::link_meter::{FlowsHeld, LinkCount};
use crate::meters::Meters;
use crate::node_by_node::InFlight;
use crate::observe::{Joined, Observer, Timer, Transmission};
use crate::schedule::{Agenda, EventName, Schedule};
use crate::stats::{Drops, Held, PortStats, Sent};
use backwater_dataplane::{DataPlane, Departed};
use backwater_fabric::choice::Choice;
use backwater_fabric::link_states::Change;
use backwater_fabric::routes::Routes;
use backwater_fabric::wire::Wire;
use backwater_types::{DropReason, Extension, Frame, Instant, Kind, Packet, PortId, QueueId};
use std::collections::VecDeque;
use std::sync::Arc;

/// Up to this many hosts, what a window touches stays in a core's second-level cache.
const SMALL_NETWORK: usize = 256;

/// A switch of data plane `D`, whose events are kept by schedule `S`.
pub struct SwitchNode<D, S: Schedule> {
    /// Number in the graph.
    pub id: usize,
    /// Events: incoming links, then outgoing ports, then the timer.
    pub agenda: S::Agenda<64>,
    /// The data plane.
    pub plane: D,
    /// `[port]`.
    pub ports: Vec<Port>,
    held: Vec<Held>,
    /// `[egress port]`: packets that this switch dropped of its own accord.
    dropped: Vec<u64>,
    /// Packets dropped here or lost on its links.
    pub drops: Drops,
    /// What costs time per packet, only where it is asked for.
    pub meters: Option<Box<Meters>>,
    /// `[port]`: flows that the neighbour holds, where it is asked for and they are held one by one.
    pub flows_held: Vec<FlowsHeld>,
    hosts: usize,
    choice: Choice,
    /// Routes, by epoch of the links.
    routes: Arc<Vec<Routes>>,
    epoch: usize,
    changes: VecDeque<Change>,
    kicked: Vec<PortId>,
    /// The network is too large for caches.
    touches: bool,
}

/// One port of a switch: two cache lines.
#[repr(align(64))]
pub struct Port {
    busy_until: Instant,
    wire: Wire,
    /// The incoming direction of its link.
    pub link_in: u32,
    sent: Sent,
    last: Transmission,
}

const _: () = assert!(size_of::<Port>() == 128);

impl Port {
    /// A packet of `queue` takes the link. When the link is free again.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)] // parts of the switch that the caller holds apart
    fn depart<S: Schedule, O: Observer>(
        &mut self,
        now: Instant,
        packet: &Frame<S::Extension>,
        queue: QueueId,
        fabric: &mut Fabric<S>,
        drops: &mut Drops,
        switch: usize,
        observer: &mut O,
    ) -> Instant {
        self.busy_until = now + self.wire.ser.of_bytes(packet.wire as u64);
        self.sent.count(packet);
        put_on_wire(&mut self.wire, fabric, drops, now, self.busy_until, packet, queue, |packet, reason| {
            observer.dropped(now, switch, packet, reason);
        });
        self.busy_until
    }
}

/// A queue with data that may not leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldQueue {
    /// Number of the switch in the graph.
    pub node: u32,
    /// Egress port.
    pub port: PortId,
    /// Data queue.
    pub queue: QueueId,
    /// On the wire.
    pub bytes: u64,
    /// With packets in it, by the first of them.
    pub flows: Vec<u32>,
}

impl<D: DataPlane<Extension = S::Extension>, S: Schedule> SwitchNode<D, S> {
    /// Switch number `id` of the graph, with its links: for each port the incoming one and the wire out.
    pub fn new(
        id: usize,
        plane: D,
        links: Vec<(u32, Wire)>,
        hosts: usize,
        routes: (Arc<Vec<Routes>>, Choice),
        changes: VecDeque<Change>,
        tie_seed: u64,
    ) -> SwitchNode<D, S> {
        let (routes, choice) = routes;
        let port = |(link_in, wire)| Port {
            sent: Sent::default(),
            link_in,
            wire,
            busy_until: Instant::ZERO,
            last: Transmission::NONE,
        };
        let mut switch: SwitchNode<D, S> = SwitchNode {
            id,
            agenda: S::Agenda::new(2 * links.len() + 1, tie_seed),
            plane,
            held: vec![Held::default(); links.len()],
            dropped: vec![0; links.len()],
            ports: links.into_iter().map(port).collect(),
            drops: Drops::default(),
            meters: None,
            flows_held: Vec::new(),
            hosts,
            choice,
            routes,
            epoch: 0,
            changes,
            kicked: Vec::with_capacity(16),
            touches: hosts > SMALL_NETWORK,
        };
        switch.agenda.set_timer(switch.timer_name(), switch.changes.front().map_or(Instant::NEVER, |c| c.at));
        switch
    }

    /// Reads what the arrivals of a window that ends at `end` will need, in a large network. One by one each would wait for
    /// memory; reads that do not depend on one another wait together.
    #[inline(always)]
    pub fn touch(&self, end: Instant, in_flight: &[InFlight<impl Extension, impl Copy>]) {
        if self.touches {
            self.touch_all(end, in_flight);
        }
    }

    #[inline(never)]
    fn touch_all(&self, end: Instant, in_flight: &[InFlight<impl Extension, impl Copy>]) {
        let mut sum = self.plane.touch_ports();
        for port in &self.ports {
            let arrivals = &in_flight[port.link_in as usize];
            let flows = arrivals.before(end).fold(0, |sum: u32, packet| sum.wrapping_add(self.plane.touch(packet)));
            let out = in_flight.get(port.wire.target.link as usize).map_or(0, InFlight::count);
            sum = sum.wrapping_add(port.busy_until.0 ^ port.sent.data().packets ^ flows as u64 ^ out as u64);
        }
        std::hint::black_box(sum);
    }

    /// A frame has arrived by `ingress`.
    #[inline(always)]
    pub fn arrive<O: Observer>(
        &mut self,
        now: Instant,
        ingress: PortId,
        mut packet: Frame<S::Extension>,
        fabric: &mut Fabric<S>,
        observer: &mut O,
    ) {
        fabric.packet_hops += 1;
        if packet.kind == Kind::Control {
            self.obey(now, ingress, &packet, observer);
            return self.kick(now, ingress, fabric, observer);
        }
        let Some(egress) = self.route(now, &packet, observer) else { return };
        let as_data = self.plane.queues_as_data(packet.kind);
        if let Some(queue) = self.pass(now, ingress, egress, &mut packet, fabric, observer) {
            let p = &mut self.ports[egress as usize];
            let free_at = p.depart(now, &packet, queue, fabric, &mut self.drops, self.id, observer);
            let queue = as_data.then_some(queue);
            p.last = Transmission::of(&packet, queue, now);
            self.agenda.take_port(&mut fabric.schedule, self.end_at(egress), free_at);
            let departed = Departed { queue, entered: now, ..Departed::BESIDE_DATA };
            return observer.departed(now, self.id, egress, &packet, &departed);
        }
        let received = self.plane.receive(now, &packet, ingress, egress);
        if let Some(reason) = received.dropped {
            self.drop_packet(now, egress, &packet, reason, observer);
            // Where its sender is told.
            return received.frame_on.into_iter().for_each(|port| self.kick(now, port, fabric, observer));
        }
        if as_data {
            let joined = Joined { ingress, egress, queue: received.queue, frame_on: received.frame_on };
            observer.enqueued(now, self.id, joined, &packet, &self.ports[egress as usize].last);
        }
        if let Some(meters) = &mut self.meters
            && as_data
        {
            meters.enter(ingress, egress, &packet);
        }
        let frame_on = received.frame_on;
        if S::IN_ORDER
            && let Some(port) = frame_on
        {
            self.kick(now, port, fabric, observer);
        }
        self.kick(now, egress, fabric, observer);
        if received.timer_changed {
            self.arm_timer();
        }
        if !S::IN_ORDER
            && let Some(port) = frame_on
        {
            self.kick(now, port, fabric, observer);
        }
    }

    /// Drops a packet that was to leave by `egress`.
    fn drop_packet<O: Observer>(
        &mut self,
        now: Instant,
        egress: PortId,
        packet: &Packet,
        reason: DropReason,
        observer: &mut O,
    ) {
        self.dropped[egress as usize] += (reason != DropReason::Credit) as u64;
        self.drops.count(reason, packet);
        observer.dropped(now, self.id, packet, reason);
    }

    fn obey<O: Observer>(&mut self, now: Instant, port: PortId, packet: &Packet, observer: &mut O) {
        if let Some(frame) = packet.control() {
            observer.controlled(now, self.id, port, frame);
            self.held[port as usize].on_control(now, frame);
            if let Some(flows) = self.flows_held.get_mut(port as usize) {
                flows.on_control(now, frame);
            }
            self.plane.control(now, port, frame);
            self.arm_timer();
        }
    }

    /// The port for a packet; one without a way is dropped.
    #[inline(always)]
    fn route<O: Observer>(&mut self, now: Instant, packet: &Packet, observer: &mut O) -> Option<PortId> {
        let (routes, choice) = (&self.routes[self.epoch], &mut self.choice);
        let egress = routes.next(self.id - self.hosts, packet.dst, |count| choice.among(now, count, packet));
        if egress.is_none() {
            self.drops.count(DropReason::NoRoute, packet);
            observer.dropped(now, self.id, packet, DropReason::NoRoute);
        }
        egress
    }

    /// Whether a packet that finds its link free and its port empty may go from link to link, and the queue it goes through.
    /// Metered packets take the long way.
    #[inline(always)]
    fn pass<O: Observer>(
        &mut self,
        now: Instant,
        ingress: PortId,
        egress: PortId,
        packet: &mut Frame<S::Extension>,
        fabric: &Fabric<S>,
        observer: &mut O,
    ) -> Option<QueueId> {
        if !self.is_free(now, egress, fabric) || self.meters.is_some() {
            return None;
        }
        let queue = self.plane.pass(now, packet, ingress, egress)?;
        if self.plane.queues_as_data(packet.kind) {
            let joined = Joined { ingress, egress, queue, frame_on: None };
            observer.enqueued(now, self.id, joined, packet, &self.ports[egress as usize].last);
        }
        Some(queue)
    }

    /// Sends if the link is free, else makes sure it is looked at when it is. A packet that leaves may put a control frame on
    /// the port it came by, which is then looked at in turn; a frame never causes another.
    #[inline(always)]
    fn kick<O: Observer>(&mut self, now: Instant, port: PortId, fabric: &mut Fabric<S>, observer: &mut O) {
        let mut next = Some(port);
        while let Some(port) = next {
            if !self.is_free(now, port, fabric) {
                // What a port that holds credits awaits may be later than that.
                let awaits = !S::Extension::CREDITED && self.agenda.awaits(self.end_at(port));
                if !awaits && self.plane.sendable(port) {
                    self.look_at(port, self.ports[port as usize].busy_until);
                }
                return;
            }
            let again;
            (again, next) = self.transmit(now, port, fabric, observer);
            if again != Instant::NEVER {
                self.look_at(port, again);
            }
        }
    }

    /// `port` is to be looked at: a transmission was to end.
    #[inline(always)]
    pub fn free<O: Observer>(&mut self, now: Instant, port: PortId, fabric: &mut Fabric<S>, observer: &mut O) {
        S::ended(&mut self.ports[port as usize].busy_until);
        if !self.is_free(now, port, fabric) {
            return self.look_at(port, self.ports[port as usize].busy_until);
        }
        let (again, frame_on) = self.transmit(now, port, fabric, observer);
        self.look_at(port, again);
        if let Some(port) = frame_on {
            self.kick(now, port, fabric, observer);
        }
    }

    /// The event that a transmission of `port` ends.
    #[inline(always)]
    fn end_at(&self, port: PortId) -> EventName {
        EventName { leaf: self.ports.len() + port as usize, node: self.id as u32, port }
    }

    #[inline(always)]
    fn is_free(&self, now: Instant, port: PortId, fabric: &Fabric<S>) -> bool {
        self.agenda.is_free(&fabric.schedule, self.end_at(port), self.ports[port as usize].busy_until, now)
    }

    /// `port` is looked at next at `at`.
    #[inline(always)]
    fn look_at(&mut self, port: PortId, at: Instant) {
        self.agenda.set_port(self.end_at(port), at);
    }

    /// Puts the next frame of `port` on the wire. When the port is to be looked at again, or never; and the port that a
    /// control frame now waits at, if any.
    #[inline(never)]
    fn transmit<O: Observer>(
        &mut self,
        now: Instant,
        port: PortId,
        fabric: &mut Fabric<S>,
        observer: &mut O,
    ) -> (Instant, Option<PortId>) {
        let Some((free_at, sent)) = self.transmit_next(now, port, fabric, observer) else {
            return (if S::Extension::CREDITED { self.plane.due(port) } else { Instant::NEVER }, None);
        };
        if sent.timer_changed {
            self.arm_timer();
        }
        (if self.plane.sendable(port) { free_at } else { Instant::NEVER }, sent.frame_on)
    }

    /// Puts the next frame of `port` on the wire. When the link is free again, and what became of the switch, if there was one.
    #[inline(always)]
    fn transmit_next<O: Observer>(
        &mut self,
        now: Instant,
        port: PortId,
        fabric: &mut Fabric<S>,
        observer: &mut O,
    ) -> Option<(Instant, Departed)> {
        let (id, mut free_at, mut of) = (self.id, now, (0, 0));
        let (p, drops) = (&mut self.ports[port as usize], &mut self.drops);
        let sent = self.plane.transmit_to(now, port, |packet, sent| {
            of = (packet.flow, packet.class);
            free_at = p.depart(now, packet, packet.upstream_queue, fabric, drops, id, observer);
            p.last = Transmission::of(packet, sent.queue, now);
            observer.departed(now, id, port, packet, sent);
        });
        if !self.plane.discarded().is_empty() {
            self.count_discarded(now, port, DropReason::NotEct, observer);
        }
        let sent = sent?;
        self.agenda.take_port(&mut fabric.schedule, self.end_at(port), free_at);
        if let Some(meters) = &mut self.meters
            && sent.queue.is_some()
        {
            meters.leave(now, port, of, sent.entered);
        }
        Some((free_at, sent))
    }

    /// Packets that were dropped as they left their queues, or with their port.
    #[cold]
    fn count_discarded<O: Observer>(&mut self, now: Instant, port: PortId, why: DropReason, observer: &mut O) {
        for (packet, entered) in std::mem::take(self.plane.discarded()) {
            if let Some(meters) = &mut self.meters {
                meters.leave(now, port, (packet.flow, packet.class), entered);
            }
            self.drop_packet(now, port, &packet, why, observer);
        }
    }

    /// Counters of every port, up to `now`.
    pub fn stats(&mut self, now: Instant) -> impl Iterator<Item = PortStats> + use<'_, D, S> {
        self.ports.iter().zip(&self.dropped).zip(&mut self.held).map(move |((port, dropped), held)| {
            held.settle(now);
            PortStats { sent: port.sent, dropped: *dropped, held: *held }
        })
    }

    /// What every port has counted up to `now`, for what its link does over time.
    pub fn link_counts(&mut self, now: Instant) -> Vec<LinkCount> {
        let mut flows: Vec<u64> = self.flows_held.iter_mut().map(|flows| flows.paused(now)).collect();
        flows.resize(self.ports.len(), 0);
        let stats: Vec<PortStats> = self.stats(now).collect();
        let queued = |port: usize| self.plane.readings().queued(port as PortId);
        stats.iter().zip(flows).enumerate().map(|(i, (stats, flows))| LinkCount::new(stats, queued(i), flows)).collect()
    }

    /// What left by every port.
    pub fn sent(&self) -> impl Iterator<Item = Sent> {
        self.ports.iter().map(|port| port.sent)
    }

    /// Queues of ports whose data may not leave.
    pub fn held_queues(&self) -> Vec<HeldQueue> {
        let held = |port: PortId| self.plane.readings().queued(port) > 0 && !self.plane.sendable(port);
        let held: Vec<bool> = (0..self.ports.len() as PortId).map(held).collect();
        let mut queues: Vec<HeldQueue> = Vec::new();
        if !held.contains(&true) {
            return queues;
        }
        self.plane.readings().visit(&mut |port, queue, packet, _| {
            // FlowSail's marks are nobody's.
            if !held[port as usize] || packet.wire == 0 {
                return;
            }
            if queues.last().is_none_or(|last| (last.port, last.queue) != (port, queue)) {
                queues.push(HeldQueue { node: self.id as u32, port, queue, bytes: 0, flows: Vec::new() });
            }
            if let Some(last) = queues.last_mut() {
                last.bytes += u64::from(packet.wire);
                if !last.flows.contains(&packet.flow) {
                    last.flows.push(packet.flow);
                }
            }
        });
        queues
    }

    /// Flows with data in `port`, if they are counted.
    pub fn active_flows(&self, port: PortId) -> Option<u32> {
        match self.meters.as_ref().and_then(|meters| meters.census.as_ref()) {
            Some(census) => Some(census.flows(port)),
            None => self.plane.readings().active_flows(port),
        }
    }

    fn arm_timer(&mut self) {
        let change = self.changes.front().map_or(Instant::NEVER, |c| c.at);
        self.agenda.set_timer(self.timer_name(), self.plane.next_timer().min(change));
    }

    #[inline(always)]
    fn timer_name(&self) -> EventName {
        EventName { leaf: 2 * self.ports.len(), node: self.id as u32, port: 0 }
    }

    /// When its links change, ascending.
    pub fn changes(&self) -> impl Iterator<Item = Instant> {
        self.changes.iter().map(|change| change.at)
    }

    /// The timer has run.
    pub fn timer<O: Observer>(&mut self, now: Instant, fabric: &mut Fabric<S>, observer: &mut O) {
        observer.woke(now, self.id, Timer::Any);
        let mut kicked = std::mem::take(&mut self.kicked);
        self.apply_changes(now, &mut kicked, observer);
        if self.plane.next_timer() <= now {
            self.plane.timer(now, &mut kicked);
        }
        self.arm_timer();
        for port in kicked.drain(..) {
            self.kick(now, port, fabric, observer);
        }
        self.kicked = kicked;
    }

    /// Carries out the changes of links that are due; appends the ports they touch.
    fn apply_changes<O: Observer>(&mut self, now: Instant, kicked: &mut Vec<PortId>, observer: &mut O) {
        while self.changes.front().is_some_and(|c| c.at <= now) {
            let Some(change) = self.changes.pop_front() else {
                break;
            };
            self.epoch = change.epoch;
            for (port, up) in change.ports {
                observer.link_changed(now, self.id, port, up);
                self.held[port as usize].on_link_change(now);
                if let Some(flows) = self.flows_held.get_mut(port as usize) {
                    flows.on_link_change(now);
                }
                if up {
                    self.plane.link_up(now, port, kicked);
                } else {
                    self.plane.link_down(now, port, kicked);
                    self.count_discarded(now, port, DropReason::LinkDown, observer);
                }
                kicked.push(port);
            }
        }
    }
}
