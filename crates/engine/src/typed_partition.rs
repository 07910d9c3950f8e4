//! Nodes of given types with all that they run with, as a [`Partition`].

use crate::host::params::{HostParams, Report};
use crate::host::port::{EndHost, ExtensionOf};
use crate::link::Crossing;
use crate::nodes::Nodes;
use crate::observe::{EngineObserver, Observer};
use crate::partition::{HostTotals, Partition};
use crate::schedule::Schedule;
use crate::switch_node::SwitchNode;
use crate::windows::Windows;
use backwater_counters::SwitchView;
use backwater_counters::link_meter::LinkCount;
use backwater_counters::meters::Meters;
use backwater_counters::stats::{Drops, PortStats};
use backwater_dataplane::{DataPlane, Readings};
use backwater_fabric::flow::Flow;
use backwater_types::{Instant, PortId};
use std::sync::{Arc, Mutex, RwLock};

/// Exchange of frames between partitions. All of it is double, by the parity of the window: a partition may be one
/// window ahead of another, never two.
pub struct Exchange<S: Schedule> {
    /// `[parity][from x to]`: frames.
    mail: [Vec<Mutex<Vec<Crossing<S>>>>; 2],
    /// `[parity][partition]`: order of the events of the window.
    accounts: [Vec<RwLock<S::Account>>; 2],
}

impl<S: Schedule> Exchange<S> {
    /// Creates an exchange between `partitions` partitions.
    pub fn new(partitions: usize) -> Exchange<S> {
        let mail = || (0..partitions * partitions).map(|_| Mutex::default()).collect();
        let accounts = || (0..partitions).map(|_| RwLock::default()).collect();
        Exchange { mail: [mail(), mail()], accounts: [accounts(), accounts()] }
    }
}

/// Nodes of one thread, with their parameters, observer and exchange.
pub struct TypedPartition<H: EndHost, D, O> {
    /// Nodes.
    pub nodes: Nodes<H, D>,
    /// Parameters of all hosts.
    pub params: Arc<HostParams<H::Params>>,
    /// Observer of every event.
    pub observer: O,
    /// Exchange of frames with other partitions.
    pub exchange: Arc<Exchange<H::Schedule>>,
}

