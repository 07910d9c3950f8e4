//! Switch in the network: a data plane with its links and routes.

use crate::link::{Transit, put_on_wire};
use crate::node_by_node::InFlight;
use crate::observe::{Joined, Observer, Timer, Transmission};
use crate::schedule::{Agenda, EventName, Schedule};
use backwater_counters::link_meter::{FlowsHeld, LinkCount};
use backwater_counters::meters::Meters;
use backwater_counters::stats::{Drops, PauseStats, PortStats, Sent};
use backwater_dataplane::{DataPlane, Departed, Discarded, Driver, Outlets};
use backwater_fabric::choice::Choice;
use backwater_fabric::link_states::Change;
use backwater_fabric::routes::Routes;
use backwater_fabric::wire::Wire;
use backwater_types::{DropReason, Extension, Frame, Instant, Kind, Packet, PortId};
use std::collections::VecDeque;
use std::sync::Arc;

/// Largest number of hosts for which the state that a window touches stays in a core's second-level cache.
const SMALL_NETWORK: usize = 256;

/// Switch of data plane `D`, whose events are kept by schedule `S`.
pub struct SwitchNode<D, S: Schedule> {
    /// Data plane.
    pub plane: Driver<D>,
    /// Links and pending events.
    pub links: Links<S>,
    held: Vec<PauseStats>,
    /// `[port]`: flows that the neighbour pauses, if pauses name flows and the scenario samples links.
    pub flows_held: Vec<FlowsHeld>,
    /// Number of the switch among the switches.
    index: usize,
    choice: Choice,
    /// `[epoch of the links]`: routes.
    routes: Arc<Vec<Routes>>,
    epoch: usize,
    changes: VecDeque<Change>,
    /// Whether the network is too large for caches, so that a window's state is prefetched.
    prefetches: bool,
}

/// Links of a switch, and its pending events.
pub struct Links<S: Schedule> {
    /// Number of the switch in the graph.
    id: usize,
    /// Pending events: incoming links, then outgoing ports, then the timer.
    pub agenda: S::Agenda<64>,
    /// `[port]`.
    pub ports: Vec<Port>,
    /// `[egress port]`: packets that the switch dropped by choice.
    dropped: Vec<u64>,
    /// Packets dropped by the switch or lost on its links.
    pub drops: Drops,
    /// Meters, which cost time for each packet; only where the scenario asks for them.
    pub meters: Option<Box<Meters>>,
    /// Time of the next change of a link.
    change_at: Instant,
    /// Earliest scheduled expiry of the data plane's timer, where each is an event of its own.
    armed: Instant,
}

/// Port of a switch: two cache lines.
#[repr(align(64))]
pub struct Port {
    busy_until: Instant,
    wire: Wire,
    /// Incoming direction of the port's link.
    pub link_in: u32,
    sent: Sent,
    last: Transmission,
}

const _: () = assert!(size_of::<Port>() == 128);

