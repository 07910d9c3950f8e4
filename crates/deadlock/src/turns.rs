//! Turns that packets take at switches: by the routes as links are, by the routes with links failed, or all possible
//! ones.

use crate::switches::{Ports, Switches};
use crate::ways::{Links, Ways};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Turn: a pair of an ingress and an egress port of one switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) switch: usize,
    /// Ingress port; [`HOSTS`] for the port of any host here.
    pub(crate) ingress: usize,
    pub(crate) egress: usize,
    pub(crate) cause: Cause,
}

/// Ingress that stands for the ports of all hosts of a switch.
pub(crate) const HOSTS: usize = usize::MAX;

/// Routes that take a turn: the first found with the fewest failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Routes to the hosts of switch `root`, with these links failed.
    Route { root: usize, failed: Failed },
    /// Routes to the hosts of switch `root`, while links fail and recover in the scenario.
    Change { root: usize },
    /// No routes: the turn is possible.
    Possible,
}

/// Failed links, at most two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Failed([Option<u32>; 2]);

impl Failed {
    pub(crate) fn one(a: usize) -> Failed {
        Failed([Some(a as u32), None])
    }

    pub(crate) fn two(a: usize, b: usize) -> Failed {
        Failed([Some(a.min(b) as u32), Some(a.max(b) as u32)])
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().flatten().map(|link| link as usize)
    }
}

/// Progress of a check, and the request to stop it.
#[derive(Debug, Default)]
pub struct Watch {
    /// Number of failures done; counts those that change paths, once per destination.
    pub done: AtomicU64,
    /// Failures to do; 0 until the number is known.
    pub of: AtomicU64,
    /// Request to stop.
    pub cancel: AtomicBool,
}

impl Watch {
    fn add(&self, done: u64) {
        self.done.fetch_add(done, Ordering::Relaxed);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// Turns, each once, in the order in which they were found.
pub(crate) struct Turns<'a> {
    switches: &'a Switches<'a>,
    /// `[switch][ingress]`: egresses found. The last row is that of hosts.
    known: Vec<Vec<Ports>>,
    pub(crate) list: Vec<Turn>,
}

impl<'a> Turns<'a> {
    pub(crate) fn new(switches: &'a Switches<'a>) -> Turns<'a> {
        let rows = switches.ports.iter().map(|ports| vec![Ports::default(); ports.len() + 1]);
        Turns { switches, known: rows.collect(), list: Vec::new() }
    }

    fn add(&mut self, ways: &Ways, links: &Links, cause: Cause) {
        for (switch, into, next) in ways.active() {
            let hosts = (!links.hosts[switch].is_empty()).then_some(HOSTS);
            for ingress in into.iter().chain(hosts) {
                self.insert(switch, ingress, next, cause);
            }
        }
    }

    fn insert(&mut self, switch: usize, ingress: usize, egresses: Ports, cause: Cause) {
        let row = ingress.min(self.switches.ports[switch].len());
        let known = &mut self.known[switch][row];
        let new = egresses.without(*known);
        if !new.is_empty() {
            *known = known.or(new);
            self.list.extend(new.iter().map(|egress| Turn { switch, ingress, egress, cause }));
        }
    }

    /// Adds the turns of the routes in each state of the links. The second and later states follow each other as links
    /// fail and recover, so packets in flight take routes of several states.
    pub(crate) fn add_routes(&mut self, ways: &mut Ways, states: &[Links]) {
        for &root in &self.switches.homes {
            for (n, links) in states.iter().enumerate() {
                if n == 0 {
                    ways.settle(self.switches, root, links);
                    self.add(ways, links, Cause::Route { root, failed: Failed::default() });
                } else {
                    ways.change(self.switches, root, links);
                    self.add(ways, links, Cause::Change { root });
                }
            }
        }
    }

    /// Adds the turns of the routes to every switch with these links failed.
    pub(crate) fn add_failed(&mut self, ways: &mut Ways, links: &Links, failed: Failed) {
        let mut links = links.clone();
        failed.iter().for_each(|link| links.up[link] = false);
        for &root in &self.switches.homes {
            ways.settle(self.switches, root, &links);
            self.add(ways, &links, Cause::Route { root, failed });
        }
    }

    /// Adds the turns of the routes with any one, or any two, further links between switches failed. The result is
    /// exact: failures that bring no turn ([`Ways::critical`]) are skipped, and all others are routed anew, destination
    /// by destination.
    ///
    /// Returns false if `watch` asked to stop.
    pub(crate) fn add_failures(&mut self, ways: &mut Ways, links: &Links, two: bool, watch: &Watch) -> bool {
        let switches = self.switches;
        let mut links = links.clone();
        let mut critical = Vec::new();
        for &root in &switches.homes {
            ways.settle(switches, root, &links);
            let (alone, pairs) = ways.critical(switches);
            watch
                .of
                .fetch_add((alone.len() + if two { alone.len() + pairs.len() } else { 0 }) as u64, Ordering::Relaxed);
            critical.push((root, alone, pairs));
        }
        for (root, alone, _) in &critical {
            for &a in alone {
                if watch.is_cancelled() {
                    return false;
                }
                links.up[a] = false;
                self.add_one(ways, *root, &links, Failed::one(a));
                links.up[a] = true;
            }
            watch.add(alone.len() as u64);
        }
        for (root, alone, pairs) in critical.iter().filter(|_| two) {
            for &a in alone {
                links.up[a] = false;
                ways.settle(switches, *root, &links);
                for b in ways.critical(switches).0 {
                    // Both links are critical alone, and the round of `b` came before. It has searched `a` on top of
                    // `b`, unless `a` was not critical then. In that case `a` brought nothing.
                    if b < a && alone.binary_search(&b).is_ok() {
                        continue;
                    }
                    if watch.is_cancelled() {
                        return false;
                    }
                    links.up[b] = false;
                    self.add_one(ways, *root, &links, Failed::two(a, b));
                    links.up[b] = true;
                }
                links.up[a] = true;
                watch.add(1);
            }
            for &[a, b] in pairs {
                (links.up[a], links.up[b]) = (false, false);
                self.add_one(ways, *root, &links, Failed::two(a, b));
                (links.up[a], links.up[b]) = (true, true);
            }
            watch.add(pairs.len() as u64);
        }
        true
    }

