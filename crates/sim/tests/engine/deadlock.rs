//! The check for cycles of pauses against runs: packets take only turns that the check knows. A network without a cycle
//! never deadlocks, and one with a cycle may.
//!
//! `ten_thousand_networks_without_a_cycle_never_stand_still` belongs to `make test-long`.

use crate::common::random::Dice;
use crate::common::{run, scenario};
use backwater_dataplane::Departed;
use backwater_deadlock::{Failures, check, components, turns};
use backwater_scenario::Scenario;
use backwater_scenario::topology::Graph;
use backwater_sim::measure::summary::summary;
use backwater_sim::observe::{Joined, Observer, Transmission};
use backwater_sim::{Simulation, Watch, ports};
use backwater_types::{DropReason, Instant, Kind, Packet, PortId};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

/// Schemes with few queues, so that flows share them.
const SCHEMES: [&str; 5] = [
    "scheme = \"bfc\"\nswitch.queues = 2",
    "scheme = \"bfc\"\nswitch.queues = 3",
    "scheme = \"bfc-single\"",
    "scheme = \"flowsail\"\nswitch.queues = 2",
    "scheme = \"pfc\"\nswitch.buffer = \"1 MB\"",
];

/// Draws a network: three to six switches in a random graph, or five or six in a ring with at most one chord. Each host
/// sends to several others. In a ring most flows go to the second host on, so that every link waits for the next.
fn network(dice: &mut Dice, keys: &str, bytes: &str) -> (String, Vec<[u64; 2]>) {
    let ring = dice.percent(35);
    let switches = if ring { dice.range(5, 6) } else { dice.range(3, 6) };
    let below = |dice: &mut Dice, s: u64| if ring { s - 1 } else { dice.below(s) };
    let mut pairs: Vec<[u64; 2]> = (1..switches).map(|s| [below(dice, s), s]).collect();
    if ring {
        pairs.push([0, switches - 1]);
    }
    for _ in 0..dice.below(if ring { 2 } else { switches + 1 }) {
        let (a, b) = (dice.below(switches), dice.below(switches));
        let pair = [a.min(b), a.max(b)];
        if a != b && !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    let hosts = if ring { switches } else { dice.range(2, switches + 1) };
    let name = |prefix: &str, count: u64| (0..count).map(|i| format!("\"{prefix}{i}\"")).collect::<Vec<_>>().join(", ");
    let mut out =
        format!("{keys}\nhost.rto = \"500 us\"\n[topology]\nkind = \"graph\"\nhosts = [{}]\n", name("h", hosts));
    let _ = writeln!(out, "switches = [{}]\nlinks = [", name("s", switches));
    let mut link = |a: String, b: String| {
        let _ = writeln!(out, "    {{ ends = [\"{a}\", \"{b}\"], rate = \"100 Gbps\", delay = \"1 us\" }},");
    };
    for host in 0..hosts {
        // Hosts get switches of their own as long as there are any.
        let at = if host < switches { host } else { dice.below(switches) };
        link(format!("h{host}"), format!("s{at}"));
    }
    pairs.iter().for_each(|[a, b]| link(format!("s{a}"), format!("s{b}")));
    out += "]\n[run]\nduration = \"100 us\"\nwarmup = \"0 s\"\ndrain = 1000.0\n[measure]\nsample = \"0 s\"\n";
    out += "[[workload]]\nkind = \"flow-list\"\nflows = [\n";
    for flow in 0..hosts * if ring { dice.range(8, 20) } else { dice.range(4, 12) } {
        let on = if ring && dice.percent(75) { 2 } else { dice.range(1, hosts - 1) };
        let src = flow % hosts;
        let dst = (src + on) % hosts;
        let _ =
            writeln!(out, "    {{ start = \"{flow} ns\", src = \"h{src}\", dst = \"h{dst}\", bytes = \"{bytes}\" }},");
    }
    out += "]\n";
    (out, pairs)
}

/// Counts of a sweep.
#[derive(Debug, Default)]
struct Seen {
    acyclic: u64,
    cyclic: u64,
    stuck: u64,
    opened: u64,
}

fn stands_still(scenario: &Scenario) -> bool {
    let outcome = run(scenario);
    let summary = summary(&outcome);
    assert_eq!(summary["deadlock"]["ports"], components(scenario).iter().sum::<usize>());
    summary["ending"]["why"] == "standstill"
}

/// Checks networks number `cases`.
fn sweep(cases: std::ops::Range<u64>) -> Seen {
    let mut seen = Seen::default();
    for case in cases {
        let dice = &mut Dice::new(0xdead_0000 + case);
        let keys = dice.of(&SCHEMES);
        let (text, _) = network(dice, keys, "200 KB");
        let plain = scenario(&text);
        let stuck = stands_still(&plain);
        if components(&plain).is_empty() {
            seen.acyclic += 1;
            assert!(!stuck, "case {case} has no cycle and stands still\n{text}");
            continue;
        }
        seen.cyclic += 1;
        seen.stuck += u64::from(stuck);
        let table = if keys.contains("flowsail") { "flowsail" } else { "bfc" };
        let found = check(&plain, Failures::None, &backwater_deadlock::Watch::default()).expect("nobody cancels");
        let edges = found.report["edges"].as_array().expect("a list");
        let cost = |edge: &serde_json::Value| if edge["by"] == "pfc" { f64::INFINITY } else { 1.0 };
        let costs: Vec<f64> = edges.iter().map(cost).collect();
        let Some(chosen) = found.cycles.complete(&[], &costs) else { continue };
        let turn = |edge: u32| {
            format!(
                "[{}, {}, {}]",
                edges[edge as usize]["from"], edges[edge as usize]["switch"], edges[edge as usize]["to"]
            )
        };
        let list: Vec<String> = chosen.into_iter().map(turn).collect();
        let elide = format!("switch.{table}.elide = [{}]\n{text}", list.join(", "));
        let open = scenario(&elide);
        assert!(components(&open).is_empty(), "case {case}\n{elide}");
        assert!(!stands_still(&open), "case {case} stands still though its cycles are open\n{elide}");
        seen.opened += u64::from(stuck);
    }
    println!("{seen:?}");
    seen
}

#[test]
fn networks_without_a_cycle_never_stand_still() {
    let seen = sweep(0..300);
    assert!(seen.acyclic > 100 && seen.cyclic > 50, "{seen:?}");
    assert!(seen.stuck > 20 && seen.opened > 10, "{seen:?}");
}

#[test]
#[ignore = "takes minutes"]
fn ten_thousand_networks_without_a_cycle_never_stand_still() {
    let seen = sweep(300..10_300);
    assert!(seen.stuck > 700 && seen.opened > 400, "{seen:?}");
}

/// Follows data packets from node to node and records their turns.
struct Turning {
    /// `[node][port]`: neighbour.
    peers: Vec<Vec<usize>>,
    /// Links that carry a packet, as (from, to); a retransmission may be in flight beside the original.
    on: HashMap<(u32, u32), Vec<(usize, usize)>>,
    /// A packet that a switch is about to put on a failed link.
    lost: Option<(u32, u32, usize)>,
    seen: BTreeSet<[usize; 3]>,
}

impl Turning {
    fn new(graph: &Graph) -> Turning {
        let peer = |node: usize, links: Vec<usize>| links.into_iter().map(|link| graph.peer(link, node)).collect();
        let peers = ports(graph).into_iter().enumerate().map(|(node, links)| peer(node, links)).collect();
        Turning { peers, on: HashMap::new(), lost: None, seen: BTreeSet::new() }
    }

    fn sent(&mut self, node: usize, port: usize, packet: &Packet) {
        let lost = self.lost.take() == Some((packet.flow, packet.seq, node));
        if packet.kind == Kind::Data && !lost {
            self.on.entry((packet.flow, packet.seq)).or_default().push((node, self.peers[node][port]));
        }
    }

    /// Removes the packet from the first of its links for which `is` holds.
    fn take(&mut self, packet: &Packet, is: impl Fn(&(usize, usize)) -> bool) -> Option<(usize, usize)> {
        let on = self.on.get_mut(&(packet.flow, packet.seq)).filter(|_| packet.kind == Kind::Data)?;
        on.iter().position(is).map(|at| on.remove(at))
    }
}

impl Observer for Turning {
    fn host_sent(&mut self, _now: Instant, host: usize, packet: &Packet) {
        self.sent(host, 0, packet);
    }

    fn departed(&mut self, _now: Instant, switch: usize, port: PortId, packet: &Packet, _sent: &Departed) {
        self.sent(switch, port as usize, packet);
    }

    fn enqueued(&mut self, _now: Instant, switch: usize, joined: Joined, packet: &Packet, _last: &Transmission) {
        if let Some((from, _)) = self.take(packet, |(_, to)| *to == switch) {
            self.seen.insert([from, switch, self.peers[switch][joined.egress as usize]]);
        }
    }

    fn host_received(&mut self, _now: Instant, host: usize, packet: &Packet) {
        self.take(packet, |(_, to)| *to == host);
    }

    /// Removes a packet dropped at a node. A drop on a failed link is reported before its transmission.
    fn dropped(&mut self, _now: Instant, node: usize, packet: &Packet, reason: DropReason) {
        if reason == DropReason::LinkDown {
            self.lost = Some((packet.flow, packet.seq, node));
        } else {
            self.take(packet, |(_, to)| *to == node);
        }
    }
}

/// Half of the networks have links that fail and recover while packets are in flight.
#[test]
fn packets_take_the_turns_that_are_known_and_no_others() {
    let (mut known, mut taken, mut changes) = (0, 0, 0);
    for case in 0..200 {
        let dice = &mut Dice::new(0x7475_726e + case);
        let keys = dice.of(&SCHEMES[..4]);
        let (mut text, pairs) = network(dice, keys, "60 KB");
        let flapping = case % 2 == 1;
        for (i, [a, b]) in pairs.iter().enumerate() {
            if !flapping || dice.percent(50) {
                continue;
            }
            let (down, up) = (3 + i as u64 + dice.below(20), 30 + dice.below(20));
            let _ = write!(text, "[[fault]]\nlink = [\"s{a}\", \"s{b}\"]\ndown = [[\"{down} us\", \"{up} us\"]]\n");
        }
        let scenario = scenario(&text.replace("drain = 1000.0", "drain = 50.0"));
        let simulation = Simulation::new(&scenario, 1);
        let (_, mut seen) = simulation.observe_any(|| Turning::new(&simulation.graph), &Watch::default());
        let hosts = simulation.graph.hosts;
        let mut seen = seen.remove(0).seen;
        seen.retain(|turn| turn[0] >= hosts);
        let between: BTreeSet<[usize; 3]> = turns(&scenario).into_iter().filter(|turn| turn[0] >= hosts).collect();
        let strange: Vec<&[usize; 3]> = seen.difference(&between).collect();
        assert!(strange.is_empty(), "case {case}: {strange:?}\n{text}");
        if flapping {
            changes += seen.iter().filter(|turn| turn[0] == turn[2]).count();
        } else {
            (known, taken) = (known + between.len(), taken + seen.len());
        }
    }
    println!("{taken} of {known} turns taken; {changes} back");
    assert!(2 * taken > known && taken <= known, "{taken} of {known} turns are taken");
    assert!(changes > 0, "no packet was turned back");
}
