//! Port of a host, with its event queue and counters, and the interface by which the engine drives a host.

use crate::host::params::{HostParams, Report};
use crate::link::{Transit, put_on_wire};
use crate::observe::{Observer, SendState, Transmission};
use crate::schedule::{Agenda, EventName, FlowTimer, Schedule};
use backwater_counters::link_meter::{FlowsHeld, LinkCount};
use backwater_counters::stats::{Drops, PortStats};
use backwater_counters::{Credits, Timeouts};
use backwater_dataplane::Ring;
use backwater_fabric::flow::Flow;
use backwater_fabric::keys::FlowKeys;
use backwater_fabric::wire::Wire;
use backwater_nic::NicSetup;
use backwater_types::{Frame, Instant, Kind, LibraryRand};
use std::collections::VecDeque;

/// Leaf of a host's event queue: the head frame of its incoming link arrives.
pub const LINK: usize = 0;
/// Leaf: the port may send again.
pub const PORT: usize = 1;
/// Leaf: a flow arrives.
pub const ARRIVAL: usize = 2;
/// Leaf: the earliest timer expires.
pub const TIMER: usize = 3;

/// Metadata that packets between hosts `H` carry beside their headers.
pub type ExtensionOf<H> = <<H as EndHost>::Schedule as Schedule>::Extension;

/// Host, as the engine sees it.
pub trait EndHost: Send + Sized {
    /// Parameters of the transport.
    type Params: Clone + Send + Sync;
    /// Schedule that keeps the host's events.
    type Schedule: Schedule;
    /// Draws random parameters: see [`backwater_transport::Transport::draw_from`].
    fn draw_from(params: &mut Self::Params, seed: u64, rand: Option<&LibraryRand>);
    /// Creates a host with its port.
    fn new(port: HostPort<Self::Schedule>, setup: HostSetup) -> Self;
    /// Returns the port.
    fn port(&self) -> &HostPort<Self::Schedule>;
    /// Returns the port.
    fn port_mut(&mut self) -> &mut HostPort<Self::Schedule>;
    /// Iterates over the times at which the link changes, and routes where the NIC asks for that.
    fn changes(&self) -> impl Iterator<Item = Instant>;
    /// Prefetches the flows that acknowledgements and pauses name, where many flows are open. `frames` are those that
    /// arrive in a window. Handled one by one, each would wait for memory; independent reads wait together.
    fn prefetch<'a>(&self, frames: impl Iterator<Item = &'a Frame<ExtensionOf<Self>>>)
    where
        Self: 'a;
    /// Handles the arrival of a frame.
    fn arrive(
        &mut self,
        w: &mut EventContext<Self::Params, Self::Schedule, impl Observer>,
        packet: Frame<ExtensionOf<Self>>,
    );
    /// Polls the port, because a transmission was to end.
    fn free(&mut self, w: &mut EventContext<Self::Params, Self::Schedule, impl Observer>);
    /// Starts a flow.
    fn start(&mut self, w: &mut EventContext<Self::Params, Self::Schedule, impl Observer>, flow: Flow);
    /// Ends the starts of an instant: all flows that start now have started.
    fn started(&mut self, w: &mut EventContext<Self::Params, Self::Schedule, impl Observer>);
    /// Handles the expiry of the timer. Where each setting of a timer is an event, `number` says which timer of the NIC
    /// this is.
    fn timer(&mut self, w: &mut EventContext<Self::Params, Self::Schedule, impl Observer>, number: u16);
    /// Handles the expiry of a timer of one flow.
    fn expire(&mut self, w: &mut EventContext<Self::Params, Self::Schedule, impl Observer>, timer: FlowTimer);
    /// Adds the payload bytes acknowledged so far to `sum`, `[workload]`.
    fn add_acknowledged(&self, params: &HostParams<Self::Params>, sum: &mut [u64]);
    /// Calls `see` with the number of each flow that has not finished, and whether only the NIC keeps it from sending
    /// now.
    fn unfinished(&self, params: &Self::Params, now: Instant, see: &mut dyn FnMut(u32, bool));
    /// Returns whether flow number `flow`, in `slot`, may send, and if not, why.
    fn send_state(&self, params: &HostParams<Self::Params>, now: Instant, slot: u32, flow: u32) -> SendState;
    /// Returns the timeouts of TCP, by reason.
    fn timeouts(&self) -> Timeouts {
        Timeouts::default()
    }
    /// Returns the credits that the host's flows received.
    fn credits(&self) -> Credits {
        Credits::default()
    }
}