impl<D: DataPlane<Extension = S::Extension>, S: Schedule> SwitchNode<D, S> {
    /// Creates switch number `id` of the graph. `links` gives the incoming link and the outgoing wire of each port.
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
        let change_at = changes.front().map_or(Instant::NEVER, |change| change.at);
        let mut switch: SwitchNode<D, S> = SwitchNode {
            plane: Driver::new(plane),
            held: vec![PauseStats::default(); links.len()],
            links: Links {
                id,
                agenda: S::Agenda::new(2 * links.len() + 1, tie_seed),
                dropped: vec![0; links.len()],
                ports: links.into_iter().map(port).collect(),
                drops: Drops::default(),
                meters: None,
                change_at,
                armed: Instant::NEVER,
            },
            flows_held: Vec::new(),
            index: id - hosts,
            choice,
            routes,
            epoch: 0,
            changes,
            prefetches: hosts > SMALL_NETWORK,
        };
        let timer = switch.links.timer_name();
        switch.links.agenda.set_timer(timer, change_at);
        switch
    }

    /// Number of the switch in the graph.
    #[inline(always)]
    pub fn id(&self) -> usize {
        self.links.id
    }

    /// Prefetches the state that the arrivals of a window need, in a large network. The window ends at `end`. Handled
    /// one by one, each arrival would wait for memory; independent reads wait together.
    #[inline(always)]
    pub fn prefetch(&self, end: Instant, in_flight: &[InFlight<impl Extension, impl Copy>]) {
        if self.prefetches {
            self.prefetch_all(end, in_flight);
        }
    }

    #[inline(never)]
    fn prefetch_all(&self, end: Instant, in_flight: &[InFlight<impl Extension, impl Copy>]) {
        let mut sum = self.plane.prefetch_ports();
        let routes = &self.routes[self.epoch];
        for (ingress, port) in (0..).zip(&self.links.ports) {
            let arrivals = in_flight[port.link_in as usize].before(end).filter(|packet| packet.kind == Kind::Data);
            let flows = arrivals.fold(0, |sum: u32, packet| {
                let next = routes.next(self.index, packet.dst, |count| self.choice.likely(count, packet));
                sum.wrapping_add(next.map_or(0, |egress| self.plane.prefetch(packet, ingress, egress)))
            });
            let out = in_flight.get(port.wire.target.link as usize).map_or(0, InFlight::count);
            sum = sum.wrapping_add(port.busy_until.0 ^ port.sent.data().packets ^ flows as u64 ^ out as u64);
        }
        std::hint::black_box(sum);
    }

    /// Returns the driver of the data plane and its outlets.
    #[inline(always)]
    fn parts<'a, O: Observer>(
        &'a mut self,
        transit: &'a mut Transit<S>,
        observer: &'a mut O,
    ) -> (&'a mut Driver<D>, AtSwitch<'a, S, O>) {
        (&mut self.plane, AtSwitch { links: &mut self.links, transit, observer })
    }

    /// Handles the arrival of a frame by `ingress`.
    #[inline(always)]
    pub fn arrive<O: Observer>(
        &mut self,
        now: Instant,
        ingress: PortId,
        mut packet: Frame<S::Extension>,
        transit: &mut Transit<S>,
        observer: &mut O,
    ) {
        transit.packet_hops += 1;
        if packet.kind == Kind::Control {
            return self.obey(now, ingress, &packet, transit, observer);
        }
        let Some(egress) = self.route(now, &packet, observer) else { return };
        let (plane, mut outlets) = self.parts(transit, observer);
        plane.arrive(now, ingress, egress, &mut packet, &mut outlets);
    }

    fn obey<O: Observer>(
        &mut self,
        now: Instant,
        port: PortId,
        packet: &Packet,
        transit: &mut Transit<S>,
        observer: &mut O,
    ) {
        let Some(frame) = packet.control() else { return };
        observer.controlled(now, self.links.id, port, frame);
        self.held[port as usize].on_control(now, frame);
        if let Some(flows) = self.flows_held.get_mut(port as usize) {
            flows.on_control(now, frame);
        }
        let (plane, mut outlets) = self.parts(transit, observer);
        plane.control(now, port, frame, &mut outlets);
    }

    /// Returns the egress port for a packet; drops a packet without a route.
    #[inline(always)]
    fn route<O: Observer>(&mut self, now: Instant, packet: &Packet, observer: &mut O) -> Option<PortId> {
        let (routes, choice) = (&self.routes[self.epoch], &mut self.choice);
        let egress = routes.next(self.index, packet.dst, |count| choice.among(now, count, packet));
        if egress.is_none() {
            self.links.drops.count(DropReason::NoRoute, packet);
            observer.dropped(now, self.links.id, packet, DropReason::NoRoute);
        }
        egress
    }

    /// Polls `port`, because a transmission was to end.
    #[inline(always)]
    pub fn free<O: Observer>(&mut self, now: Instant, port: PortId, transit: &mut Transit<S>, observer: &mut O) {
        S::ended(&mut self.links.ports[port as usize].busy_until);
        let (plane, mut outlets) = self.parts(transit, observer);
        plane.poll_due(now, port, &mut outlets);
    }

    /// Returns the counters of every port up to `now`.
    pub fn stats(&mut self, now: Instant) -> impl Iterator<Item = PortStats> + use<'_, D, S> {
        self.links.ports.iter().zip(&self.links.dropped).zip(&mut self.held).map(move |((port, dropped), held)| {
            held.settle(now);
            PortStats { sent: port.sent, dropped: *dropped, held: *held }
        })
    }

    /// Returns the counts of every port up to `now`, for samples of links.
    pub fn link_counts(&mut self, now: Instant) -> Vec<LinkCount> {
        let mut flows: Vec<u64> = self.flows_held.iter_mut().map(|flows| flows.paused(now)).collect();
        flows.resize(self.links.ports.len(), 0);
        let stats: Vec<PortStats> = self.stats(now).collect();
        let queued = |port: usize| self.plane.readings().queued(port as PortId);
        stats.iter().zip(flows).enumerate().map(|(i, (stats, flows))| LinkCount::new(stats, queued(i), flows)).collect()
    }

    /// Returns the packets sent by every port.
    pub fn sent(&self) -> impl Iterator<Item = Sent> {
        self.links.ports.iter().map(|port| port.sent)
    }

    /// Returns the number of flows with data at `port`, if it is counted.
    pub fn active_flows(&self, port: PortId) -> Option<u32> {
        match self.links.meters.as_ref().and_then(|meters| meters.census.as_ref()) {
            Some(census) => Some(census.flows(port)),
            None => self.plane.readings().active_flows(port),
        }
    }

    /// Iterates over the times at which links change, ascending.
    pub fn changes(&self) -> impl Iterator<Item = Instant> {
        self.changes.iter().map(|change| change.at)
    }

    /// Handles the expiry of the timer.
    pub fn timer<O: Observer>(&mut self, now: Instant, transit: &mut Transit<S>, observer: &mut O) {
        observer.woke(now, self.links.id, Timer::Any);
        if self.links.armed <= now {
            self.links.armed = Instant::NEVER;
        }
        self.apply_changes(now, transit, observer);
        let (plane, mut outlets) = self.parts(transit, observer);
        plane.timer(now, &mut outlets);
    }

    /// Applies the changes of links that are due.
    fn apply_changes<O: Observer>(&mut self, now: Instant, transit: &mut Transit<S>, observer: &mut O) {
        while let Some(change) = self.changes.pop_front_if(|change| change.at <= now) {
            self.epoch = change.epoch;
            for (port, up) in change.ports {
                observer.link_changed(now, self.links.id, port, up);
                self.held[port as usize].on_link_change(now);
                if let Some(flows) = self.flows_held.get_mut(port as usize) {
                    flows.on_link_change(now);
                }
                let (plane, mut outlets) = self.parts(transit, observer);
                plane.link_changed(now, port, up, &mut outlets);
            }
        }
        self.links.change_at = self.changes.front().map_or(Instant::NEVER, |change| change.at);
    }
}

