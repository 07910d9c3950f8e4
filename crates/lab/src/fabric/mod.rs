//! The fabric: all switches and NICs of a scenario, through which real frames pass in virtual time.
//!
//! The fabric has no clock and no socket. Whoever holds it puts in frames with the time at which they were sent, runs
//! it up to the present, and gets the frames that have reached a host. Inside, every event happens at its virtual
//! time, however late the holder is. So a late holder delays frames at the edge, and the delay does not grow with the
//! number of hops.

mod agenda;
mod host;
mod links;
pub mod outside;
mod switch;
pub mod watchdog;

use crate::captures::Captures;
use crate::frames::Frames;
use crate::ip::{self, FiveTuple, Refused};
use crate::slab::{Handle, Slab};
use agenda::{Agenda, Event};
pub use backwater_capture::host_address as address;
use backwater_counters::SwitchView;
use backwater_counters::link_meter::LinkCount;
use backwater_counters::stats::{Drops, PortStats};
use backwater_dataplane::{Assigned, DataPlane, Shape};
use backwater_fabric::{Blueprint, network, ports, probes};
use backwater_nic::Nic;
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::Graph;
use backwater_schemes::{AckClass, Switch as Table};
use backwater_types::{Duration, Instant, PintShape, PortId, SerTime, flags};
use host::{Entry, HostNode, HostsShared};
use links::Shared;
use outside::{Emitted, Outside, Part};
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::ops::Range;
use switch::{Probes, SwitchNode};

/// Returns the host of an address, of a network with `hosts` hosts.
pub fn host_of(address: Ipv4Addr, hosts: usize) -> Option<u16> {
    let number = address.to_bits().checked_sub(self::address(0).to_bits())?;
    ((number as usize) < hosts).then_some(number as u16)
}

/// All switches, of data plane `D`, and NICs `N` of a scenario.
pub struct Fabric<D, N: Nic<Frames>> {
    shared: Shared,
    hosts_shared: HostsShared,
    hosts: Vec<HostNode<N>>,
    switches: Vec<SwitchNode<D>>,
    /// Number of the first switch, and of all nodes of the network.
    first: usize,
    node_count: usize,
    /// Number of hosts of the network.
    addresses: usize,
    /// Links to nodes of other parts, and frames that have left by them.
    outside: Vec<Outside>,
    emitted: Emitted,
    /// Longest frame, Ethernet header included.
    longest: usize,
    /// Least time that a frame takes on a link.
    shortest_hop: Duration,
    /// Highest traffic class.
    classes: u8,
    /// `[host][reason]`: frames that were not carried.
    refused: Vec<[u64; Refused::COUNT]>,
    /// Time up to which events were handled.
    reached: Instant,
}

/// A frame that has reached its host.
#[derive(Debug)]
pub struct Delivered {
    /// Time at which it did.
    pub at: Instant,
    /// The host.
    pub host: u16,
    handle: Handle,
}

impl<D: DataPlane<Extension = ()>, N: Nic<Frames>> Fabric<D, N> {
    /// Builds the network of a scenario, with switches that `plane` makes and room for `frames` frames.
    pub fn new(scenario: &Scenario, graph: &Graph, plane: impl Fn(&Shape, &Table) -> D, frames: usize) -> Fabric<D, N> {
        Fabric::part(scenario, graph, (Part::All, None), plane, frames)
    }

