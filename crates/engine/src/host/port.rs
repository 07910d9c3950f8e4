//! What every host is to the engine: one port, its event queue and counters, and the interface they are driven by.

use crate::flow::Flow;
use crate::host::params::{Credits, Finished, HostParams, Timeouts};
use crate::keys::FlowKeys;
use crate::link::{Transit, put_on_wire};
use crate::link_meter::{FlowsHeld, LinkCount};
use crate::observe::{Observer, SendState, Transmission};
use crate::schedule::{Agenda, EventName, FlowTimer, Schedule};
use crate::stats::{Drops, PortStats};
use backwater_dataplane::Ring;
use backwater_fabric::wire::Wire;
use backwater_nic::NicSetup;
use backwater_types::{Frame, Instant, Kind, LibraryRand};
use std::collections::VecDeque;

/// Leaf of a host's event queue: the head frame of its incoming link.
pub const LINK: usize = 0;
/// Leaf: its port may send again.
pub const PORT: usize = 1;
/// Leaf: a flow arrives.
pub const ARRIVAL: usize = 2;
/// Leaf: any of its timers.
pub const TIMER: usize = 3;

/// What packets between hosts `H` carry beside their headers.
pub type ExtensionOf<H> = <<H as EndHost>::Schedule as Schedule>::Extension;

/// A host as the engine sees it.
pub trait EndHost: Send + Sized {
    /// Parameters of end-to-end control.
    type Params: Clone + Send + Sync;
    /// How its events are kept.
    type Schedule: Schedule;
    /// See [`backwater_transport::Transport::draw_from`].
    fn draw_from(params: &mut Self::Params, seed: u64, rand: Option<&LibraryRand>);
    /// With its port.
    fn new(port: HostPort<Self::Schedule>, setup: HostSetup) -> Self;
    /// Its port.
    fn port(&self) -> &HostPort<Self::Schedule>;
    /// Its port.
    fn port_mut(&mut self) -> &mut HostPort<Self::Schedule>;
    /// When its link or, where it asks for that, routes change.
    fn changes(&self) -> impl Iterator<Item = Instant>;
    /// A frame has arrived.
    fn arrive(
        &mut self,
        w: &mut EventContext<Self::Params, Self::Schedule, impl Observer>,
        packet: Frame<ExtensionOf<Self>>,
    );
    /// Its port is to be looked at: a transmission was to end.
    fn free(&mut self, w: &mut EventContext<Self::Params, Self::Schedule, impl Observer>);
    /// A flow starts.
    fn start(&mut self, w: &mut EventContext<Self::Params, Self::Schedule, impl Observer>, flow: Flow);
    /// All flows that start now have done so.
    fn started(&mut self, w: &mut EventContext<Self::Params, Self::Schedule, impl Observer>);
    /// The timer has run; where each time it was set to is an event, one set by its NIC says which of them this is.
    fn timer(&mut self, w: &mut EventContext<Self::Params, Self::Schedule, impl Observer>, number: u16);
    /// A clock of one of its flows strikes.
    fn expire(&mut self, w: &mut EventContext<Self::Params, Self::Schedule, impl Observer>, timer: FlowTimer);
    /// Adds the payload bytes acknowledged so far, by class.
    fn add_acknowledged(&self, params: &HostParams<Self::Params>, sum: &mut [u64]);
    /// The flows that have not finished, by number, and whether they may send now but for their NIC.
    fn unfinished(&self, params: &Self::Params, now: Instant, see: &mut dyn FnMut(u32, bool));
    /// What keeps the flow of this number, in this slot, from sending.
    fn send_state(&self, params: &HostParams<Self::Params>, now: Instant, slot: u32, flow: u32) -> SendState;
    /// Timeouts of TCP, by reason.
    fn timeouts(&self) -> Timeouts {
        Timeouts::default()
    }
    /// Credits that its flows had.
    fn credits(&self) -> Credits {
        Credits::default()
    }
}

/// What an event at a host touches beside it.
pub struct EventContext<'a, P, S: Schedule, O> {
    /// Now.
    pub now: Instant,
    /// Parameters of all hosts.
    pub params: &'a HostParams<P>,
    /// What is in flight.
    pub transit: &'a mut Transit<S>,
    /// Hears of flows that finish.
    pub finished: &'a mut (dyn FnMut(Instant, Finished) + 'a),
    /// Sees it.
    pub observer: &'a mut O,
}

