//! Shortest-path routes with equal-cost choice by a hash of the flow.

use backwater_scenario::topology::Graph;
use backwater_types::hash;
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
    /// Routes over the links that are `up`. Ports of a set are in the order of the node's links.
    pub fn new(graph: &Graph, up: &[bool]) -> Routes {
        let neighbours = neighbours(graph, up);
        let switches = graph.nodes.len() - graph.hosts;
        let mut spans = vec![(0, 0); switches * graph.hosts];
        let mut ports = Vec::new();
        // All hosts of a switch share its distances: one search per switch with hosts, not per host.
        let mut by_switch: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len()];
        (0..graph.hosts).for_each(|host| by_switch[graph.switch_of(host)].push(host));
        for (root, hosts) in by_switch.iter().enumerate().filter(|(_, hosts)| !hosts.is_empty()) {
            let distance = distances(graph, &neighbours, root);
            for switch in graph.hosts..graph.nodes.len() {
                let start = ports.len() as u32;
                if switch != root && distance[switch] != u32::MAX {
                    for (port, neighbour) in neighbours[switch].iter().enumerate() {
                        if neighbour.is_some_and(|n| n >= graph.hosts && distance[n] + 1 == distance[switch]) {
                            ports.push(port as u16);
                        }
                    }
                }
                let shared = (start, (ports.len() as u32 - start) as u16);
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

    /// The port of `switch` (counted without hosts) for a packet to `dst` with hash `key`; `None` if there is no way.
    #[inline(always)]
    pub fn next(&self, switch: usize, dst: u16, key: u32, salt: u64) -> Option<u16> {
        let (start, count) = self.spans[switch * self.hosts + dst as usize];
        match count {
            0 => None,
            1 => Some(self.ports[start as usize]),
            n => Some(self.ports[start as usize + hash::range32(hash::salted(key, salt), n as u32) as usize]),
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