    /// Builds a part of the network. Watchdogs, where they are wanted, look at the pauses by other parts.
    pub fn part(
        scenario: &Scenario,
        graph: &Graph,
        (part, watchdog): (Part, Option<watchdog::Settings>),
        plane: impl Fn(&Shape, &Table) -> D,
        frames: usize,
    ) -> Fabric<D, N> {
        let mut blueprint = Blueprint::new(scenario, graph, 1, None, &PintShape::default());
        let outside = outside::outside(&mut blueprint, scenario, graph, part, watchdog);
        let nodes = part.nodes(graph);
        let longest = scenario.host.full_packet().0 as usize;
        let links = blueprint.partitions.ends[0].len();
        let mut shared = Shared {
            agenda: Agenda::new(scenario.seed),
            in_flight: vec![VecDeque::new(); links],
            slab: Slab::new(frames, longest),
            taps: None,
            packet_hops: 0,
        };
        let hosts = blueprint.hosts.into_iter().zip(0..).filter(|(_, id)| nodes.contains(&(*id as usize)));
        let host = |(plan, id): (_, u32)| {
            let beside = scenario.switch_at(&graph.nodes[graph.switch_of(id as usize)].name);
            HostNode::new(id, plan, probes::flows_held(scenario, beside), &mut shared)
        };
        let hosts: Vec<HostNode<N>> = hosts.map(host).collect();
        let ports = ports(graph);
        let switches = blueprint.switches.into_iter().filter(|plan| nodes.contains(&plan.number)).map(|plan| {
            let plane = plane(&plan.shape, plan.table);
            let meters = probes::meters(scenario, graph, plan.number, &ports[plan.number], None);
            let probes = Probes { meters, flows_held: probes::flows_held(scenario, plan.table) };
            SwitchNode::new(plan, plane, probes, graph.hosts, blueprint.routes.clone(), &mut shared)
        });
        let switches = switches.collect();
        for (link, end) in outside.iter().enumerate() {
            end.look_again(Instant::ZERO, link, &mut shared.agenda);
        }
        Fabric {
            hosts_shared: HostsShared {
                params: network(scenario, graph).nic_params(&scenario.switch, ()),
                next_flow: 0,
                seed: scenario.seed,
                named: Default::default(),
                acks_first: scenario.conventions.acks == AckClass::High,
            },
            classes: scenario.switch.priority_groups.saturating_sub(1),
            refused: vec![[0; Refused::COUNT]; graph.hosts],
            hosts,
            switches,
            first: nodes.start.max(graph.hosts),
            node_count: graph.nodes.len(),
            addresses: graph.hosts,
            outside,
            emitted: Emitted::default(),
            shared,
            longest,
            shortest_hop: shortest_hop(graph),
            reached: Instant::ZERO,
        }
    }

    /// Gives flows their numbers and hashes, before they send. Other flows get numbers after these.
    pub fn name_flows(&mut self, flows: impl Iterator<Item = (FiveTuple, u32, u32)>) {
        for (flow, number, key) in flows {
            self.hosts_shared.next_flow = self.hosts_shared.next_flow.max(number + 1);
            self.hosts_shared.named.insert(flow, (number, key));
        }
    }

    /// Writes what crosses the ports of these captures from now on.
    pub fn capture(&mut self, captures: &Captures) {
        let ways = |node: usize, port: PortId| match self.hosts.get(node) {
            Some(host) => Some(host.ways()),
            None => node.checked_sub(self.first).and_then(|node| self.switches.get(node)).map(|one| one.ways(port)),
        };
        self.shared.taps = captures.taps(ways);
        if let Some(taps) = &mut self.shared.taps {
            self.outside.iter().for_each(|outside| taps.comes_from_outside(outside.ways[0]));
        }
    }

    /// Puts in a frame that a program of `host` sent at `at`. A time before [`Fabric::reached`] counts as that.
    pub fn put(&mut self, at: Instant, host: u16, frame: &[u8]) {
        if let Err(why) = self.try_put(at, host, frame) {
            self.refuse(host, why);
        }
    }

    /// Counts a frame of `host` that is not carried.
    pub fn refuse(&mut self, host: u16, why: Refused) {
        self.refused[host as usize][why as usize] += 1;
    }

