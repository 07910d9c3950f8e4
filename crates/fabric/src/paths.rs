//! The longest delays of a network.

use crate::ports::ports;
use backwater_dataplane::Grain;
use backwater_scenario::model::{Scenario, Switch, Transport};
use backwater_scenario::topology::{Graph, Link};
use backwater_schemes::build::ser_time;
use backwater_types::Duration;

/// Part of the host delay ([`Host::delay`](backwater_scenario::model::Host::delay)) that is added to the propagation of
/// the last link, which saves an event per frame. It is the whole delay under TCP without backpressure and without
/// failing links, and zero otherwise. A control frame would have to overtake the delayed frames, and a link could fail
/// while frames are in the host.
pub fn delay_on_wire(scenario: &Scenario) -> Duration {
    let plain = |switch: &Switch| switch.grain() == Grain::Nothing;
    let plain = plain(&scenario.switch) && scenario.region.iter().all(|region| plain(&region.switch));
    let up = scenario.fault.iter().all(|fault| fault.down.is_empty());
    let all = plain && up && scenario.host.transport == Transport::Tcp;
    if all { scenario.host.delay } else { Duration::ZERO }
}

/// Longest time on one link from the start of a full packet's transmission to its arrival.
pub fn longest_way(scenario: &Scenario, graph: &Graph) -> Duration {
    let full = scenario.host.payload.0 + scenario.host.headers().0;
    let way = |link: &Link| link.delay + ser_time(&scenario.conventions, link.rate).of_bytes(full);
    graph.links.iter().map(way).max().unwrap_or(Duration::ZERO) + delay_on_wire(scenario)
}

/// Largest one-way propagation delay between two hosts.
pub fn longest_propagation(graph: &Graph) -> Duration {
    let ports = ports(graph);
    let hosted: Vec<usize> = (0..graph.hosts).map(|h| graph.switch_of(h)).collect();
    let mut longest = 0;
    let mut roots = hosted.clone();
    roots.sort_unstable();
    roots.dedup();
    let last_hop = |switch: usize| {
        (0..graph.hosts).filter(|h| hosted[*h] == switch).map(|h| graph.links[h].delay.0).max().unwrap_or(0)
    };
    let access: Vec<(usize, u64)> = roots.iter().map(|s| (*s, last_hop(*s))).collect();
    for (root, from) in &access {
        // Routes take the fewest hops. The slowest such path counts, because the window has to cover it.
        let mut reach = vec![(u32::MAX, 0u64); graph.nodes.len()];
        reach[*root] = (0, 0);
        let mut queue = std::collections::VecDeque::from([*root]);
        while let Some(node) = queue.pop_front() {
            let (hops, delay) = reach[node];
            for link in &ports[node] {
                let l = &graph.links[*link];
                let peer = if l.a == node { l.b } else { l.a };
                if peer < graph.hosts || reach[peer].0 < hops + 1 {
                    continue;
                }
                if reach[peer].0 == u32::MAX {
                    queue.push_back(peer);
                }
                reach[peer] = (hops + 1, reach[peer].1.max(delay + l.delay.0));
            }
        }
        for (switch, to) in &access {
            longest = longest.max(from + reach[*switch].1 + to);
        }
    }
    Duration(longest)
}
