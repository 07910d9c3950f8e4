//! Order of ns-3 from one list of all events: the events of the network come one by one, in the order in which they
//! were scheduled.
//!
//! Node by node ([`crate::node_by_node`]) is faster and fair to all ports, but it has no order between events of
//! different nodes at one instant. In the HPCC simulator, whose times are whole nanoseconds, thousands of events
//! coincide, and which of two packets joins a queue first decides which is marked. Sixteen senders into one port end up
//! to 12 % apart when ties are broken otherwise. A comparison flow by flow needs the simulator's own order. This
//! schedule runs on one thread.
//!
//! A port is taken until the end of its transmission has come as an event of its own. A frame that arrives at the same
//! instant but was scheduled earlier still finds the port taken, and is counted in the queue when the next packet is
//! marked.

use crate::host::params::{HostParams, Report};
use crate::host::port::{EndHost, EventContext};
use crate::hpcc::wheel::{Event, EventKind, Wheel};
use crate::nodes::Nodes;
use crate::observe::Observer;
use crate::schedule::{Agenda, EventName, FlowTimer, Schedule};
use crate::windows::Windows;
use backwater_dataplane::DataPlane;
use backwater_fabric::flow::Flow;
use backwater_fabric::wire::Target;
use backwater_types::{DropReason, Duration, Extension, Frame, Instant, Kind};
use std::collections::VecDeque;

/// Schedule of one partition that holds all events of the network.
#[derive(Debug)]
pub struct InOrder<E = ()> {
    wheel: Wheel<E>,
    /// Flows that start within the window.
    starts: VecDeque<Flow>,
}

/// Agenda of a node, which is empty: all events are in the list of the network, and stay there until they come.
pub struct NoAgenda;

impl<E: Extension> Schedule for InOrder<E> {
    type Extension = E;
    type Agenda<const LEAVES: usize> = NoAgenda;
    type Stamp = ();
    type Account = ();
    const FRAMES_FIRST: bool = true;
    const EACH_TIMER_IS_AN_EVENT: bool = true;

    fn new(_partition: u16, _nodes: usize, _links: usize, _longest: Duration) -> InOrder<E> {
        InOrder { wheel: Wheel::default(), starts: VecDeque::new() }
    }

    #[inline(always)]
    fn stamp(&mut self, at: Instant) -> (Instant, ()) {
        (at, ())
    }

    /// Events come at whole nanoseconds.
    fn not_before(at: Instant) -> Instant {
        Instant(at.0.div_ceil(1000) * 1000)
    }

    #[inline(always)]
    fn deliver(&mut self, to: Target, at: Instant, _stamp: (), frame: &Frame<E>) {
        self.wheel.push_frame(at, Event::new(EventKind::Arrival, to.node, to.port), frame);
    }

    #[inline(always)]
    fn ended(busy_until: &mut Instant) {
        *busy_until = Instant::ZERO;
    }
}

impl<E: Extension> Agenda<InOrder<E>> for NoAgenda {
    fn new(_leaves: usize, _tie_seed: u64) -> NoAgenda {
        NoAgenda
    }

    #[inline(always)]
    fn take_port(&mut self, schedule: &mut InOrder<E>, port: EventName, until: Instant) {
        schedule.wheel.push(until, Event::new(EventKind::Free, port.node, port.port));
    }

    #[inline(always)]
    fn is_free(&self, _schedule: &InOrder<E>, _port: EventName, busy_until: Instant, _now: Instant) -> bool {
        busy_until == Instant::ZERO
    }

    #[inline(always)]
    fn awaits(&self, _port: EventName) -> bool {
        true
    }

    /// Does nothing: the port is polled at the end of each transmission, whether a frame waits or not.
    #[inline(always)]
    fn set_port(&mut self, _port: EventName, _at: Instant) {}

    /// Does nothing: flows start from a list of the network.
    fn set_start(&mut self, _leaf: usize, _at: Instant) {}

    #[inline(always)]
    fn wake_at(&mut self, schedule: &mut InOrder<E>, timer: EventName, at: Instant) {
        schedule.wheel.push(at, Event::new(EventKind::Timer, timer.node, timer.port));
    }

    fn set_flow_timer(&mut self, schedule: &mut InOrder<E>, node: EventName, at: Instant, timer: FlowTimer) {
        schedule.wheel.push_flow_timer(at, node.node, timer);
    }

