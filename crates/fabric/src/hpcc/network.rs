//! Quantities that the public HPCC simulator computes from a network before it runs: addresses, ports, path hashes,
//! base round trips.
//!
//! Source: baselines 0.2 and 0.6 and traffic 7.1, from the simulator's set-up script, switch and analysis.

use backwater_scenario::model::Host;
use backwater_scenario::topology::Graph;

/// Source port of the first flow between two hosts; each further flow has the next port.
pub const FIRST_SOURCE_PORT: u16 = 10_000;

/// IP address of the node with this number.
pub fn address(id: u16) -> u32 {
    0x0b00_0001 + ((id as u32 / 256) << 16) + ((id as u32 % 256) << 8)
}

/// Combines both ports into one word of the path hash. The ports of an ACK are swapped: the word is rotated by 16 bits.
pub fn ports(source: u16, destination: u16) -> u32 {
    source as u32 | (destination as u32) << 16
}

/// Computes MurmurHash3 (x86, 32 bits) of three words.
#[inline]
pub fn murmur3(seed: u32, words: [u32; 3]) -> u32 {
    let mut h = seed;
    for word in words {
        h ^= word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        h = h.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    h ^= 12;
    h = (h ^ h >> 16).wrapping_mul(0x85eb_ca6b);
    h = (h ^ h >> 13).wrapping_mul(0xc2b2_ae35);
    h ^ h >> 16
}

/// Lists the neighbours of each node and the links to them, `[node]`, in the order in which the simulator visits them:
/// by descending number.
pub fn neighbours(graph: &Graph, up: &[bool]) -> Vec<Vec<(usize, usize)>> {
    let mut out = vec![Vec::new(); graph.nodes.len()];
    for (link, l) in graph.links.iter().enumerate().filter(|(link, _)| up[*link]) {
        out[l.a].push((l.b, link));
        out[l.b].push((l.a, link));
    }
    for near in &mut out {
        near.sort_by_key(|(node, _)| std::cmp::Reverse(graph.nodes[*node].id));
    }
    out
}

/// Breadth-first search from one host with all links up, which takes the first path found to each host. The base round
/// trip is propagation both ways, the delay of a packet and its answer in hosts, and one payload's serialisation per
/// link. The simulator has no delay in hosts.
struct Search<'a> {
    graph: &'a Graph,
    payload: u64,
    /// Host delay of a round trip, nanoseconds.
    in_hosts: u64,
    near: Vec<Vec<(usize, usize)>>,
    /// `[node]`: propagation and serialisation from the root, nanoseconds; slowest link, bit/s.
    reached: Vec<Option<(u64, u64, u64)>>,
}

impl Search<'_> {
    fn new<'a>(graph: &'a Graph, host: &Host) -> Search<'a> {
        let near = neighbours(graph, &vec![true; graph.links.len()]);
        let (payload, in_hosts) = (host.payload.0, 2 * host.delay.0 / 1000);
        Search { graph, payload, in_hosts, near, reached: vec![None; graph.nodes.len()] }
    }

    /// Computes the base round trip, nanoseconds, and the slowest link, bit/s, from `root` to each host, `[host]`;
    /// `None` for the root itself.
    fn from(&mut self, root: usize) -> impl Iterator<Item = Option<(u64, u64)>> {
        self.reached.fill(None);
        self.reached[root] = Some((0, 0, u64::MAX));
        let mut queue = std::collections::VecDeque::from([root]);
        while let Some(node) = queue.pop_front() {
            let (delay, sending, slowest) = self.reached[node].expect("only nodes that were reached are queued");
            for (next, link) in &self.near[node] {
                if self.reached[*next].is_some() {
                    continue;
                }
                let l = &self.graph.links[*link];
                let once = self.payload * 8_000_000_000 / l.rate.0;
                self.reached[*next] = Some((delay + l.delay.0 / 1000, sending + once, slowest.min(l.rate.0)));
                if *next >= self.graph.hosts {
                    queue.push_back(*next);
                }
            }
        }
        let in_hosts = self.in_hosts;
        self.reached[..self.graph.hosts].iter().enumerate().map(move |(host, reached)| {
            let (delay, sending, slowest) = reached.expect("valid scenarios are connected");
            (host != root).then_some((2 * delay + in_hosts + sending, slowest))
        })
    }
}

/// Largest base round trip and largest bandwidth-delay product of any pair of hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Longest {
    /// Base round trip, nanoseconds.
    pub rtt: u64,
    /// Bandwidth-delay product, payload bytes: the window at line rate.
    pub bdp: u64,
}

impl Longest {
    /// Searches from one host of each switch and kind of link, because hosts with equal links to one switch have equal
    /// paths.
    pub fn new(graph: &Graph, host: &Host) -> Longest {
        let mut search = Search::new(graph, host);
        let mut seen = std::collections::HashSet::new();
        let mut longest = Longest::default();
        for root in 0..graph.hosts {
            let link = &graph.links[root];
            if !seen.insert((link.a.max(link.b), link.rate, link.delay)) {
                continue;
            }
            for (rtt, slowest) in search.from(root).flatten() {
                longest = Longest { rtt: longest.rtt.max(rtt), bdp: longest.bdp.max(bdp((rtt, slowest))) };
            }
        }
        longest
    }
}

