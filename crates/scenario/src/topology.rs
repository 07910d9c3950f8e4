//! Topologies as nodes and links, in one fixed order.

use backwater_schemes::build::ser_time;
use backwater_types::{BitsPerSec, CONTROL_WIRE, Duration};

use crate::model::{Conventions, Host, Topology};

/// A network of nodes and links. Hosts come first; port `p` of a node is its `p`-th link in the order of `links`.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Hosts `0..hosts`, then leaves, then spines; or switches as declared.
    pub nodes: Vec<Node>,
    /// Number of hosts.
    pub hosts: usize,
    /// Links of hosts, in the order of hosts, then those between switches, leaf by leaf or as declared.
    pub links: Vec<Link>,
    /// Indices of the links between switches (in a fat tree those between ToR and aggregation, in two data centers
    /// those between leaf and spine). Core load is a share of their capacity, one direction.
    pub core_links: Vec<usize>,
}

/// A node: a host, which sends and receives flows and has one link, or a switch, which forwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name: `host0`, `leaf0`, `spine0`, `tor0`, `agg0`, `core0`, `switch0`, ... or that of the graph.
    pub name: String,
    /// Links to the nearest host: 0 for a host, 1 for a leaf, 2 for a spine.
    pub layer: u8,
    /// Number in files of other simulators.
    pub id: u16,
}

/// A link, in both directions. At a host link `a` is the host; between a leaf and a spine `a` is the leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// One end.
    pub a: usize,
    /// The other end.
    pub b: usize,
    /// Rate of each direction.
    pub rate: BitsPerSec,
    /// Propagation delay.
    pub delay: Duration,
}

impl Graph {
    /// Returns the node of this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// Returns the switch of a host.
    ///
    /// # Panics
    /// If `host` is not a host.
    pub fn switch_of(&self, host: usize) -> usize {
        assert!(host < self.hosts, "node {host} is not a host");
        self.links[host].b
    }

    /// Returns the node at the other end of `link`.
    pub fn peer(&self, link: usize, node: usize) -> usize {
        let link = &self.links[link];
        if link.a == node { link.b } else { link.a }
    }

    /// Returns the rate of the fastest NIC.
    pub fn fastest_nic(&self) -> BitsPerSec {
        self.links[..self.hosts].iter().map(|link| link.rate).max().unwrap_or_default()
    }

    /// Largest look-ahead window: no frame sent now can arrive sooner than this anywhere.
    ///
    /// The shortest frame on the wire is an ACK, a control frame or the smallest data packet.
    pub fn look_ahead(&self, host: &Host, conventions: &Conventions) -> Duration {
        let control = conventions.pfc_frame.0.min(CONTROL_WIRE.into());
        let shortest = host.ack.0.min(control).min(host.smallest_packet().0);
        let arrival = |link: &Link| link.delay + ser_time(conventions, link.rate).of_bytes(shortest);
        self.links.iter().map(arrival).min().unwrap_or_default()
    }
}

