//! Shortest-path routes. A [`choice`](crate::choice) selects one of several next hops of equal cost.

use crate::hpcc;
use backwater_scenario::model::Paths;
use backwater_scenario::topology::Graph;
use std::collections::{HashMap, VecDeque};

/// Next hops of every switch towards every host, for one state of the links.
///
/// Hosts of one switch share their routes up to this switch, and a switch has few different sets of next hops. The
/// entries of one switch therefore fit in a few cache lines, in networks of any size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routes {
    /// Number of roots: switches with hosts.
    roots: usize,
    /// `[host]`: number of its root, and its port there; [`NO_PORT`] if its link is down.
    homes: Vec<(u16, u16)>,
    /// `[switch x root]`.
    spans: Vec<Span>,
    /// Ports of all sets of next hops. The first is [`NO_PORT`].
    ports: Vec<u16>,
}

/// Next hops of a switch towards a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    /// Index of the first in [`Routes::ports`].
    start: u32,
    /// Number of next hops, one at least.
    count: u16,
    /// All bits, if the switch is the root: the next hop is the host's port. Else 0.
    here: u16,
}

impl Span {
    /// No next hop.
    const NONE: Span = Span { start: 0, count: 1, here: 0 };
    /// The switch is the root.
    const HERE: Span = Span { here: u16::MAX, ..Span::NONE };
}

/// Port where there is no route, or of a host with a link that is down.
const NO_PORT: u16 = u16::MAX;

impl Routes {
    /// Computes routes over the links that are `up`. Next hops are ordered by port, or in the order in which the HPCC
    /// simulator's search visits them.
    pub fn new(graph: &Graph, up: &[bool], rule: Paths) -> Routes {
        let neighbours = neighbours(graph, up);
        let switches = graph.nodes.len() - graph.hosts;
        let mut roots: Vec<usize> = (0..graph.hosts).map(|host| graph.switch_of(host)).collect();
        roots.sort_unstable();
        roots.dedup();
        let home = |host: usize| {
            let switch = graph.switch_of(host);
            let port = neighbours[switch].iter().position(|n| *n == Some(host)).map_or(NO_PORT, |port| port as u16);
            (roots.binary_search(&switch).expect("the switch has a host") as u16, port)
        };
        let mut routes = Routes {
            roots: roots.len(),
            homes: (0..graph.hosts).map(home).collect(),
            spans: vec![Span::NONE; switches * roots.len()],
            ports: vec![NO_PORT],
        };
        let order = match rule {
            Paths::Salted => None,
            Paths::HpccSim => Some(hpcc::network::neighbours(graph, up)),
        };
        let mut known: Vec<HashMap<Vec<u16>, Span>> = vec![HashMap::new(); switches];
        for (number, root) in roots.iter().enumerate() {
            let distance = distances(graph, &neighbours, *root);
            let visits = order.as_ref().map(|near| visits(graph, near, *root));
            for switch in graph.hosts..graph.nodes.len() {
                let span = &mut routes.spans[(switch - graph.hosts) * roots.len() + number];
                if switch == *root {
                    *span = Span::HERE;
                } else if distance[switch] != u32::MAX {
                    let nearer = |n: usize| n >= graph.hosts && distance[n] + 1 == distance[switch];
                    let near = neighbours[switch].iter().enumerate();
                    let mut set: Vec<u16> =
                        near.filter(|(_, n)| n.is_some_and(nearer)).map(|(port, _)| port as u16).collect();
                    if let Some(visits) = &visits {
                        set.sort_by_key(|port| neighbours[switch][*port as usize].map(|node| visits[node]));
                    }
                    *span = *known[switch - graph.hosts].entry(set).or_insert_with_key(|set| {
                        debug_assert!(!set.is_empty(), "a switch with a distance has a nearer neighbour");
                        routes.ports.extend(set);
                        Span { start: (routes.ports.len() - set.len()) as u32, count: set.len() as u16, here: 0 }
                    });
                }
            }
        }
        routes
    }

    /// Finds the port of `switch` (counted without hosts) towards host `dst`; `None` if there is no route. `choose`
    /// selects a next hop from their number, which may be one. No step depends on the kind of route, because a processor
    /// could not guess that.
    #[inline(always)]
    pub fn next(&self, switch: usize, dst: u16, choose: impl FnOnce(u32) -> u32) -> Option<u16> {
        let (root, port) = self.homes[dst as usize];
        let Span { start, count, here } = self.spans[switch * self.roots + root as usize];
        let next = self.ports[start as usize + choose(u32::from(count)) as usize];
        let next = next & !here | port & here;
        (next != NO_PORT).then_some(next)
    }
}

/// Lists the node at the other end of each port, `[node][port]`; `None` if the link is down.
pub fn neighbours(graph: &Graph, up: &[bool]) -> Vec<Vec<Option<usize>>> {
    let mut out = vec![Vec::new(); graph.nodes.len()];
    for (link, up) in graph.links.iter().zip(up) {
        out[link.a].push(up.then_some(link.b));
        out[link.b].push(up.then_some(link.a));
    }
    out
}

/// Computes the number of links from `root` to each node through switches only, `[node]`.
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

/// Computes the order in which a breadth-first search from `root` over `near` visits each node, `[node]`.
fn visits(graph: &Graph, near: &[Vec<(usize, usize)>], root: usize) -> Vec<u32> {
    let mut visits = vec![u32::MAX; graph.nodes.len()];
    let mut queue = VecDeque::from([root]);
    let mut count = 0;
    visits[root] = count;
    while let Some(node) = queue.pop_front() {
        for (next, _) in near[node].iter().filter(|(next, _)| *next >= graph.hosts) {
            if visits[*next] == u32::MAX {
                count += 1;
                visits[*next] = count;
                queue.push_back(*next);
            }
        }
    }
    visits
}