/// Context of an event at a host: the time, and the state outside the host that the event touches.
pub struct EventContext<'a, P, S: Schedule, O> {
    /// Current time.
    pub now: Instant,
    /// Parameters of all hosts.
    pub params: &'a HostParams<P>,
    /// Frames in transit.
    pub transit: &'a mut Transit<S>,
    /// Hears what the host reports.
    pub report: &'a mut (dyn FnMut(Instant, Report) + 'a),
    /// Observer of the event.
    pub observer: &'a mut O,
}

/// Setup of a host, beside its port.
pub struct HostSetup {
    /// Setup of the NIC.
    pub nic: NicSetup,
    /// Number of workloads.
    pub classes: usize,
    /// Keys of the host's flows.
    pub keys: FlowKeys,
    /// Times at which the link fails or comes back, ascending.
    pub changes: VecDeque<Instant>,
    /// Times at which routes change, ascending, if the NIC asks for them.
    pub reroutes: VecDeque<Instant>,
}

/// Port of a host, with its events and counters.
pub struct HostPort<S: Schedule> {
    /// Number of the host in the graph, which is its address.
    pub id: u16,
    /// Pending events.
    pub agenda: S::Agenda<4>,
    /// Counters.
    pub stats: PortStats,
    /// Packets lost on the link or dropped by the NIC.
    pub drops: Drops,
    /// Flows that the switch pauses, if pauses name flows and the scenario samples links.
    pub flows_held: Option<Box<FlowsHeld>>,
    /// Incoming direction of the link.
    pub link_in: u32,
    /// End of the current transmission.
    pub busy_until: Instant,
    /// Outgoing direction of the link.
    pub wire: Wire,
    /// Last transmission.
    pub last: Transmission,
    /// Flows that will arrive at the host, in order of time.
    arrivals: Ring<Flow>,
}

impl<S: Schedule> HostPort<S> {
    /// Creates the port of host number `id`. Ties between its events are drawn from `tie_seed`.
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

    /// Returns the counts up to `now`, for samples of links. Queued data is 0, because data waits with flows, not at
    /// the port.
    pub fn link_count(&mut self, now: Instant) -> LinkCount {
        self.stats.held.settle(now);
        let flows = self.flows_held.as_mut().map_or(0, |flows| flows.paused(now));
        LinkCount::new(&self.stats, 0, flows)
    }

    /// Returns the event of `leaf`.
    #[inline(always)]
    pub fn event(&self, leaf: usize) -> EventName {
        EventName { leaf, node: self.id as u32, port: 0 }
    }

    /// Schedules the next poll of the port at `at`.
    #[inline(always)]
    pub fn poll_at(&mut self, at: Instant) {
        self.agenda.set_port(self.event(PORT), at);
    }

    /// Puts a packet on the link. Returns when the link is free again.
    #[inline(always)]
    pub fn depart<O: Observer>(
        &mut self,
        now: Instant,
        packet: &Frame<S::Extension>,
        transit: &mut Transit<S>,
        observer: &mut O,
    ) -> Instant {
        observer.host_sent(now, self.id as usize, packet);
        if observer.sees() {
            let queue = (packet.kind == Kind::Data).then_some(packet.upstream_queue);
            self.last = Transmission::of(packet, queue, now);
        }
        self.busy_until = now + self.wire.ser.of_bytes(packet.wire as u64);
        self.stats.sent.count(packet);
        let (free_at, id) = (self.busy_until, self.id as usize);
        put_on_wire(&mut self.wire, transit, &mut self.drops, now, free_at, packet, |packet, reason| {
            observer.dropped(now, id, packet, reason);
        });
        self.agenda.take_port(&mut transit.schedule, self.event(PORT), free_at);
        free_at
    }

    /// Whether the link is free.
    #[inline(always)]
    pub fn is_free(&self, now: Instant, transit: &Transit<S>) -> bool {
        self.agenda.is_free(&transit.schedule, self.event(PORT), self.busy_until, now)
    }

    /// Queues a flow that will arrive at the host.
    #[inline(always)]
    pub fn announce(&mut self, flow: Flow) {
        self.arrivals.push_back(flow);
        if self.arrivals.len() == 1 {
            self.await_arrival();
        }
    }

    /// Returns the next flow that will arrive at the host.
    pub fn next_flow(&self) -> Option<&Flow> {
        self.arrivals.front()
    }

    /// Takes the next flow that arrives by `now`.
    #[inline(always)]
    pub fn arrival(&mut self, now: Instant) -> Option<Flow> {
        self.arrivals.front().is_some_and(|flow| flow.at <= now).then(|| self.arrivals.pop_front()).flatten()
    }

    /// Schedules the arrival of the next flow.
    #[inline(always)]
    pub fn await_arrival(&mut self) {
        let next = self.arrivals.front().map_or(Instant::NEVER, |flow| flow.at);
        self.agenda.set_start(ARRIVAL, next);
    }
}