/// Expands a topology to nodes and links.
///
/// # Panics
/// On a graph with a link to a node it does not declare; [`crate::load`] refuses those.
pub fn expand(topology: &Topology) -> Graph {
    match *topology {
        Topology::LeafSpine { leaves, spines, hosts_per_leaf, host_rate, core_rate, host_delay, core_delay } => {
            let (leaves, spines, per_leaf) = (leaves as usize, spines as usize, hosts_per_leaf as usize);
            let hosts = leaves * per_leaf;
            let mut graph = named(hosts, &[("leaf", leaves, 1), ("spine", spines, 2)]);
            graph.attach((0..hosts).map(|host| hosts + host / per_leaf), host_rate, host_delay);
            for leaf in hosts..hosts + leaves {
                for spine in hosts + leaves..hosts + leaves + spines {
                    graph.links.push(Link { a: leaf, b: spine, rate: core_rate, delay: core_delay });
                }
            }
            graph.with_core_links()
        }
        Topology::FatTree {
            pods,
            tors_per_pod,
            aggs_per_pod,
            cores,
            hosts_per_tor,
            host_rate,
            core_rate,
            host_delay,
            core_delay,
        } => {
            let [pods, tors, aggs, cores, per_tor] =
                [pods, tors_per_pod, aggs_per_pod, cores, hosts_per_tor].map(usize::from);
            let hosts = pods * tors * per_tor;
            let mut graph = named(hosts, &[("tor", pods * tors, 1), ("agg", pods * aggs, 2), ("core", cores, 3)]);
            graph.attach((0..hosts).map(|host| hosts + host / per_tor), host_rate, host_delay);
            let (first_agg, first_core) = (hosts + pods * tors, hosts + pods * (tors + aggs));
            let link = |a, b| Link { a, b, rate: core_rate, delay: core_delay };
            for tor in 0..pods * tors {
                let pod = tor / tors;
                graph.links.extend((0..aggs).map(|agg| link(hosts + tor, first_agg + pod * aggs + agg)));
            }
            // Load is a share of one tier: every byte that leaves its rack crosses this one.
            graph.core_links = (hosts..graph.links.len()).collect();
            let group = cores / aggs;
            for agg in 0..pods * aggs {
                let first = first_core + agg % aggs * group;
                graph.links.extend((first..first + group).map(|core| link(first_agg + agg, core)));
            }
            graph
        }
        Topology::TwoClos {
            leaves,
            spines,
            hosts_per_leaf,
            host_rate,
            core_rate,
            host_delay,
            core_delay,
            wan_rate,
            wan_delay,
        } => {
            let [leaves, spines, per_leaf] = [leaves, spines, hosts_per_leaf].map(usize::from);
            let hosts = 2 * leaves * per_leaf;
            let mut graph = named(hosts, &[("leaf", 2 * leaves, 1), ("spine", 2 * spines, 2), ("gateway", 2, 3)]);
            graph.attach((0..hosts).map(|host| hosts + host / per_leaf), host_rate, host_delay);
            let (first_spine, first_gateway) = (hosts + 2 * leaves, hosts + 2 * (leaves + spines));
            let link = |a, b| Link { a, b, rate: core_rate, delay: core_delay };
            for leaf in 0..2 * leaves {
                let first = first_spine + leaf / leaves * spines;
                graph.links.extend((first..first + spines).map(|spine| link(hosts + leaf, spine)));
            }
            // Load is a share of the capacity of both data centers' racks, whatever part goes on to the gateways.
            graph.core_links = (hosts..graph.links.len()).collect();
            graph.links.extend((0..2 * spines).map(|spine| link(first_spine + spine, first_gateway + spine / spines)));
            graph.links.push(Link { a: first_gateway, b: first_gateway + 1, rate: wan_rate, delay: wan_delay });
            graph
        }
        Topology::SingleSwitch { hosts, rate, delay } => {
            let hosts = hosts as usize;
            let mut graph = named(hosts, &[("switch", 1, 1)]);
            graph.attach((0..hosts).map(|_| hosts), rate, delay);
            graph
        }
        Topology::Dumbbell { left, right, rate, delay, bottleneck_rate, bottleneck_delay } => {
            let (left, hosts) = (left as usize, left as usize + right as usize);
            let mut graph = named(hosts, &[("switch", 2, 1)]);
            graph.attach((0..hosts).map(|host| hosts + usize::from(host >= left)), rate, delay);
            graph.links.push(Link { a: hosts, b: hosts + 1, rate: bottleneck_rate, delay: bottleneck_delay });
            graph.with_core_links()
        }
        Topology::Chain { switches, hosts_per_switch, rate, delay } => {
            let (switches, per_switch) = (switches as usize, hosts_per_switch as usize);
            let hosts = switches * per_switch;
            let mut graph = named(hosts, &[("switch", switches, 1)]);
            graph.attach((0..hosts).map(|host| hosts + host / per_switch), rate, delay);
            graph.links.extend((hosts..hosts + switches - 1).map(|a| Link { a, b: a + 1, rate, delay }));
            graph.with_core_links()
        }
        Topology::Graph { ref hosts, ref switches, ref links, ref ids } => {
            let count = hosts.len();
            let names = hosts.iter().chain(switches);
            let index: std::collections::HashMap<&str, usize> =
                names.clone().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
            let node = |(i, name): (usize, &String)| Node {
                name: name.clone(),
                layer: 0,
                id: ids.get(i).copied().unwrap_or(i as u16),
            };
            let mut all: Vec<Link> = links
                .iter()
                .map(|link| {
                    let [a, b] = [0, 1].map(|end| index[link.ends[end].as_str()]);
                    let (a, b) = if b < count { (b, a) } else { (a, b) };
                    Link { a, b, rate: link.rate, delay: link.delay }
                })
                .collect();
            // Host links first, by host; the sort is stable, so the others stay as declared.
            all.sort_by_key(|link| link.a.min(count));
            let mut graph = Graph {
                nodes: names.enumerate().map(node).collect(),
                hosts: count,
                links: all,
                core_links: Vec::new(),
            };
            graph.measure_layers();
            graph.with_core_links()
        }
    }
}