impl<H, D, O> Partition for TypedPartition<H, D, O>
where
    H: EndHost<Schedule: Windows<H, D, O>>,
    D: DataPlane<Extension = ExtensionOf<H>>,
    O: EngineObserver,
{
    fn number(&self) -> usize {
        self.nodes.transit.id as usize
    }

    fn engine(&self) -> &'static str {
        std::any::type_name::<Self>()
    }

    fn has_host(&self, host: u16) -> bool {
        self.nodes.local[host as usize] != u32::MAX
    }

    fn begin(&mut self) {
        H::Schedule::begin(&mut self.nodes);
    }

    fn announce(&mut self, flow: Flow) {
        H::Schedule::announce(&mut self.nodes, flow);
    }

    fn run_window(&mut self, end: Instant, report: &mut dyn FnMut(Instant, Report)) {
        H::Schedule::run_window(&mut self.nodes, end, &self.params, report, &mut self.observer);
    }

    fn next(&self, next_flow: Instant) -> Instant {
        let local = H::Schedule::next(&self.nodes);
        H::Schedule::earliest(local.min(self.nodes.transit.outbox_next).min(next_flow))
    }

    fn hand_over(&mut self, parity: usize) {
        let (transit, exchange) = (&mut self.nodes.transit, &*self.exchange);
        let (me, n) = (transit.id as usize, transit.outbox.len());
        if n == 1 {
            return;
        }
        let mut account = exchange.accounts[parity][me].write().unwrap_or_else(|e| e.into_inner());
        transit.schedule.hand_over(&mut account);
        transit.outbox_next = Instant::NEVER;
        for to in (0..n).filter(|to| *to != me) {
            let mut mail = exchange.mail[parity][me * n + to].lock().unwrap_or_else(|e| e.into_inner());
            std::mem::swap(&mut *mail, &mut transit.outbox[to]);
        }
    }

    fn take_over(&mut self, parity: usize, end: Instant) {
        let (transit, exchange) = (&mut self.nodes.transit, &*self.exchange);
        let (me, n) = (transit.id as usize, transit.outbox.len());
        if n == 1 {
            return H::Schedule::settle(&mut self.nodes, &[], end);
        }
        for from in (0..n).filter(|from| *from != me) {
            let mut mail = exchange.mail[parity][from * n + me].lock().unwrap_or_else(|e| e.into_inner());
            transit.accept(&mut mail);
        }
        H::Schedule::settle(&mut self.nodes, &exchange.accounts[parity], end);
    }

    fn packet_hops(&self) -> u64 {
        self.nodes.transit.packet_hops
    }

    fn packets_sent(&self) -> u64 {
        let hosts = self.nodes.hosts.iter().map(|host| host.port().stats.sent);
        let sent = hosts.chain(self.nodes.switches.iter().flat_map(|switch| switch.sent()));
        sent.map(|sent| sent.data().packets + sent.acks().packets).sum()
    }

    fn ports(&mut self, now: Instant, see: &mut dyn FnMut(u32, PortId, &PortStats)) {
        for host in &mut self.nodes.hosts {
            let port = host.port_mut();
            port.stats.held.settle(now);
            see(port.id.into(), 0, &port.stats);
        }
        for switch in &mut self.nodes.switches {
            let id = switch.id() as u32;
            switch.stats(now).zip(0..).for_each(|(stats, port)| see(id, port, &stats));
        }
    }

    fn link_counts(&mut self, now: Instant, see: &mut dyn FnMut(u32, PortId, &LinkCount)) {
        for host in &mut self.nodes.hosts {
            let port = host.port_mut();
            see(port.id.into(), 0, &port.link_count(now));
        }
        for switch in &mut self.nodes.switches {
            let id = switch.id() as u32;
            switch.link_counts(now).iter().zip(0..).for_each(|(count, port)| see(id, port, count));
        }
    }

    fn hosts(&self, see: &mut dyn FnMut(HostTotals)) {
        for host in &self.nodes.hosts {
            let (port, timeouts, credits) = (host.port(), host.timeouts(), host.credits());
            see(HostTotals { number: port.id, drops: port.drops, timeouts, credits });
        }
    }

    fn switches(&mut self, see: &mut dyn FnMut(&mut dyn SwitchView)) {
        self.nodes.switches.iter_mut().for_each(|switch| see(switch));
    }

    fn add_acknowledged(&self, sum: &mut [u64]) {
        self.nodes.hosts.iter().for_each(|host| host.add_acknowledged(&self.params, sum));
    }

    fn unfinished(&self, now: Instant, see: &mut dyn FnMut(u32, bool)) {
        self.nodes.hosts.iter().for_each(|host| host.unfinished(&self.params.nic.transport, now, see));
    }

    fn detach(&mut self) -> Option<Box<dyn Observer>> {
        self.observer.detach()
    }
}

impl<D: DataPlane<Extension = S::Extension>, S: Schedule> SwitchView for SwitchNode<D, S> {
    fn number(&self) -> u32 {
        self.id() as u32
    }

    fn ports(&self) -> PortId {
        self.links.ports.len() as PortId
    }

    fn readings(&self) -> &dyn Readings {
        self.plane.readings()
    }

    fn sendable(&self, port: PortId) -> bool {
        self.plane.sendable(port)
    }

    fn active_flows(&self, port: PortId) -> Option<u32> {
        SwitchNode::active_flows(self, port)
    }

    fn drops(&self) -> &Drops {
        &self.links.drops
    }

    fn take_meters(&mut self) -> Option<Box<Meters>> {
        self.links.meters.take()
    }
}
