//! A network whose events come one by one, in the order in which they were scheduled: the order of ns-3.
//!
//! Node by node (see [`crate::engine`]) is faster and fair to all ports, but it has no order between events of different nodes at
//! one instant. In the HPCC simulator, whose times are whole nanoseconds, thousands of them coincide, and which of two packets
//! joins a queue first decides which is marked: sixteen senders into one port end up to 12 % apart when ties are broken
//! otherwise. Flow by flow, only its own order will do. One thread, any hosts that can be driven event by event.

use crate::compat::hpcc::wheel::{Event, What, Wheel};
use crate::engine::{Windows, Worker};
use crate::host::port::EndHost;
use crate::host::{Finished, HostParams};
use crate::net::build::Nodes;
use crate::net::link::Fabric;
use crate::observe::Observer;
use crate::workload::Flow;
use backwater_dataplane::DataPlane;
use backwater_types::{Instant, Packet};
use std::collections::VecDeque;

/// What a host is told, one event at a time.
#[derive(Clone, Copy, Debug)]
pub enum HostEvent {
    /// A frame has arrived.
    Arrival(Packet),
    /// Its port has finished a transmission.
    Free,
    /// A flow starts.
    Start(Flow),
    /// A timer it set, or its link failed or came back.
    Timer,
}

/// A host that can be driven event by event. It schedules its own events through [`Fabric::schedule`].
pub trait OrderedHost: EndHost {
    /// Handles one event.
    fn handle<O: Observer>(
        &mut self,
        now: Instant,
        event: HostEvent,
        params: &HostParams<Self::Params>,
        fabric: &mut Fabric,
        finished: &mut impl FnMut(Instant, Finished),
        observer: &mut O,
    );
    /// When its link changes, ascending.
    fn changes(&self) -> impl Iterator<Item = Instant>;
}

/// Flows that start within the window.
#[derive(Default)]
pub struct InOrder {
    starts: VecDeque<Flow>,
}

impl<H: OrderedHost, D: DataPlane, O: Observer> Windows<H, D, O> for InOrder {
    fn new(nodes: &mut Nodes<H, D>) -> InOrder {
        let mut wheel = Wheel::default();
        let hosts = nodes.hosts.len() as u32;
        for (node, host) in (0..).zip(&nodes.hosts) {
            host.changes().for_each(|at| wheel.push(at, Event::new(What::Timer, node, 0)));
        }
        for (node, switch) in (hosts..).zip(&nodes.switches) {
            switch.changes().for_each(|at| wheel.push(at, Event::new(What::Timer, node, 0)));
        }
        nodes.fabric.wheel = Some(Box::new(wheel));
        InOrder::default()
    }

    fn announce(&mut self, _nodes: &mut Nodes<H, D>, flow: Flow) {
        self.starts.push_back(flow);
    }

    fn next(&self, nodes: &Nodes<H, D>) -> Instant {
        nodes.fabric.wheel.as_ref().map_or(Instant::NEVER, |wheel| wheel.next())
    }

    /// A flow starts behind everything else of its instant: what starts it was scheduled at that instant.
    fn run_window(&mut self, worker: &mut Worker<H, D, O>, end: Instant) {
        let (nodes, params, observer, mut record) = worker.parts();
        let hosts = nodes.hosts.len();
        loop {
            let start = self.starts.front().map_or(Instant::NEVER, |flow| flow.at);
            let until = if start < end { Instant(start.0 + 1) } else { end };
            while let Some((now, event, packet)) = nodes.fabric.wheel.as_mut().and_then(|wheel| wheel.pop_before(until))
            {
                let (what, node, port) = event.parts();
                if node < hosts {
                    let event = match what {
                        What::Arrival => HostEvent::Arrival(packet),
                        What::Free => HostEvent::Free,
                        What::Timer => HostEvent::Timer,
                    };
                    nodes.hosts[node].handle(now, event, params, &mut nodes.fabric, &mut record, observer);
                } else {
                    let switch = &mut nodes.switches[node - hosts];
                    match what {
                        What::Arrival => switch.arrived(now, port, packet, &mut nodes.fabric, observer),
                        What::Free => switch.freed(now, port, &mut nodes.fabric, observer),
                        What::Timer => switch.changed(now, &mut nodes.fabric, observer),
                    }
                }
            }
            if start >= end {
                return;
            }
            if let Some(flow) = self.starts.pop_front() {
                let host = &mut nodes.hosts[flow.src as usize];
                host.handle(start, HostEvent::Start(flow), params, &mut nodes.fabric, &mut record, observer);
            }
        }
    }
}
