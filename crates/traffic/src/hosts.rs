//! Sets of hosts from which workloads draw sources and destinations.

use backwater_scenario::topology::Graph;
use backwater_types::hash;
use std::collections::HashMap;

/// Maps names of hosts to their numbers. A valid scenario uses no other name.
pub(crate) fn numbers(graph: &Graph) -> HashMap<&str, u16> {
    graph.nodes[..graph.hosts].iter().map(|host| host.name.as_str()).zip(0..).collect()
}

/// A set of hosts.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    pub(crate) list: Vec<u16>,
    /// `[host]`: position in `list`, or `u32::MAX` if the host is not in the set.
    place: Vec<u32>,
}

impl Hosts {
    /// Collects the hosts with these names; all hosts of the graph if `names` is empty.
    pub(crate) fn named(graph: &Graph, names: &[String]) -> Hosts {
        let list: Vec<u16> = match names.is_empty() {
            true => (0..graph.hosts as u16).collect(),
            false => {
                let hosts = numbers(graph);
                names.iter().map(|name| hosts[name.as_str()]).collect()
            }
        };
        let mut place = vec![u32::MAX; graph.hosts];
        list.iter().enumerate().for_each(|(i, h)| place[*h as usize] = i as u32);
        Hosts { list, place }
    }

    pub(crate) fn draw(&self, word: u64) -> u16 {
        self.list[hash::range32((word >> 32) as u32, self.list.len() as u32) as usize]
    }

    /// Draws uniformly from the list without `host`.
    pub(crate) fn draw_but(&self, word: u64, host: u16) -> u16 {
        let place = self.place[host as usize];
        if place == u32::MAX {
            return self.draw(word);
        }
        let i = hash::range32((word >> 32) as u32, self.list.len() as u32 - 1);
        self.list[(i + (i >= place) as u32) as usize]
    }
}
