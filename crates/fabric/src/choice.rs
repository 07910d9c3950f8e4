//! Load balancing: the choice of a switch among next hops of equal cost.
//!
//! | [`LoadBalancing`] | next hop of a packet |
//! |---|---|
//! | `flow` | by a hash of its flow ([`ByFlow`]) |
//! | `packet` | random for each packet (random packet spraying: Dixit et al., INFOCOM 2013) |
//! | `flowlet` | that of the flow's previous packet, or random after a gap (LetFlow: Vanini et al., NSDI 2017) |
//!
//! Flowlets are tracked as in hardware switches: in a table of fixed size, indexed by a hash of the flow, without a
//! comparison of flows. Flows that collide in an entry share their flowlets. The table has 64 Ki entries, as LetFlow's
//! has.

use crate::hpcc;
use backwater_scenario::model::{LoadBalancing, Paths, Scenario};
use backwater_scenario::topology::Graph;
use backwater_types::hash::{self, Stream};
use backwater_types::{Duration, Instant, Packet};

/// Load balancing of one switch.
#[derive(Clone, Debug)]
pub enum Choice {
    /// One path for each flow.
    Flow(ByFlow),
    /// A random next hop for each packet.
    Packet(Stream),
    /// A random next hop for each flowlet.
    Flowlet(Flowlets),
}

impl Choice {
    /// Creates the load balancing of switch number `switch` of the graph.
    pub fn new(scenario: &Scenario, graph: &Graph, switch: usize) -> Choice {
        let draws = Stream::new(scenario.seed, 0x7370_7261, switch as u64);
        match scenario.switch_at(&graph.nodes[switch].name).load_balancing {
            LoadBalancing::Flow => Choice::Flow(ByFlow::new(scenario, graph, switch)),
            LoadBalancing::Packet => Choice::Packet(draws),
            LoadBalancing::Flowlet(gap) => {
                Choice::Flowlet(Flowlets::new(gap, hash::stream(scenario.seed, SALTS, switch as u64), draws))
            }
        }
    }

    /// Chooses one of `count` next hops for a packet at `now`. A single one takes no draw.
    #[inline(always)]
    pub fn among(&mut self, now: Instant, count: u32, packet: &Packet) -> u32 {
        match self {
            Choice::Flow(by_flow) => by_flow.among(count, packet),
            _ if count == 1 => 0,
            Choice::Packet(draws) => hash::range32(draws.next_u32(), count),
            Choice::Flowlet(flowlets) => hash::range32(flowlets.draw(now, packet), count),
        }
    }

    /// Predicts the choice among `count` next hops for a packet, for a prefetch: exact for [`Choice::Flow`], 0 for
    /// random choices.
    #[inline(always)]
    pub fn likely(&self, count: u32, packet: &Packet) -> u32 {
        match self {
            Choice::Flow(by_flow) => by_flow.among(count, packet),
            Choice::Packet(_) | Choice::Flowlet(_) => 0,
        }
    }
}

/// Load balancing by flow: ECMP, which gives every flow one path.
#[derive(Clone, Debug)]
pub enum ByFlow {
    /// A hash of the packet's key with this salt.
    Salted(u64),
    /// The hash of the HPCC simulator.
    Hpcc {
        /// Number of the switch, which seeds the hash.
        seed: u32,
        /// `[host]`: IP address.
        addresses: Vec<u32>,
    },
}

impl ByFlow {
    /// Creates the hash of switch number `switch` of the graph.
    pub fn new(scenario: &Scenario, graph: &Graph, switch: usize) -> ByFlow {
        match scenario.conventions.paths {
            Paths::Salted => {
                let number = if scenario.switch.symmetric_ecmp { 0 } else { switch as u64 };
                ByFlow::Salted(hash::stream(scenario.seed, SALTS, number))
            }
            Paths::HpccSim => ByFlow::Hpcc {
                seed: graph.nodes[switch].id as u32,
                addresses: graph.nodes[..graph.hosts].iter().map(|host| hpcc::network::address(host.id)).collect(),
            },
        }
    }