    /// Does nothing: each setting of the timer was an event.
    #[inline(always)]
    fn set_timer(&mut self, _timer: EventName, _at: Instant) {}
}

impl<E: Extension, H, D, O: Observer> Windows<H, D, O> for InOrder<E>
where
    H: EndHost<Schedule = InOrder<E>>,
    D: DataPlane<Extension = E>,
{
    fn begin(nodes: &mut Nodes<H, D>) {
        let wheel = &mut nodes.transit.schedule.wheel;
        let hosts = nodes.hosts.len() as u32;
        for (node, host) in (0..).zip(&nodes.hosts) {
            host.changes().for_each(|at| wheel.push(at, Event::new(EventKind::Timer, node, 0)));
        }
        for (node, switch) in (hosts..).zip(&nodes.switches) {
            switch.changes().for_each(|at| wheel.push(at, Event::new(EventKind::Timer, node, 0)));
        }
    }

    fn announce(nodes: &mut Nodes<H, D>, flow: Flow) {
        nodes.transit.schedule.starts.push_back(flow);
    }

    fn next(nodes: &Nodes<H, D>) -> Instant {
        nodes.transit.schedule.wheel.next()
    }

    /// A flow starts after all other events of its instant, because the event that starts it was scheduled at that
    /// instant.
    fn run_window(
        nodes: &mut Nodes<H, D>,
        end: Instant,
        params: &HostParams<H::Params>,
        report: &mut dyn FnMut(Instant, Report),
        observer: &mut O,
    ) {
        let (hosts, transit) = (nodes.hosts.len(), &mut nodes.transit);
        loop {
            let start = transit.schedule.starts.front().map_or(Instant::NEVER, |flow| flow.at);
            let until = if start < end { Instant(start.0 + 1) } else { end };
            while let Some((now, event, packet)) = transit.schedule.wheel.pop_before(until) {
                let (kind, node, port) = event.parts();
                if kind == EventKind::Arrival
                    && let Some(errors) = &mut transit.errors
                    && errors.strike(node, port)
                {
                    let drops = match nodes.hosts.get_mut(node) {
                        Some(host) => &mut host.port_mut().drops,
                        None => &mut nodes.switches[node - hosts].links.drops,
                    };
                    if packet.kind != Kind::Control {
                        drops.count(DropReason::LinkLoss, &packet);
                        observer.dropped(now, node, &packet, DropReason::LinkLoss);
                    }
                    continue;
                }
                if let Some(host) = nodes.hosts.get_mut(node) {
                    let w = &mut EventContext { now, params, transit, report, observer };
                    match kind {
                        EventKind::Arrival => host.arrive(w, packet),
                        EventKind::Free => host.free(w),
                        EventKind::Timer => host.timer(w, port),
                        EventKind::FlowTimer => {
                            let (slot, flow, number) = (packet.sender_slot, packet.flow, packet.class);
                            host.expire(w, FlowTimer { slot, flow, number });
                        }
                    }
                    observer.host_settled(now, node, &host.port().last, &|slot, flow| {
                        host.send_state(params, now, slot, flow)
                    });
                } else {
                    let switch = &mut nodes.switches[node - hosts];
                    match kind {
                        EventKind::Arrival => switch.arrive(now, port, packet, transit, observer),
                        EventKind::Free => switch.free(now, port, transit, observer),
                        EventKind::Timer => switch.timer(now, transit, observer),
                        EventKind::FlowTimer => unreachable!("flows are at hosts"),
                    }
                    observer.settled(now, switch.id(), switch.plane.readings());
                }
            }
            if start >= end {
                return;
            }
            if let Some(flow) = transit.schedule.starts.pop_front() {
                let host = &mut nodes.hosts[flow.src as usize];
                // The host starts the flow at the whole nanosecond. Within a nanosecond no event comes there, so a
                // timer set for later in the nanosecond would expire before its time.
                let now = Instant(start.0 / 1000 * 1000);
                let w = &mut EventContext { now, params, transit, report, observer };
                host.start(w, flow);
                host.started(w);
                let id = usize::from(flow.src);
                observer
                    .host_settled(now, id, &host.port().last, &|slot, flow| host.send_state(params, now, slot, flow));
            }
        }
    }
}