    fn try_put(&mut self, at: Instant, host: u16, frame: &[u8]) -> Result<(), Refused> {
        let seen = ip::read(frame, self.longest)?;
        let dst = host_of(seen.flow.destination, self.addresses).filter(|dst| *dst != host).ok_or(Refused::NoHost)?;
        let handle = self.shared.slab.put(frame).ok_or(Refused::NoRoom)?;
        let wire = (frame.len() as u16).max(ip::SMALLEST_WIRE);
        let class = (frame[ip::ETHERNET + 1] >> 5).min(self.classes);
        let entry = Entry { handle, seen, dst, wire, class };
        self.hosts[host as usize].queue(at.max(self.reached), entry, &mut self.shared);
        Ok(())
    }

    /// Handles all events up to `until`, and passes every frame that reaches a host to `deliver`, with its time.
    pub fn run(&mut self, until: Instant, deliver: &mut impl FnMut(Instant, u16, &[u8])) {
        while let Some(frame) = self.deliver(until) {
            deliver(frame.at, frame.host, self.bytes(&frame));
            self.free(frame);
        }
    }

    /// Handles events up to `until`, but none after one by which a frame reaches a host. The frame stays in the store
    /// until the caller [frees](Fabric::free) it. `None`: all events up to `until` were handled.
    pub fn deliver(&mut self, until: Instant) -> Option<Delivered> {
        while let Some((now, event)) = self.shared.agenda.pop(until) {
            self.reached = now;
            let (hosts, shared) = (&mut self.hosts_shared, &mut self.shared);
            match event {
                Event::Enter(host) => self.hosts[host as usize].enter(now, hosts, shared),
                Event::Arrival(node, port) => {
                    if let Some(handle) = self.arrive(now, node as usize, port) {
                        return Some(Delivered { at: now, host: node as u16, handle });
                    }
                }
                Event::Poll(node, port) => match self.hosts.get_mut(node as usize) {
                    Some(host) => host.poll(now, hosts, shared),
                    None => self.switches[node as usize - self.first].poll(now, port, shared),
                },
                Event::Timer(node) => match self.hosts.get_mut(node as usize) {
                    Some(host) => host.timer(now, hosts, shared),
                    None => self.switches[node as usize - self.first].timer(now, shared),
                },
                Event::Started(node, port) => match self.hosts.get_mut(node as usize) {
                    Some(host) => host.neighbour_started(now, hosts, shared),
                    None => self.switches[node as usize - self.first].neighbour_started(now, port, shared),
                },
                Event::Outside(link) => self.outside_alarm(now, link as usize),
            }
        }
        self.reached = self.reached.max(until);
        if let Some(taps) = &mut self.shared.taps {
            taps.settle(self.reached);
        }
        None
    }

    /// Lets the next packet of a link arrive at a node. Returns the frame of a packet that has reached its host.
    fn arrive(&mut self, now: Instant, node: usize, port: PortId) -> Option<Handle> {
        if let Some(link) = node.checked_sub(self.node_count) {
            self.leave(now, link);
            return None;
        }
        let (hosts, shared) = (&mut self.hosts_shared, &mut self.shared);
        let Some(host) = self.hosts.get_mut(node) else {
            self.switches[node - self.first].arrive(now, port, shared);
            return None;
        };
        let packet = host.arrive(now, hosts, shared)?;
        let handle = Handle::of(&packet)?;
        if packet.has(flags::CE) {
            ip::mark(shared.slab.bytes_mut(&handle));
        }
        Some(handle)
    }

    /// Returns the bytes of a frame that has reached its host.
    pub fn bytes(&self, frame: &Delivered) -> &[u8] {
        self.shared.slab.bytes(&frame.handle)
    }

    /// Frees a frame that has reached its host.
    pub fn free(&mut self, frame: Delivered) {
        self.shared.slab.free(frame.handle);
    }

    /// Time of the next event; [`Instant::NEVER`] if nothing is pending.
    pub fn next(&self) -> Instant {
        self.shared.agenda.next()
    }

