//! Shortest paths towards one switch, and the links that carry packets there.

use crate::switches::{Ports, Switches};

const NOWHERE: u32 = u32::MAX;

/// Which links carry packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Links {
    /// `[link]`.
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

/// How packets go to one switch. One of these serves for all switches in turn.
pub(crate) struct Ways {
    /// `[switch]`: links from there, through switches only.
    distance: Vec<u32>,
    queue: Vec<usize>,
    root: usize,
    /// `[switch]`: ports by which packets come from other switches.
    into: Vec<Ports>,
    /// `[switch]`: ports by which they go on, to hosts at the end. Known of switches that packets come to.
    next: Vec<Ports>,
    /// `[switch]`: packets come to it.
    seen: Vec<bool>,
    /// Those, in the order in which they were found.
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

    /// Packets from all hosts to those of `root`, with nothing under way before.
    pub(crate) fn settle(&mut self, switches: &Switches, root: usize, links: &Links) {
        self.into.fill(Ports::default());
        self.change(switches, root, links);
    }

    /// The same, where packets came by other routes before: those under way go on by the new ones from wherever they
    /// are.
    pub(crate) fn change(&mut self, switches: &Switches, root: usize, links: &Links) {
        self.measure(switches, root, links);
        self.seen.fill(false);
        self.active.clear();
        for switch in 0..switches.ports.len() {
            if !self.into[switch].is_empty() {
                // What is on a link that fails is lost.
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

    /// Breadth first from `root`.
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

    /// Switches that packets come to, with the ports by which they come from switches and those by which they go on.
    pub(crate) fn active(&self) -> impl Iterator<Item = (usize, Ports, Ports)> {
        self.active.iter().map(|&switch| (switch, self.into[switch], self.next[switch]))
    }

    /// Links whose failure makes a path longer: a switch that packets come to has no other way on. And pairs of links
    /// of which that is so together.
    ///
    /// No other failure of as many links, on top of what has failed, brings a turn: unless the distance of a switch
    /// that packets come to grows, its next hops are what is left of those that it had. If some do grow, take the
    /// nearest of these switches: its next hops are as near as before, so all the links to them have failed.
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

    /// `[switch][ingress][egress]`, of some switches: adds the packets that take each turn, if each pair of hosts sends
    /// one, and switches deal them out evenly among next hops. The last row of a switch is that of its hosts.
    pub(crate) fn add_loads(&self, switches: &Switches, links: &Links, loads: &mut [Option<Vec<Vec<f64>>>]) {
        let homes = |switch: usize| links.hosts[switch].len() as f64;
        let to = homes(self.root);
        // Packets by ingress, those of hosts last; from the farthest switch inwards.
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
