//! Shortest-path routes with equal-cost choice by a hash of the flow.

use crate::hpcc;
use backwater_scenario::model::{Paths, Scenario};
use backwater_scenario::topology::Graph;
use backwater_types::{Packet, hash};
use std::collections::VecDeque;

/// The next hops of every switch towards every host, for one state of the links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routes {
    hosts: usize,
    /// `[switch x host]`: where its ports start in `ports`, and how many there are.
    spans: Vec<(u32, u16)>,
    ports: Vec<u16>,
}

impl Routes {
    /// Routes over the links that are `up`. Ports of a set are in the order of the node's links, or as the HPCC simulator meets
    /// the nodes behind them.
    pub fn new(graph: &Graph, up: &[bool], rule: Paths) -> Routes {
        let neighbours = neighbours(graph, up);
        let switches = graph.nodes.len() - graph.hosts;
        let mut spans = vec![(0, 0); switches * graph.hosts];
        let mut ports = Vec::new();
        // All hosts of a switch share its distances: one search per switch with hosts, not per host.
        let mut by_switch: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len()];
        (0..graph.hosts).for_each(|host| by_switch[graph.switch_of(host)].push(host));
        let order = match rule {
            Paths::Salted => None,
            Paths::HpccSim => Some(hpcc::neighbours(graph, up)),
        };
        for (root, hosts) in by_switch.iter().enumerate().filter(|(_, hosts)| !hosts.is_empty()) {
            let distance = distances(graph, &neighbours, root);
            let met = order.as_ref().map(|near| met(graph, near, root));
            for switch in graph.hosts..graph.nodes.len() {
                let start = ports.len();
                if switch != root && distance[switch] != u32::MAX {
                    for (port, neighbour) in neighbours[switch].iter().enumerate() {
                        if neighbour.is_some_and(|n| n >= graph.hosts && distance[n] + 1 == distance[switch]) {
                            ports.push(port as u16);
                        }
                    }
                    if let Some(met) = &met {
                        let behind = |port: &u16| neighbours[switch][*port as usize].map(|node| met[node]);
                        ports[start..].sort_by_key(behind);
                    }
                }
                let shared = (start as u32, (ports.len() - start) as u16);
                for host in hosts {
                    let span = &mut spans[(switch - graph.hosts) * graph.hosts + host];
                    *span = shared;
                    if switch == root {
                        let own = neighbours[switch].iter().position(|n| *n == Some(*host));
                        *span = (ports.len() as u32, own.is_some() as u16);
                        ports.extend(own.map(|port| port as u16));
                    }
                }
            }
        }
        Routes { hosts: graph.hosts, spans, ports }
    }

    /// The port of `switch` (counted without hosts) for a packet; `None` if there is no way.
    #[inline(always)]
    pub fn next(&self, switch: usize, packet: &Packet, choice: &Choice) -> Option<u16> {
        let (start, count) = self.spans[switch * self.hosts + packet.dst as usize];
        match count {
            0 => None,
            1 => Some(self.ports[start as usize]),
            n => Some(self.ports[start as usize + choice.among(n as u32, packet) as usize]),
        }
    }
}

/// How one switch chooses among equal-cost next hops.
#[derive(Clone, Debug)]
pub enum Choice {
    /// The packet's key, hashed with this salt.
    Salted(u64),
    /// As in the HPCC simulator.
    Hpcc {
        /// Number of the switch.
        seed: u32,
        /// `[host]`: its address.
        addresses: Vec<u32>,
    },
}

impl Choice {
    /// Of switch number `switch` of the graph.
    pub fn new(scenario: &Scenario, graph: &Graph, switch: usize) -> Choice {
        match scenario.conventions.paths {
            Paths::Salted => {
                let number = if scenario.switch.symmetric_ecmp { 0 } else { switch as u64 };
                Choice::Salted(hash::stream(scenario.seed, 0x6563_6d70, number))
            }
            Paths::HpccSim => Choice::Hpcc {
                seed: graph.nodes[switch].id as u32,
                addresses: graph.nodes[..graph.hosts].iter().map(|host| hpcc::address(host.id)).collect(),
            },
        }
    }

    #[inline(always)]
    fn among(&self, count: u32, packet: &Packet) -> u32 {
        match self {
            Choice::Salted(salt) => hash::range32(hash::salted(packet.key, *salt), count),
            Choice::Hpcc { seed, addresses } => {
                let [source, destination] = [packet.src, packet.dst].map(|host| addresses[host as usize]);
                hpcc::murmur3(*seed, [source, destination, packet.key]) % count
            }
        }
    }
}

/// `[node][port]`: the node at the other end, or `None` where the link is down.
pub fn neighbours(graph: &Graph, up: &[bool]) -> Vec<Vec<Option<usize>>> {
    let mut out = vec![Vec::new(); graph.nodes.len()];
    for (link, up) in graph.links.iter().zip(up) {
        out[link.a].push(up.then_some(link.b));
        out[link.b].push(up.then_some(link.a));
    }
    out
}

/// Links from `root`, through switches only.
fn distances(graph: &Graph, neighbours: &[Vec<Option<usize>>], root: usize) -> Vec<u32> {
    let mut distance = vec![u32::MAX; graph.nodes.len()];
    let mut queue = VecDeque::from([root]);
    distance[root] = 0;
    while let Some(node) = queue.pop_front() {
        for n in neighbours[node].iter().flatten().filter(|n| **n >= graph.hosts) {
            if distance[*n] == u32::MAX {
                distance[*n] = distance[node] + 1;
                queue.push_back(*n);
            }
        }
    }
    distance
}

/// `[node]`: when a breadth-first search from `root` over `near` takes it up.
fn met(graph: &Graph, near: &[Vec<(usize, usize)>], root: usize) -> Vec<u32> {
    let mut met = vec![u32::MAX; graph.nodes.len()];
    let mut queue = VecDeque::from([root]);
    let mut count = 0;
    met[root] = count;
    while let Some(node) = queue.pop_front() {
        for (next, _) in near[node].iter().filter(|(next, _)| *next >= graph.hosts) {
            if met[*next] == u32::MAX {
                count += 1;
                met[*next] = count;
                queue.push_back(*next);
            }
        }
    }
    met
}