    /// Chooses one of `count` next hops.
    #[inline(always)]
    pub fn among(&self, count: u32, packet: &Packet) -> u32 {
        match self {
            ByFlow::Salted(salt) => hash::range32(hash::salted(packet.key, *salt), count),
            ByFlow::Hpcc { .. } if count == 1 => 0,
            ByFlow::Hpcc { seed, addresses } => {
                let [source, destination] = [packet.src, packet.dst].map(|host| addresses[host as usize]);
                let hash = hpcc::network::murmur3(*seed, [source, destination, packet.key]);
                // Same as `hash % count`, without a division for powers of two.
                if count.is_power_of_two() { hash & (count - 1) } else { hash % count }
            }
        }
    }
}

/// Purpose number of the random stream for switches' salts.
const SALTS: u64 = 0x6563_6d70;

/// Flowlet table of one switch.
#[derive(Clone, Debug)]
pub struct Flowlets {
    gap: Duration,
    salt: u64,
    draws: Stream,
    /// `[hash of the flow]`: earliest start of a new flowlet, and random draw of the current one.
    entries: Box<[(Instant, u32)]>,
}

/// Entries of the flowlet table: 64 Ki x 16 B = 1 MiB per switch.
const ENTRIES: u32 = 1 << 16;

impl Flowlets {
    fn new(gap: Duration, salt: u64, draws: Stream) -> Flowlets {
        Flowlets { gap, salt, draws, entries: vec![(Instant::ZERO, 0); ENTRIES as usize].into() }
    }

    /// Returns the random draw for the flowlet of a packet that arrives at `now`.
    #[inline]
    fn draw(&mut self, now: Instant, packet: &Packet) -> u32 {
        let entry = &mut self.entries[hash::range32(hash::salted(packet.key, self.salt), ENTRIES) as usize];
        if now >= entry.0 {
            entry.1 = self.draws.next_u32();
        }
        entry.0 = now + self.gap;
        entry.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(key: u32) -> Packet {
        Packet { key, ..Packet::NONE }
    }

    fn draws() -> Stream {
        Stream::new(1, 2, 3)
    }

    /// 80 000 packets over 8 paths: 10 000 are expected on each, with standard deviation 94.
    #[test]
    fn packets_are_spread_evenly() {
        let mut choice = Choice::Packet(draws());
        let mut taken = [0u32; 8];
        (0..80_000).for_each(|_| taken[choice.among(Instant::ZERO, 8, &packet(7)) as usize] += 1);
        assert!(taken.iter().all(|n| n.abs_diff(10_000) < 400), "{taken:?}");
    }

    #[test]
    fn a_flowlet_stays_on_its_path_and_may_leave_it_after_a_gap() {
        let mut choice = Choice::Flowlet(Flowlets::new(Duration::from_us(50), hash::stream(1, SALTS, 0), draws()));
        let us = |us: u64| Instant::ZERO + Duration::from_us(us);
        let mut at = |us_now: u64| choice.among(us(us_now), 1 << 16, &packet(7));
        // Each packet extends the flowlet; a gap of 50 us ends it.
        let first = at(0);
        assert!([1, 49, 98, 147].into_iter().all(|now| at(now) == first));
        let second = at(197);
        assert_ne!(second, first);
        assert_eq!(at(246), second);
        assert_ne!(at(1000), second);
    }

    #[test]
    fn flowlets_of_many_flows_are_spread_evenly() {
        let mut choice = Choice::Flowlet(Flowlets::new(Duration::from_us(50), hash::stream(1, SALTS, 0), draws()));
        let mut taken = [0u32; 8];
        let mut keys = Stream::new(4, 5, 6);
        (0..8_000).for_each(|_| taken[choice.among(Instant::ZERO, 8, &packet(keys.next_u32())) as usize] += 1);
        // 1000 are expected on each, with standard deviation 30; collisions in an entry add a little.
        assert!(taken.iter().all(|n| n.abs_diff(1000) < 200), "{taken:?}");
    }
}
