//! Partitions: the division of nodes among threads.

use crate::ports::ports;
use backwater_scenario::topology::Graph;

/// Nodes and incoming links, numbered within their partitions.
#[derive(Clone, Debug)]
pub struct Partitions {
    /// Number of partitions.
    pub count: usize,
    /// `[node]`: partition of the node.
    pub of: Vec<usize>,
    /// `[node]`: number of the node within its partition, hosts first.
    pub local: Vec<u32>,
    /// `[partition]`: number of nodes.
    pub nodes: Vec<usize>,
    /// `[link][0: towards a, 1: towards b]`: number of this direction of the link within the receiving partition.
    pub links: Vec<[u32; 2]>,
    /// `[partition][number of the incoming link]`: receiving node and port.
    pub ends: Vec<Vec<(usize, u16)>>,
}

impl Partitions {
    /// Divides the nodes of `graph` among `count` partitions.
    pub fn new(graph: &Graph, count: usize) -> Partitions {
        let of = assign(graph, count);
        let mut nodes = vec![0; count];
        let number = |node: usize| {
            nodes[of[node]] += 1;
            nodes[of[node]] as u32 - 1
        };
        let local = (0..graph.nodes.len()).map(number).collect();
        let mut partitions = Partitions { count, of, local, nodes, links: Vec::new(), ends: vec![Vec::new(); count] };
        partitions.number_links(graph);
        partitions
    }

    /// Fills [`Partitions::links`] and [`Partitions::ends`].
    fn number_links(&mut self, graph: &Graph) {
        let ports = ports(graph);
        for (i, link) in graph.links.iter().enumerate() {
            let number = |node: usize| {
                let port = ports[node].iter().position(|l| *l == i).expect("a link is a port of its ends") as u16;
                let ends = &mut self.ends[self.of[node]];
                ends.push((node, port));
                ends.len() as u32 - 1
            };
            self.links.push([link.a, link.b].map(number));
        }
    }

    /// Lists the numbers of the first `hosts` nodes within partition `part`, `[host]`; `u32::MAX` for hosts of other
    /// partitions.
    pub fn local_hosts(&self, part: usize, hosts: usize) -> Vec<u32> {
        (0..hosts).map(|host| if self.of[host] == part { self.local[host] } else { u32::MAX }).collect()
    }
}

/// Assigns nodes to partitions, `[node]`. Each tier of switches is divided into equal blocks, which balances every
/// tier. Hosts join the partition of their switch.
fn assign(graph: &Graph, partitions: usize) -> Vec<usize> {
    let mut part = vec![0; graph.nodes.len()];
    let layers = graph.nodes.iter().map(|n| n.layer).max().unwrap_or(0);
    for layer in 1..=layers {
        let members: Vec<usize> = (graph.hosts..graph.nodes.len()).filter(|n| graph.nodes[*n].layer == layer).collect();
        for (i, node) in members.iter().enumerate() {
            part[*node] = i * partitions / members.len();
        }
    }
    for host in 0..graph.hosts {
        part[host] = part[graph.switch_of(host)];
    }
    part
}