impl<S: Schedule> Links<S> {
    /// Returns the event that a transmission of `port` ends.
    #[inline(always)]
    fn end_at(&self, port: PortId) -> EventName {
        EventName { leaf: self.ports.len() + port as usize, node: self.id as u32, port }
    }

    #[inline(always)]
    fn timer_name(&self) -> EventName {
        EventName { leaf: 2 * self.ports.len(), node: self.id as u32, port: 0 }
    }
}

/// Outlets of a switch: links, events and measurements as its driver sees them while one event is handled.
struct AtSwitch<'a, S: Schedule, O> {
    links: &'a mut Links<S>,
    transit: &'a mut Transit<S>,
    observer: &'a mut O,
}

impl<S: Schedule, O: Observer> Outlets<S::Extension> for AtSwitch<'_, S, O> {
    const FRAMES_FIRST: bool = S::FRAMES_FIRST;

    #[inline(always)]
    fn is_free(&self, now: Instant, port: PortId) -> bool {
        let busy_until = self.links.ports[port as usize].busy_until;
        self.links.agenda.is_free(&self.transit.schedule, self.links.end_at(port), busy_until, now)
    }

    #[inline(always)]
    fn free_at(&self, port: PortId) -> Instant {
        self.links.ports[port as usize].busy_until
    }

    #[inline(always)]
    fn awaits(&self, port: PortId) -> bool {
        self.links.agenda.awaits(self.links.end_at(port))
    }

    #[inline(always)]
    fn poll_at(&mut self, port: PortId, at: Instant) {
        self.links.agenda.set_port(self.links.end_at(port), at);
    }

    fn arm(&mut self, at: Instant) {
        let timer = self.links.timer_name();
        if !S::EACH_TIMER_IS_AN_EVENT {
            return self.links.agenda.set_timer(timer, at.min(self.links.change_at));
        }
        // Changes of links are events from the start of the run.
        if at == Instant::NEVER || S::not_before(at) >= self.links.armed {
            return;
        }
        self.links.armed = S::not_before(at);
        self.links.agenda.wake_at(&mut self.transit.schedule, timer, self.links.armed);
    }

    #[inline(always)]
    fn send(&mut self, now: Instant, port: PortId, frame: &Frame<S::Extension>, departed: &Departed) -> Instant {
        let AtSwitch { links, transit, observer } = self;
        let id = links.id;
        let p = &mut links.ports[port as usize];
        let free_at = now + p.wire.ser.of_bytes(frame.wire as u64);
        p.busy_until = free_at;
        p.sent.count(frame);
        put_on_wire(&mut p.wire, transit, &mut links.drops, now, free_at, frame, |packet, reason| {
            observer.dropped(now, id, packet, reason);
        });
        if observer.sees() {
            p.last = Transmission::of(frame, departed.queue, now);
        }
        links.agenda.take_port(&mut transit.schedule, links.end_at(port), free_at);
        observer.departed(now, id, port, frame, departed);
        if let Some(meters) = &mut links.meters
            && departed.queue.is_some()
        {
            meters.leave(now, port, (frame.flow, frame.class), departed.entered);
        }
        free_at
    }

    #[inline(always)]
    fn enqueued(&mut self, now: Instant, joined: Joined, frame: &Frame<S::Extension>) {
        self.observer.enqueued(now, self.links.id, joined, frame, &self.links.ports[joined.egress as usize].last);
        if let Some(meters) = &mut self.links.meters {
            meters.enter(joined.ingress, joined.egress, frame);
        }
    }

    #[inline(always)]
    fn passed(&mut self, now: Instant, joined: Joined, frame: &Frame<S::Extension>) {
        self.observer.enqueued(now, self.links.id, joined, frame, &self.links.ports[joined.egress as usize].last);
        if let Some(meters) = &mut self.links.meters {
            meters.pass(joined.ingress, joined.egress, frame);
        }
    }

    fn dropped(&mut self, now: Instant, egress: PortId, frame: &Frame<S::Extension>, reason: DropReason) {
        self.links.dropped[egress as usize] += (reason != DropReason::Credit) as u64;
        self.links.drops.count(reason, frame);
        self.observer.dropped(now, self.links.id, frame, reason);
    }

    #[cold]
    fn discarded(&mut self, now: Instant, port: PortId, discarded: Discarded<S::Extension>, reason: DropReason) {
        let Discarded { frame, entered } = discarded;
        if let Some(meters) = &mut self.links.meters {
            meters.leave(now, port, (frame.flow, frame.class), entered);
        }
        self.dropped(now, port, &frame, reason);
    }
}