    /// Earliest time at which a frame can leave the fabric, for a host or another part, if no more come in;
    /// [`Instant::NEVER`] if none can. Until then no event shows outside.
    pub fn next_out(&self) -> Instant {
        let hosts = self.hosts.iter().map(|host| host.link_in());
        let ways = hosts.chain(self.outside.iter().map(|outside| outside.ways[1]));
        let leaves = ways.map(|way| self.shared.next_arrival(way)).min().unwrap_or(Instant::NEVER);
        // All other frames cross a link after some later event.
        let next = self.next();
        leaves.min(if next == Instant::NEVER { next } else { next + self.shortest_hop })
    }

    /// Time up to which events were handled.
    pub fn reached(&self) -> Instant {
        self.reached
    }

    /// Numbers of its nodes.
    pub fn nodes(&self) -> Range<usize> {
        let first = if self.hosts.is_empty() { self.first } else { 0 };
        first..first + self.hosts.len() + self.switches.len()
    }

    /// Number of frames inside.
    pub fn frames(&self) -> usize {
        self.shared.slab.used()
    }

    /// Frames of `host` that were not carried, by reason.
    pub fn refused(&self, host: u16) -> [u64; Refused::COUNT] {
        self.refused[host as usize]
    }

    /// Frames that were dropped by switches and NICs, or lost on links.
    pub fn dropped(&self) -> u64 {
        let hosts = self.hosts.iter().map(|host| host.drops());
        let drops = hosts.chain(self.switches.iter().map(|switch| *switch.drops()));
        drops.map(|drops| drops.packets.iter().sum::<u64>()).sum()
    }

    /// Packets that fully crossed a link.
    pub fn packet_hops(&self) -> u64 {
        self.shared.packet_hops
    }

    /// Calls `see` with every switch.
    pub fn switches(&mut self, see: &mut dyn FnMut(&mut dyn SwitchView)) {
        self.switches.iter_mut().for_each(|switch| see(switch));
    }

    /// Packets that the NIC of `host` dropped, or that its link lost.
    pub fn host_drops(&self, host: u16) -> Drops {
        self.hosts[usize::from(host)].drops()
    }

    /// Returns the queue assignments of every port, in the order of [`Fabric::stats`].
    pub fn assigned(&self) -> Vec<Assigned> {
        let hosts = self.hosts.iter().map(|_| Assigned::default());
        let of = |switch: &SwitchNode<D>| -> Vec<Assigned> {
            (0..SwitchView::ports(switch)).map(|port| switch.readings().assigned(port)).collect()
        };
        hosts.chain(self.switches.iter().flat_map(of)).collect()
    }

    /// Returns the counters of every port up to `now`: hosts first, then switches port by port.
    pub fn stats(&mut self, now: Instant) -> Vec<PortStats> {
        let hosts: Vec<PortStats> = self.hosts.iter_mut().map(|host| host.stats(now)).collect();
        hosts.into_iter().chain(self.switches.iter_mut().flat_map(|switch| switch.stats(now))).collect()
    }

    /// Calls `see` with node, port and counts up to `now` of every port, in the order of [`Fabric::stats`].
    pub fn link_counts(&mut self, now: Instant, see: &mut dyn FnMut(u32, PortId, &LinkCount)) {
        for (host, id) in self.hosts.iter_mut().zip(0..) {
            see(id, 0, &host.link_count(now));
        }
        for switch in &mut self.switches {
            let id = switch.number();
            switch.link_counts(now).iter().zip(0..).for_each(|(count, port)| see(id, port, count));
        }
    }
}

/// Least time that a frame takes on a link.
fn shortest_hop(graph: &Graph) -> Duration {
    let smallest = ip::SMALLEST_WIRE.into();
    let hops = graph.links.iter().map(|link| link.delay + SerTime::of(link.rate).of_bytes(smallest));
    hops.min().unwrap_or(Duration::ZERO)
}
