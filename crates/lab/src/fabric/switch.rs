//! A switch of the fabric: a data plane with its links and routes.

use crate::fabric::links::{Alarm, Port, Shared, lose};
use backwater_counters::SwitchView;
use backwater_counters::link_meter::{FlowsHeld, LinkCount};
use backwater_counters::meters::Meters;
use backwater_counters::stats::{Drops, PauseStats, PortStats};
use backwater_dataplane::{DataPlane, Departed, Discarded, Driver, Joined, Outlets, Readings};
use backwater_fabric::SwitchPlan;
use backwater_fabric::choice::Choice;
use backwater_fabric::link_states::Change;
use backwater_fabric::routes::Routes;
use backwater_types::{ControlFrame, DropReason, Frame, Instant, Kind, PortId};
use std::collections::VecDeque;
use std::sync::Arc;

/// A switch.
pub(super) struct SwitchNode<D> {
    driver: Driver<D>,
    links: Links,
    held: Vec<PauseStats>,
    /// `[port]`: flows that the neighbour pauses; empty unless pauses name flows and the scenario samples links.
    flows_held: Vec<FlowsHeld>,
    /// Number among the switches.
    index: usize,
    choice: Choice,
    routes: Arc<Vec<Routes>>,
    epoch: usize,
    changes: VecDeque<Change>,
}

/// Links of a switch.
struct Links {
    /// Number of the switch in the graph.
    id: u32,
    ports: Vec<Port>,
    /// `[egress port]`: packets that the switch dropped by choice.
    dropped: Vec<u64>,
    drops: Drops,
    /// Meters of packets; only where the scenario asks for them.
    meters: Option<Box<Meters>>,
    alarm: Alarm,
    change_at: Instant,
}

/// Meters of a switch, where the scenario asks for them.
pub(super) struct Probes {
    /// Meters of packets.
    pub(super) meters: Option<Box<Meters>>,
    /// Record of the flows that a neighbour pauses.
    pub(super) flows_held: Option<FlowsHeld>,
}

impl<D: DataPlane<Extension = ()>> SwitchNode<D> {
    /// Creates the switch of a plan, with these meters, of a network with `hosts` hosts.
    pub(super) fn new(
        plan: SwitchPlan,
        plane: D,
        probes: Probes,
        hosts: usize,
        routes: Arc<Vec<Routes>>,
        shared: &mut Shared,
    ) -> SwitchNode<D> {
        let SwitchPlan { number, ports, choice, changes, .. } = plan;
        let change_at = changes.front().map_or(Instant::NEVER, |change| change.at);
        let mut alarm = Alarm::default();
        alarm.set(change_at, number as u32, &mut shared.agenda);
        SwitchNode {
            driver: Driver::new(plane),
            held: vec![PauseStats::default(); ports.len()],
            flows_held: probes.flows_held.map(|flows| vec![flows; ports.len()]).unwrap_or_default(),
            links: Links {
                id: number as u32,
                dropped: vec![0; ports.len()],
                ports: ports.into_iter().map(Port::new).collect(),
                drops: Drops::default(),
                meters: probes.meters,
                alarm,
                change_at,
            },
            index: number - hosts,
            choice,
            routes,
            epoch: 0,
            changes,
        }
    }

    /// Directions of the link into a port, and out of it.
    pub(super) fn ways(&self, port: PortId) -> [u32; 2] {
        self.links.ports[usize::from(port)].ways()
    }

    /// Handles the arrival of the next packet on the link into `ingress`.
    pub(super) fn arrive(&mut self, now: Instant, ingress: PortId, shared: &mut Shared) {
        let link = self.links.ports[ingress as usize].link_in;
        let Some(packet) = shared.take(now, link, (self.links.id, ingress)) else { return };
        shared.packet_hops += 1;
        if packet.kind == Kind::Control {
            if let Some(frame) = packet.control() {
                self.obey(now, ingress, frame, shared);
            }
            return;
        }
        let (routes, choice) = (&self.routes[self.epoch], &mut self.choice);
        let Some(egress) = routes.next(self.index, packet.dst, |count| choice.among(now, count, &packet)) else {
            return lose(&packet, DropReason::NoRoute, &mut shared.slab, &mut self.links.drops);
        };
        let (driver, mut out) = (&mut self.driver, At { links: &mut self.links, shared });
        driver.arrive(now, ingress, egress, &mut packet.into(), &mut out);
    }

    fn obey(&mut self, now: Instant, port: PortId, frame: ControlFrame, shared: &mut Shared) {
        self.held[port as usize].on_control(now, frame);
        if let Some(flows) = self.flows_held.get_mut(port as usize) {
            flows.on_control(now, frame);
        }
        self.driver.control(now, port, frame, &mut At { links: &mut self.links, shared });
    }

    /// Polls `port`, because a transmission was to end.
    pub(super) fn poll(&mut self, now: Instant, port: PortId, shared: &mut Shared) {
        if self.links.ports[port as usize].take_poll(now) {
            self.driver.poll_due(now, port, &mut At { links: &mut self.links, shared });
        }
    }