/// Base round trips and bandwidths between all hosts: 16 bytes a pair.
pub struct BaseTimes {
    hosts: usize,
    /// `[destination x source]`: base round trip, nanoseconds; slowest link, bit/s.
    pairs: Vec<(u64, u64)>,
}

impl BaseTimes {
    /// Computes base round trips along the paths that the simulator's search finds first.
    pub fn new(graph: &Graph, host: &Host) -> BaseTimes {
        let mut search = Search::new(graph, host);
        let mut pairs = Vec::with_capacity(graph.hosts * graph.hosts);
        for root in 0..graph.hosts {
            pairs.extend(search.from(root).map(|pair| pair.unwrap_or((0, u64::MAX))));
        }
        BaseTimes { hosts: graph.hosts, pairs }
    }

    /// Base BDP of a pair, bytes.
    pub fn bdp(&self, src: usize, dst: usize) -> u64 {
        bdp(self.pairs[dst * self.hosts + src])
    }

    /// Base round trip of a pair, nanoseconds.
    pub fn rtt(&self, src: usize, dst: usize) -> u64 {
        self.pairs[dst * self.hosts + src].0
    }

    /// Completion time of `size` bytes alone, nanoseconds: base round trip plus serialisation of all bytes and headers
    /// at the slowest link.
    pub fn standalone(&self, src: u16, dst: u16, size: u64, payload: u64, header: u64) -> u64 {
        let (rtt, rate) = self.pairs[dst as usize * self.hosts + src as usize];
        let total = size + size.div_ceil(payload) * header;
        rtt + (total as u128 * 8_000_000_000 / rate as u128) as u64
    }
}

/// Bandwidth-delay product of a base round trip and the slowest link, bytes.
fn bdp((rtt, rate): (u64, u64)) -> u64 {
    if rtt == 0 { 0 } else { (rtt as u128 * rate as u128 / 8_000_000_000) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_scenario::model::Topology;
    use backwater_scenario::topology::expand;
    use backwater_types::hash::Stream;
    use backwater_types::{BitsPerSec, Duration};

    #[test]
    fn addresses_are_the_simulators() {
        assert_eq!([0, 1, 255, 256, 320].map(address), [0x0b000001, 0x0b000101, 0x0b00ff01, 0x0b010001, 0x0b014001]);
    }

    #[test]
    fn the_hash_mixes_every_bit() {
        let base = murmur3(7, [1, 2, 3]);
        for word in 0..3 {
            for bit in 0..32 {
                let mut words = [1, 2, 3];
                words[word] ^= 1 << bit;
                let changed = (murmur3(7, words) ^ base).count_ones();
                assert!((6..27).contains(&changed), "word {word} bit {bit}: {changed} bits differ");
            }
        }
    }

    #[test]
    fn the_clos_has_a_base_round_trip_of_8320_ns_and_a_window_of_104_kb() {
        let (rate, delay) = (BitsPerSec(100_000_000_000), Duration::from_us(1));
        let clos = Topology::LeafSpine {
            leaves: 8,
            spines: 8,
            hosts_per_leaf: 16,
            host_rate: rate,
            core_rate: rate,
            host_delay: delay,
            core_delay: delay,
        };
        let base = BaseTimes::new(&expand(&clos), &Host::default());
        assert_eq!(base.pairs[127 * 128], (8_320, 100_000_000_000));
        assert_eq!(base.pairs[1], (4_160, 100_000_000_000));
        assert_eq!(Longest::new(&expand(&clos), &Host::default()), Longest { rtt: 8_320, bdp: 104_000 });
        let slow = Host { delay: Duration::from_us(2), ..Host::default() };
        assert_eq!(Longest::new(&expand(&clos), &slow), Longest { rtt: 12_320, bdp: 154_000 }, "both hosts take 2 us");
        // 10 packets of 1048 B at 100 Gb/s: 838 ns.
        assert_eq!(base.standalone(0, 127, 10_000, 1000, 48), 8_320 + 838);
    }
    #[test]
    fn the_longest_path_is_that_of_all_pairs_whatever_links_differ() {
        let mut rng = Stream::new(1, 2, 3);
        let mut differ = 0;
        for _ in 0..200 {
            let mut graph = expand(&Topology::Chain {
                switches: 4,
                hosts_per_switch: 3,
                rate: BitsPerSec(100_000_000_000),
                delay: Duration::from_us(1),
            });
            for link in &mut graph.links {
                link.rate = BitsPerSec([25, 40, 100][rng.next_u32() as usize % 3] * 1_000_000_000);
                link.delay = Duration::from_ns([100, 1000, 3000][rng.next_u32() as usize % 3]);
            }
            let base = BaseTimes::new(&graph, &Host::default());
            let pairs = base.pairs.iter().filter(|(rtt, _)| *rtt > 0);
            let expected = pairs.fold(Longest::default(), |most, pair| Longest {
                rtt: most.rtt.max(pair.0),
                bdp: most.bdp.max(bdp(*pair)),
            });
            assert_eq!(Longest::new(&graph, &Host::default()), expected);
            let first = Search::new(&graph, &Host::default()).from(0).flatten().map(|pair| pair.0).max();
            differ += u32::from(first != Some(expected.rtt));
        }
        assert!(differ > 50, "a search from one root is too often enough: only {differ} networks differ");
    }
}