/// Makes nodes by name prefix, count and layer, hosts first, without links.
fn named(hosts: usize, switches: &[(&str, usize, u8)]) -> Graph {
    let host = |i| Node { name: format!("host{i}"), layer: 0, id: i as u16 };
    let mut nodes: Vec<Node> = (0..hosts).map(host).collect();
    for &(prefix, count, layer) in switches {
        for i in 0..count {
            let id = nodes.len() as u16;
            nodes.push(Node { name: format!("{prefix}{i}"), layer, id });
        }
    }
    Graph { nodes, hosts, links: Vec::new(), core_links: Vec::new() }
}

impl Graph {
    /// Links host `i` to the `i`-th switch given.
    fn attach(&mut self, switches: impl Iterator<Item = usize>, rate: BitsPerSec, delay: Duration) {
        self.links.extend(switches.enumerate().map(|(a, b)| Link { a, b, rate, delay }));
    }

    fn with_core_links(mut self) -> Graph {
        self.core_links = (0..self.links.len()).filter(|&i| self.links[i].a >= self.hosts).collect();
        self
    }

    /// Sets the layers of a general graph, breadth first from all hosts at once. Nodes that no host reaches stay at
    /// 255.
    fn measure_layers(&mut self) {
        let mut near: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for link in &self.links {
            near[link.a].push(link.b);
            near[link.b].push(link.a);
        }
        let mut wave: Vec<usize> = (0..self.hosts).collect();
        let mut seen: Vec<bool> = (0..self.nodes.len()).map(|i| i < self.hosts).collect();
        self.nodes[self.hosts..].iter_mut().for_each(|node| node.layer = u8::MAX);
        for layer in 1..u8::MAX {
            let next = wave.iter().flat_map(|&node| near[node].iter().copied());
            wave = next.filter(|&node| !std::mem::replace(&mut seen[node], true)).collect();
            wave.iter().for_each(|&node| self.nodes[node].layer = layer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{GraphLink, Time};
    use backwater_types::Bytes;

    const RATE: BitsPerSec = BitsPerSec(100_000_000_000);
    const DELAY: Duration = Duration::from_us(1);

    #[test]
    fn the_bfc_clos_has_192_links_of_which_64_are_core() {
        let graph = expand(&Topology::LeafSpine {
            leaves: 8,
            spines: 8,
            hosts_per_leaf: 16,
            host_rate: RATE,
            core_rate: RATE,
            host_delay: DELAY,
            core_delay: DELAY,
        });
        assert_eq!((graph.hosts, graph.nodes.len(), graph.links.len(), graph.core_links.len()), (128, 144, 192, 64));
        assert_eq!(graph.nodes[graph.switch_of(17)].name, "leaf1");
        assert_eq!(graph.links[128 + 9], Link { a: 129, b: 137, rate: RATE, delay: DELAY });
        assert_eq!(graph.nodes[137].name, "spine1");
        assert_eq!([0, 128, 143].map(|i| graph.nodes[i].layer), [0, 1, 2]);
    }

    /// Links that join two nodes, by breadth first search.
    fn hops(graph: &Graph, from: usize) -> Vec<usize> {
        let mut hops = vec![usize::MAX; graph.nodes.len()];
        hops[from] = 0;
        for round in 0..graph.nodes.len() {
            for link in &graph.links {
                for (near, far) in [(link.a, link.b), (link.b, link.a)] {
                    if hops[near] == round {
                        hops[far] = hops[far].min(round + 1);
                    }
                }
            }
            if !hops.contains(&usize::MAX) {
                break;
            }
        }
        hops
    }

    #[test]
    fn the_flowsail_fat_tree_has_1024_hosts_and_three_tiers_of_64() {
        let core_rate = BitsPerSec(25_000_000_000);
        let graph = expand(&Topology::FatTree {
            pods: 8,
            tors_per_pod: 8,
            aggs_per_pod: 8,
            cores: 64,
            hosts_per_tor: 16,
            host_rate: RATE,
            core_rate,
            host_delay: DELAY,
            core_delay: Duration::from_us(2),
        });
        assert_eq!((graph.hosts, graph.nodes.len(), graph.links.len()), (1024, 1024 + 3 * 64, 1024 + 512 + 512));
        // One tier of the core, which host links are twice as many as.
        assert_eq!(graph.core_links, (1024..1536).collect::<Vec<_>>());
        let named = ["host1023", "tor0", "tor63", "agg0", "agg63", "core0", "core63"].map(|name| graph.find(name));
        assert_eq!(named, [1023, 1024, 1087, 1088, 1151, 1152, 1215].map(Some));
        let mut degree = vec![0; graph.nodes.len()];
        graph.links.iter().flat_map(|link| [link.a, link.b]).for_each(|node| degree[node] += 1);
        for (i, node) in graph.nodes.iter().enumerate() {
            let (layer, ports) = match node.name.trim_end_matches(|c: char| c.is_ascii_digit()) {
                "host" => (0, 1),
                "tor" => (1, 16 + 8),
                "agg" => (2, 8 + 8),
                "core" => (3, 8),
                other => panic!("{other}"),
            };
            assert_eq!((node.layer, degree[i], node.id), (layer, ports, i as u16), "{}", node.name);
        }
        for (i, link) in graph.links.iter().enumerate() {
            assert_eq!(graph.nodes[link.a].layer + 1, graph.nodes[link.b].layer, "{link:?}");
            let own = if i < 1024 { (RATE, DELAY) } else { (core_rate, Duration::from_us(2)) };
            assert_eq!((link.rate, link.delay), own);
        }
        // Aggregation switch j of each pod hangs on the cores of group j, and a pod's ToRs on its aggregation switches.
        let joined = |a: &str, b: &str| {
            let (a, b) = (graph.find(a).expect("a node"), graph.find(b).expect("a node"));
            graph.links.iter().filter(|link| (link.a, link.b) == (a, b)).count()
        };
        assert_eq!((joined("agg2", "core16"), joined("agg2", "core23"), joined("agg2", "core24")), (1, 1, 0));
        assert_eq!((joined("agg58", "core16"), joined("agg58", "core23"), joined("agg58", "core15")), (1, 1, 0));
        assert_eq!((joined("tor9", "agg8"), joined("tor9", "agg15"), joined("tor9", "agg7")), (1, 1, 0));
        // Two links to the 15 in the rack, four to the 112 in the pod, six to the 896 elsewhere.
        for host in [0, 17, 500, 1023] {
            let hops = hops(&graph, host);
            let at = |n| hops[..1024].iter().filter(|hops| **hops == n).count();
            assert_eq!((at(0), at(2), at(4), at(6)), (1, 15, 112, 896));
            assert_eq!((host / 16 * 16..host / 16 * 16 + 16).map(|other| hops[other]).max(), Some(2));
        }
    }

    #[test]
    fn the_two_data_centers_of_bfc_have_77_nodes_each_and_a_base_round_trip_of_412_us() {
        let wan = Link { a: 152, b: 153, rate: BitsPerSec(200_000_000_000), delay: Duration::from_us(200) };
        let graph = expand(&Topology::TwoClos {
            leaves: 4,
            spines: 8,
            hosts_per_leaf: 16,
            host_rate: RATE,
            core_rate: RATE,
            host_delay: DELAY,
            core_delay: DELAY,
            wan_rate: wan.rate,
            wan_delay: wan.delay,
        });
        assert_eq!((graph.hosts, graph.nodes.len(), graph.links.len()), (128, 2 * 77, 2 * (64 + 32 + 8) + 1));
        assert_eq!(graph.links.last(), Some(&wan));
        assert_eq!((graph.nodes[153].name.as_str(), graph.nodes[153].layer), ("gateway1", 3));
        // 3.2 Tbps of core in each.
        assert_eq!(graph.core_links, (128..192).collect::<Vec<_>>());
        // Of a host: 15 in the rack, 48 in the others of its data center, 64 beyond the gateways, seven links away.
        for host in [0, 63, 64, 127] {
            let hops = hops(&graph, host);
            let at = |n| hops[..128].iter().filter(|hops| **hops == n).count();
            assert_eq!((at(2), at(4), at(7)), (15, 48, 64));
            assert!((0..128).all(|other| (hops[other] == 7) == ((other < 64) != (host < 64))));
        }
    }

    #[test]
    fn a_fat_tree_of_one_pod_is_a_fat_tree() {
        let graph = expand(&Topology::FatTree {
            pods: 1,
            tors_per_pod: 3,
            aggs_per_pod: 2,
            cores: 2,
            hosts_per_tor: 1,
            host_rate: RATE,
            core_rate: RATE,
            host_delay: DELAY,
            core_delay: DELAY,
        });
        let ends = graph.links[3..].iter().map(|link| (link.a, link.b)).collect::<Vec<_>>();
        assert_eq!(ends, [(3, 6), (3, 7), (4, 6), (4, 7), (5, 6), (5, 7), (6, 8), (7, 9)]);
        assert_eq!(
            (graph.core_links.len(), graph.look_ahead(&Host::default(), &Conventions::default())),
            (6, Duration(1_003_920))
        );
    }

    #[test]
    fn look_ahead_is_the_shortest_link_and_the_shortest_frame() {
        let graph = expand(&Topology::SingleSwitch { hosts: 2, rate: RATE, delay: DELAY });
        // 49 B x 80 ps = 3 920 ps.
        assert_eq!(graph.look_ahead(&Host::default(), &Conventions::default()), Duration(1_003_920));
        // 43 B in whole nanoseconds.
        let whole = Conventions { time: Time::WholeNs, pfc_frame: Bytes(43), ..Conventions::default() };
        assert_eq!(graph.look_ahead(&Host::default(), &whole), Duration(1_003_000));
        assert!(graph.core_links.is_empty());
    }

    #[test]
    fn a_dumbbell_and_a_chain_join_their_switches() {
        let dumbbell = expand(&Topology::Dumbbell {
            left: 2,
            right: 1,
            rate: RATE,
            delay: DELAY,
            bottleneck_rate: BitsPerSec(1),
            bottleneck_delay: DELAY,
        });
        assert_eq!(
            dumbbell.links.iter().map(|link| (link.a, link.b)).collect::<Vec<_>>(),
            [(0, 3), (1, 3), (2, 4), (3, 4)]
        );
        let chain = expand(&Topology::Chain { switches: 3, hosts_per_switch: 1, rate: RATE, delay: DELAY });
        assert_eq!(chain.core_links, [3, 4]);
    }

    #[test]
    fn a_graph_puts_host_links_first_and_counts_hops() {
        let link = |a: &str, b: &str| GraphLink { ends: [a.into(), b.into()], rate: RATE, delay: DELAY };
        let names = |list: &[&str]| list.iter().map(|name| name.to_string()).collect();
        let graph = expand(&Topology::Graph {
            hosts: names(&["x", "y"]),
            switches: names(&["s", "t", "top"]),
            links: vec![link("s", "top"), link("top", "t"), link("t", "y"), link("x", "s")],
            ids: vec![],
        });
        assert_eq!(
            graph.links.iter().map(|link| (link.a, link.b)).collect::<Vec<_>>(),
            [(0, 2), (1, 3), (2, 4), (4, 3)]
        );
        assert_eq!(graph.nodes.iter().map(|node| node.layer).collect::<Vec<_>>(), [0, 0, 1, 1, 2]);
        assert_eq!((graph.find("top"), graph.find("y"), graph.find("z")), (Some(4), Some(1), None));
    }
}