    fn add_one(&mut self, ways: &mut Ways, root: usize, links: &Links, failed: Failed) {
        ways.settle(self.switches, root, links);
        self.add(ways, links, Cause::Route { root, failed });
    }

    /// Adds every turn except back to the sender of the packets.
    pub(crate) fn add_possible(&mut self) {
        for switch in 0..self.switches.ports.len() {
            let all = self.switches.up(switch, &vec![true; self.switches.graph.links.len()]);
            let hosts = (!self.switches.hosts[switch].is_empty()).then_some(HOSTS);
            for ingress in all.without(self.switches.hosts[switch]).iter().chain(hosts) {
                let mut back = Ports::default();
                if ingress != HOSTS {
                    back.insert(ingress);
                }
                self.insert(switch, ingress, all.without(back), Cause::Possible);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_scenario::topology::{Graph, Link, Node};
    use backwater_types::hash::{Stream, range32};
    use backwater_types::{BitsPerSec, Duration};
    use std::collections::BTreeSet;

    /// Draws a graph of up to seven switches, some with a host, and random links between them.
    fn drawn(seed: u64) -> Graph {
        let mut draws = Stream::new(seed, 1, 0);
        let mut below = |n: u32| range32(draws.next_u32(), n) as usize;
        let (switches, hosts) = (3 + below(5), 2 + below(3));
        let node = |i: usize| Node { name: format!("n{i}"), layer: 0, id: i as u16 };
        let link = |a: usize, b: usize| Link { a, b, rate: BitsPerSec(1), delay: Duration(1) };
        let mut links: Vec<Link> = (0..hosts).map(|host| link(host, hosts + below(switches as u32))).collect();
        for a in 0..switches {
            links.extend((0..a).filter(|_| below(10) < 6).map(|b| link(hosts + a, hosts + b)));
        }
        Graph { nodes: (0..hosts + switches).map(node).collect(), hosts, links, core_links: Vec::new() }
    }

    fn set(turns: &Turns) -> BTreeSet<(usize, usize, usize)> {
        turns.list.iter().map(|turn| (turn.switch, turn.ingress, turn.egress)).collect()
    }

    /// Expects the turns by failures to equal those found by routing each failure separately.
    #[test]
    fn skipped_failures_bring_no_turn() {
        let (mut one, mut two) = (0, 0);
        for seed in 0..3_000 {
            let graph = drawn(seed);
            let switches = Switches::new(&graph);
            let links = Links::new(&switches, vec![true; graph.links.len()]);
            let between: Vec<usize> = (graph.hosts..graph.links.len()).collect();
            let mut ways = Ways::new(&switches);
            let mut all = Turns::new(&switches);
            all.add_routes(&mut ways, std::slice::from_ref(&links));
            let start = all.list.len();
            for pairs in [false, true] {
                let mut some = Turns::new(&switches);
                some.add_routes(&mut ways, std::slice::from_ref(&links));
                let watch = Watch::default();
                assert!(some.add_failures(&mut ways, &links, pairs, &watch));
                assert_eq!(watch.done.load(Ordering::Relaxed), watch.of.load(Ordering::Relaxed));
                for (i, a) in between.iter().enumerate() {
                    if pairs {
                        between[..i].iter().for_each(|b| all.add_failed(&mut ways, &links, Failed::two(*a, *b)));
                    } else {
                        all.add_failed(&mut ways, &links, Failed::one(*a));
                    }
                }
                assert_eq!(set(&some), set(&all), "{seed}");
                for turn in &some.list {
                    let Cause::Route { failed, .. } = turn.cause else { panic!("routes only") };
                    assert!(failed.iter().count() <= 1 + usize::from(pairs));
                    let mut own = Turns::new(&switches);
                    own.add_failed(&mut ways, &links, failed);
                    assert!(set(&own).contains(&(turn.switch, turn.ingress, turn.egress)), "{seed}: {turn:?}");
                }
                let more = usize::from(all.list.len() > start);
                if pairs { two += more } else { one += more }
            }
        }
        assert!(one > 300 && two > one, "{one} graphs have turns by one failure, {two} by two");
    }

    #[test]
    fn a_check_stops_when_asked() {
        let graph = drawn(1);
        let switches = Switches::new(&graph);
        let links = Links::new(&switches, vec![true; graph.links.len()]);
        let watch = Watch::default();
        watch.cancel.store(true, Ordering::Relaxed);
        assert!(!Turns::new(&switches).add_failures(&mut Ways::new(&switches), &links, true, &watch));
    }
}