/// What a host is built from, beside its port.
pub struct HostSetup {
    /// Its NIC.
    pub nic: NicSetup,
    /// Number of workloads.
    pub classes: usize,
    /// Keys of its flows.
    pub keys: FlowKeys,
    /// When its link fails or comes back, ascending.
    pub changes: VecDeque<Instant>,
    /// When routes change, ascending, where its NIC asks for that.
    pub reroutes: VecDeque<Instant>,
}

/// The port of a host, with its events and counters.
pub struct HostPort<S: Schedule> {
    /// Number in the graph, which is its address.
    pub id: u16,
    /// Events.
    pub agenda: S::Agenda<4>,
    /// Counters.
    pub stats: PortStats,
    /// Packets lost on its link.
    pub drops: Drops,
    /// Flows that the switch holds, where it is asked for and they are held one by one.
    pub flows_held: Option<Box<FlowsHeld>>,
    /// The incoming direction of its link.
    pub link_in: u32,
    /// The link is taken until then.
    pub busy_until: Instant,
    /// The outgoing direction.
    pub wire: Wire,
    /// What it sent last.
    pub last: Transmission,
    /// Flows that will arrive here.
    arrivals: Ring<Flow>,
}

impl<S: Schedule> HostPort<S> {
    /// Of host number `id`; ties between its events are drawn from `tie_seed`.
    pub fn new(id: u16, (link_in, wire): (u32, Wire), tie_seed: u64) -> HostPort<S> {
        HostPort {
            id,
            agenda: S::Agenda::new(4, tie_seed),
            stats: PortStats::default(),
            drops: Drops::default(),
            flows_held: None,
            link_in,
            busy_until: Instant::ZERO,
            wire,
            last: Transmission::NONE,
            arrivals: Ring::default(),
        }
    }

    /// What it has counted up to `now`, for what its link does over time. What waits is with flows, not here.
    pub fn link_count(&mut self, now: Instant) -> LinkCount {
        self.stats.held.settle(now);
        let flows = self.flows_held.as_mut().map_or(0, |flows| flows.paused(now));
        LinkCount::new(&self.stats, 0, flows)
    }

    /// The event that `leaf` stands for.
    #[inline(always)]
    pub fn event(&self, leaf: usize) -> EventName {
        EventName { leaf, node: self.id as u32, port: 0 }
    }

    /// The port is looked at next at `at`.
    #[inline(always)]
    pub fn poll_at(&mut self, at: Instant) {
        self.agenda.set_port(self.event(PORT), at);
    }

    /// A packet takes the link. When the link is free again.
    #[inline(always)]
    pub fn depart<O: Observer>(
        &mut self,
        now: Instant,
        packet: &Frame<S::Extension>,
        transit: &mut Transit<S>,
        observer: &mut O,
    ) -> Instant {
        observer.host_sent(now, self.id as usize, packet);
        let queue = (packet.kind == Kind::Data).then_some(packet.upstream_queue);
        self.last = Transmission::of(packet, queue, now);
        self.busy_until = now + self.wire.ser.of_bytes(packet.wire as u64);
        self.stats.sent.count(packet);
        let (free_at, id) = (self.busy_until, self.id as usize);
        put_on_wire(&mut self.wire, transit, &mut self.drops, now, free_at, packet, |packet, reason| {
            observer.dropped(now, id, packet, reason);
        });
        self.agenda.take_port(&mut transit.schedule, self.event(PORT), free_at);
        free_at
    }

    /// Whether the link is.
    #[inline(always)]
    pub fn is_free(&self, now: Instant, transit: &Transit<S>) -> bool {
        self.agenda.is_free(&transit.schedule, self.event(PORT), self.busy_until, now)
    }

    /// A flow will arrive here.
    #[inline(always)]
    pub fn announce(&mut self, flow: Flow) {
        self.arrivals.push_back(flow);
        if self.arrivals.len() == 1 {
            self.await_arrival();
        }
    }

    /// The next flow that will arrive here.
    pub fn next_flow(&self) -> Option<&Flow> {
        self.arrivals.front()
    }

    /// The next flow that arrives by `now`.
    #[inline(always)]
    pub fn arrival(&mut self, now: Instant) -> Option<Flow> {
        self.arrivals.front().is_some_and(|flow| flow.at <= now).then(|| self.arrivals.pop_front()).flatten()
    }

    /// The event queue learns when the next flow arrives.
    #[inline(always)]
    pub fn await_arrival(&mut self) {
        let next = self.arrivals.front().map_or(Instant::NEVER, |flow| flow.at);
        self.agenda.set_start(ARRIVAL, next);
    }
}
