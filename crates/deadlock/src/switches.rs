//! Switches and their ports, numbered without hosts.

use backwater_scenario::topology::Graph;

/// Set of ports of one switch, which has at most 255 ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ports([u64; 4]);

impl Ports {
    pub(crate) fn insert(&mut self, port: usize) {
        self.0[port / 64] |= 1 << (port % 64);
    }

    pub(crate) fn contains(self, port: usize) -> bool {
        self.0[port / 64] >> (port % 64) & 1 == 1
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == [0; 4]
    }

    pub(crate) fn len(self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(crate) fn and(self, other: Ports) -> Ports {
        Ports(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }

    pub(crate) fn or(self, other: Ports) -> Ports {
        Ports(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }

    pub(crate) fn without(self, other: Ports) -> Ports {
        Ports(std::array::from_fn(|i| self.0[i] & !other.0[i]))
    }

    /// Iterates over the ports, ascending.
    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(i, word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(64 * i + bit)
            })
        })
    }
}

/// Port of a switch: its link and the node at the other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    /// Number of the link in the graph.
    pub(crate) link: usize,
    /// Switch at the other end, and number of the port there; `None`: a host.
    pub(crate) peer: Option<(usize, usize)>,
}

/// Switches of a network.
pub(crate) struct Switches<'a> {
    pub(crate) graph: &'a Graph,
    /// `[switch][port]`.
    pub(crate) ports: Vec<Vec<Port>>,
    /// `[switch]`: ports to hosts.
    pub(crate) hosts: Vec<Ports>,
    /// Switches with hosts, ascending: sources and destinations of packets.
    pub(crate) homes: Vec<usize>,
    /// `[switch]`: number of ports of all switches before it.
    pub(crate) first: Vec<usize>,
}

impl<'a> Switches<'a> {
    pub(crate) fn new(graph: &'a Graph) -> Switches<'a> {
        let count = graph.nodes.len() - graph.hosts;
        let (mut ports, mut hosts) = (vec![Vec::new(); count], vec![Ports::default(); count]);
        for (link, ends) in graph.links.iter().enumerate() {
            let b = ends.b - graph.hosts;
            match ends.a.checked_sub(graph.hosts) {
                None => {
                    hosts[b].insert(ports[b].len());
                    ports[b].push(Port { link, peer: None });
                }
                Some(a) => {
                    let (at_a, at_b) = (ports[a].len(), ports[b].len());
                    ports[a].push(Port { link, peer: Some((b, at_b)) });
                    ports[b].push(Port { link, peer: Some((a, at_a)) });
                }
            }
        }
        let homes = (0..count).filter(|switch| !hosts[*switch].is_empty()).collect();
        let first = ports.iter().scan(0, |sum, ports: &Vec<Port>| Some(std::mem::replace(sum, *sum + ports.len())));
        Switches { first: first.collect(), graph, ports, hosts, homes }
    }

    /// Returns the name of a switch.
    pub(crate) fn name(&self, switch: usize) -> &str {
        &self.graph.nodes[self.graph.hosts + switch].name
    }

    /// Returns the name of the node at the other end of a port.
    pub(crate) fn peer(&self, switch: usize, port: usize) -> &str {
        let node = self.graph.peer(self.ports[switch][port].link, self.graph.hosts + switch);
        &self.graph.nodes[node].name
    }

    /// Returns the ports of a switch whose links are up.
    pub(crate) fn up(&self, switch: usize, up: &[bool]) -> Ports {
        let mut ports = Ports::default();
        let all = self.ports[switch].iter().enumerate();
        all.filter(|(_, port)| up[port.link]).for_each(|(number, _)| ports.insert(number));
        ports
    }
}
