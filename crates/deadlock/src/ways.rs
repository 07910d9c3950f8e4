//! Shortest paths to one switch, and the links that carry packets there.

use crate::switches::{Ports, Switches};

const NOWHERE: u32 = u32::MAX;

/// State of the links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Links {
    /// `[link]`: whether it is up.
    pub(crate) up: Vec<bool>,
    /// `[switch]`: ports to hosts whose links are up.
    pub(crate) hosts: Vec<Ports>,
}

impl Links {
    pub(crate) fn new(switches: &Switches, up: Vec<bool>) -> Links {
        let hosts =
            (0..switches.ports.len()).map(|switch| switches.hosts[switch].and(switches.up(switch, &up))).collect();
        Links { up, hosts }
    }
}

/// Paths of packets to one switch. One value serves for all switches in turn.
pub(crate) struct Ways {
    /// `[switch]`: hops from there to `root`, through switches only.
    distance: Vec<u32>,
    queue: Vec<usize>,
    root: usize,
    /// `[switch]`: ingress ports of packets from other switches.
    into: Vec<Ports>,
    /// `[switch]`: next hops, which are ports to hosts at `root`. Valid for active switches.
    next: Vec<Ports>,
    /// `[switch]`: whether it is active, that is, whether packets reach it.
    seen: Vec<bool>,
    /// Active switches, in the order in which they were found.
    active: Vec<usize>,
}

impl Ways {
    pub(crate) fn new(switches: &Switches) -> Ways {
        let count = switches.ports.len();
        Ways {
            distance: vec![NOWHERE; count],
            queue: Vec::with_capacity(count),
            root: 0,
            into: vec![Ports::default(); count],
            next: vec![Ports::default(); count],
            seen: vec![false; count],
            active: Vec::with_capacity(count),
        }
    }

    /// Routes packets from all hosts to the hosts of `root`, with no packet in flight before.
    pub(crate) fn settle(&mut self, switches: &Switches, root: usize, links: &Links) {
        self.into.fill(Ports::default());
        self.change(switches, root, links);
    }

    /// Routes packets from all hosts to the hosts of `root`, after other routes were in force. Packets in flight
    /// continue by the new routes from wherever they are.
    pub(crate) fn change(&mut self, switches: &Switches, root: usize, links: &Links) {
        self.measure(switches, root, links);
        self.seen.fill(false);
        self.active.clear();
        for switch in 0..switches.ports.len() {
            if !self.into[switch].is_empty() {
                // Packets on a failed link are lost.
                self.into[switch] = self.into[switch].and(switches.up(switch, &links.up));
            }
            let comes = !self.into[switch].is_empty() || !links.hosts[switch].is_empty();
            if comes && self.distance[switch] != NOWHERE {
                self.seen[switch] = true;
                self.active.push(switch);
            }
        }
        let mut done = 0;
        while let Some(&switch) = self.active.get(done) {
            done += 1;
            if switch == root {
                self.next[switch] = links.hosts[switch];
                continue;
            }
            let mut next = Ports::default();
            for (number, port) in switches.ports[switch].iter().enumerate() {
                let Some((peer, back)) = port.peer else { continue };
                if links.up[port.link] && self.distance[peer] < self.distance[switch] {
                    next.insert(number);
                    self.into[peer].insert(back);
                    if !std::mem::replace(&mut self.seen[peer], true) {
                        self.active.push(peer);
                    }
                }
            }
            self.next[switch] = next;
        }
    }

    /// Measures distances by a breadth-first search from `root`.
    fn measure(&mut self, switches: &Switches, root: usize, links: &Links) {
        self.root = root;
        self.distance.fill(NOWHERE);
        self.queue.clear();
        self.distance[root] = 0;
        self.queue.push(root);
        let mut done = 0;
        while let Some(&switch) = self.queue.get(done) {
            done += 1;
            for port in &switches.ports[switch] {
                if let Some((peer, _)) = port.peer
                    && links.up[port.link]
                    && self.distance[peer] == NOWHERE
                {
                    self.distance[peer] = self.distance[switch] + 1;
                    self.queue.push(peer);
                }
            }
        }
    }

    /// Iterates over the active switches, each with its ingress ports from switches and its next hops.
    pub(crate) fn active(&self) -> impl Iterator<Item = (usize, Ports, Ports)> {
        self.active.iter().map(|&switch| (switch, self.into[switch], self.next[switch]))
    }

    /// Returns the links whose failure makes a path longer, because an active switch has no other next hop. Also
    /// returns the pairs of links whose failure together does so.
    ///
    /// No other failure of one link (or of two), beside those already down, brings a turn. While no active switch's
    /// distance grows, each keeps those of its next hops that are left. If some distances grow, take the nearest of
    /// these switches. Its next hops are as near as before, so all the links to them have failed.
    pub(crate) fn critical(&self, switches: &Switches) -> (Vec<usize>, Vec<[usize; 2]>) {
        let (mut alone, mut pairs) = (Vec::new(), Vec::new());
        for (switch, _, next) in self.active().filter(|(switch, ..)| *switch != self.root) {
            let mut on = next.iter().map(|port| switches.ports[switch][port].link);
            match (on.next(), on.next(), on.next()) {
                (Some(only), None, _) => alone.push(only),
                (Some(a), Some(b), None) => pairs.push([a.min(b), a.max(b)]),
                _ => {}
            }
        }
        alone.sort_unstable();
        alone.dedup();
        pairs.sort_unstable();
        pairs.dedup();
        (alone, pairs)
    }

    /// Adds to `loads`, `[switch][ingress][egress]` of some switches, the packets that take each turn. Each pair of
    /// hosts sends one packet, and switches spread packets evenly over next hops. The last row of a switch is that of
    /// its hosts.
    pub(crate) fn add_loads(&self, switches: &Switches, links: &Links, loads: &mut [Option<Vec<Vec<f64>>>]) {
        let homes = |switch: usize| links.hosts[switch].len() as f64;
        let to = homes(self.root);
        // `[switch][ingress]`: packets, those of hosts last. They are passed on from the farthest switch inwards.
        let mut held: Vec<Vec<f64>> = switches.ports.iter().map(|ports| vec![0.0; ports.len() + 1]).collect();
        for &switch in self.queue.iter().rev().filter(|switch| self.seen[**switch]) {
            let ports = switches.ports[switch].len();
            held[switch][ports] = homes(switch) * if switch == self.root { to - 1.0 } else { to };
            let next = self.next[switch];
            let row = std::mem::take(&mut held[switch]);
            for (ingress, packets) in row.iter().enumerate().filter(|(_, packets)| **packets > 0.0) {
                let each = packets / next.len() as f64;
                for egress in next.iter() {
                    if let Some(loads) = &mut loads[switch] {
                        loads[ingress][egress] += each;
                    }
                    if let Some((peer, back)) = switches.ports[switch][egress].peer {
                        held[peer][back] += each;
                    }
                }
            }
        }
    }
}