    /// Handles the expiry of the timer.
    pub(super) fn timer(&mut self, now: Instant, shared: &mut Shared) {
        if !self.links.alarm.take(now) {
            return;
        }
        while let Some(change) = self.changes.pop_front_if(|change| change.at <= now) {
            self.epoch = change.epoch;
            for (port, up) in change.ports {
                self.release(now, port);
                self.driver.link_changed(now, port, up, &mut At { links: &mut self.links, shared });
            }
        }
        self.links.change_at = self.changes.front().map_or(Instant::NEVER, |change| change.at);
        self.driver.timer(now, &mut At { links: &mut self.links, shared });
    }

    /// Forgets all pauses by the neighbour at `port`, which has started again, and tells it what is paused here.
    pub(super) fn neighbour_started(&mut self, now: Instant, port: PortId, shared: &mut Shared) {
        self.release(now, port);
        let (driver, mut out) = (&mut self.driver, At { links: &mut self.links, shared });
        driver.link_changed(now, port, true, &mut out);
        driver.timer(now, &mut out);
    }

    /// Ends all pauses by the neighbour at `port`, for the counters.
    fn release(&mut self, now: Instant, port: PortId) {
        self.held[port as usize].on_link_change(now);
        if let Some(flows) = self.flows_held.get_mut(port as usize) {
            flows.on_link_change(now);
        }
    }

    /// Returns the counters of every port up to `now`.
    pub(super) fn stats(&mut self, now: Instant) -> Vec<PortStats> {
        let ports = self.links.ports.iter().zip(&self.links.dropped).zip(&mut self.held);
        ports
            .map(|((port, dropped), held)| {
                held.settle(now);
                PortStats { sent: port.sent, dropped: *dropped, held: *held }
            })
            .collect()
    }

    /// Returns the counts of every port up to `now`, for samples of links.
    pub(super) fn link_counts(&mut self, now: Instant) -> Vec<LinkCount> {
        let mut flows: Vec<u64> = self.flows_held.iter_mut().map(|flows| flows.paused(now)).collect();
        flows.resize(self.links.ports.len(), 0);
        let stats = self.stats(now);
        let queued = |port: PortId| self.driver.readings().queued(port);
        stats
            .iter()
            .zip(flows)
            .zip(0..)
            .map(|((stats, flows), port)| LinkCount::new(stats, queued(port), flows))
            .collect()
    }
}

impl<D: DataPlane<Extension = ()>> SwitchView for SwitchNode<D> {
    fn number(&self) -> u32 {
        self.links.id
    }

    fn ports(&self) -> PortId {
        self.links.ports.len() as PortId
    }

    fn readings(&self) -> &dyn Readings {
        self.driver.readings()
    }

    fn sendable(&self, port: PortId) -> bool {
        self.driver.sendable(port)
    }

    fn active_flows(&self, port: PortId) -> Option<u32> {
        match self.links.meters.as_ref().and_then(|meters| meters.census.as_ref()) {
            Some(census) => Some(census.flows(port)),
            None => self.driver.readings().active_flows(port),
        }
    }

    fn drops(&self) -> &Drops {
        &self.links.drops
    }

    fn take_meters(&mut self) -> Option<Box<Meters>> {
        self.links.meters.take()
    }
}

/// The switch's side of its driver, while one event is handled.
struct At<'a> {
    links: &'a mut Links,
    shared: &'a mut Shared,
}

impl Outlets<()> for At<'_> {
    fn is_free(&self, now: Instant, port: PortId) -> bool {
        self.links.ports[port as usize].busy_until <= now
    }

    fn free_at(&self, port: PortId) -> Instant {
        self.links.ports[port as usize].busy_until
    }

    fn poll_at(&mut self, port: PortId, at: Instant) {
        self.links.ports[port as usize].poll_at(at, (self.links.id, port), &mut self.shared.agenda);
    }

    fn arm(&mut self, at: Instant) {
        let at = at.min(self.links.change_at);
        self.links.alarm.set(at, self.links.id, &mut self.shared.agenda);
    }

    fn send(&mut self, now: Instant, port: PortId, frame: &Frame<()>, departed: &Departed) -> Instant {
        if let Some(meters) = &mut self.links.meters
            && departed.queue.is_some()
        {
            meters.leave(now, port, (frame.flow, frame.class), departed.entered);
        }
        self.links.ports[port as usize].send(now, frame, self.shared, &mut self.links.drops)
    }

    fn enqueued(&mut self, _now: Instant, joined: Joined, frame: &Frame<()>) {
        if let Some(meters) = &mut self.links.meters {
            meters.enter(joined.ingress, joined.egress, frame);
        }
    }

    fn passed(&mut self, _now: Instant, joined: Joined, frame: &Frame<()>) {
        if let Some(meters) = &mut self.links.meters {
            meters.pass(joined.ingress, joined.egress, frame);
        }
    }

    fn dropped(&mut self, _now: Instant, egress: PortId, frame: &Frame<()>, reason: DropReason) {
        self.links.dropped[egress as usize] += 1;
        lose(frame, reason, &mut self.shared.slab, &mut self.links.drops);
    }

    fn discarded(&mut self, now: Instant, port: PortId, discarded: Discarded<()>, reason: DropReason) {
        let Discarded { frame, entered } = discarded;
        if let Some(meters) = &mut self.links.meters {
            meters.leave(now, port, (frame.flow, frame.class), entered);
        }
        self.dropped(now, port, &frame, reason);
    }
}
