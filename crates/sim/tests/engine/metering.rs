//! Meters report what a count of every packet finds, on random networks of every family.
//!
//! The engine's meters keep sums. The count here keeps every packet that waits, and every change of a number, and works
//! out the reports from them at the end.

use crate::common::random::{self, Family};
use crate::common::{cases, run, scenario};
use backwater_counters::DelayHistogram;
use backwater_dataplane::Departed;
use backwater_sim::observe::{Joined, Observer, Transmission};
use backwater_sim::workload::counted_window;
use backwater_sim::{Outcome, Simulation, Watch, ports};
use backwater_types::{DropReason, Duration, Instant, Kind, Packet, PortId};
use std::collections::BTreeMap;

/// A packet that waits at a port.
struct Waiting {
    of: (u32, u32, Kind, u8),
    since: Instant,
}

/// Flow, position, kind and class of a packet.
fn of(packet: &Packet) -> (u32, u32, Kind, u8) {
    (packet.flow, packet.seq, packet.kind, packet.class)
}

/// A switch and its port.
type Port = (usize, PortId);

/// Every packet that waits, and every change of the number of flows with data.
#[derive(Default)]
struct Ledger {
    waiting: BTreeMap<Port, Vec<Waiting>>,
    /// Flows with data from this time on.
    flows: BTreeMap<Port, Vec<(Instant, usize)>>,
    /// `(switch, time in its queues)`.
    delays: Vec<(usize, Duration)>,
    /// Data packets that joined a queue: `(switch, ingress, egress)`.
    joined: Vec<(usize, PortId, PortId)>,
}

impl Ledger {
    fn note(&mut self, now: Instant, port: Port) {
        let mut flows: Vec<u32> = self.waiting[&port].iter().map(|waiting| waiting.of.0).collect();
        flows.sort_unstable();
        flows.dedup();
        let changes = self.flows.entry(port).or_default();
        // Only the last number of an instant lasts.
        changes.pop_if(|(at, _)| *at == now);
        changes.push((now, flows.len()));
    }

    /// Takes a packet that waits at `port`, if it does. Two copies of it may wait: `since` says which one is meant.
    fn take(&mut self, now: Instant, port: Port, packet: &Packet, since: Option<Instant>) -> bool {
        let Some(waiting) = self.waiting.get_mut(&port) else { return false };
        let is_it = |waiting: &Waiting| waiting.of == of(packet) && since.is_none_or(|since| waiting.since == since);
        let Some(at) = waiting.iter().position(is_it) else { return false };
        let since = waiting.remove(at).since;
        self.delays.push((port.0, now.since(since)));
        self.note(now, port);
        true
    }
}

impl Observer for Ledger {
    fn enqueued(&mut self, now: Instant, switch: usize, joined: Joined, packet: &Packet, _last: &Transmission) {
        let port = (switch, joined.egress);
        self.waiting.entry(port).or_default().push(Waiting { of: of(packet), since: now });
        self.note(now, port);
        if packet.kind == Kind::Data {
            self.joined.push((switch, joined.ingress, joined.egress));
        }
    }

    fn departed(&mut self, now: Instant, switch: usize, port: PortId, packet: &Packet, sent: &Departed) {
        if sent.queue.is_some() {
            let it_waited = self.take(now, (switch, port), packet, Some(sent.entered));
            assert!(it_waited, "{packet:?} leaves a queue that it did not join at {:?}", sent.entered);
        }
    }

    fn dropped(&mut self, now: Instant, node: usize, packet: &Packet, reason: DropReason) {
        // The only reason for which packets leave queues unsent.
        if reason == DropReason::NotEct {
            let ports: Vec<Port> = self.waiting.range((node, 0)..=(node, PortId::MAX)).map(|(port, _)| *port).collect();
            assert!(ports.into_iter().any(|port| self.take(now, port, packet, None)), "{packet:?} did not wait");
        }
    }
}

/// Bin of a histogram: its two ends, ns, and its count.
type Bin = (u64, u64, u64);

/// Reports of the meters of a run.
#[derive(Debug, Default, PartialEq)]
struct Metered {
    /// By port: `[flows with data]`, samples.
    active_flows: BTreeMap<Port, Vec<u64>>,
    /// By layer: bins of the histogram of delays, and their sum in ps.
    delays: BTreeMap<u8, (Vec<Bin>, u128)>,
    valleys: u64,
}

impl Metered {
    fn reported(outcome: &Outcome) -> Metered {
        let ports = outcome.samples.active_flows.ports();
        let delays = outcome.delays.iter().map(|(layer, delays)| (*layer, (delays.bins().collect(), delays.sum)));
        Metered {
            active_flows: ports.map(|(node, port, counts)| ((node as usize, port), counts.clone())).collect(),
            delays: delays.collect(),
            valleys: outcome.valleys.unwrap_or(0),
        }
    }

    fn counted(ledgers: &[Ledger], outcome: &Outcome) -> Metered {
        let (graph, period) = (&outcome.graph, outcome.scenario.measure.sample.0);
        let (warm, until) = counted_window(&outcome.scenario);
        // Nothing is sampled at time zero.
        let grid = || (warm.0.div_ceil(period).max(1)..=until.0 / period).map(|i| Instant(i * period));
        let links = ports(graph);
        let mut counted = Metered::default();
        let layer = |node: usize| graph.nodes[node].layer;
        for (switch, of_switch) in links.iter().enumerate().skip(graph.hosts) {
            counted.delays.entry(layer(switch)).or_insert_with(|| (Vec::new(), 0));
            for port in 0..of_switch.len() as PortId {
                let mut changes =
                    ledgers.iter().find_map(|ledger| ledger.flows.get(&(switch, port))).into_iter().flatten();
                let (mut flows, mut next, mut samples) = (0, changes.next(), Vec::new());
                for at in grid() {
                    while let Some((_, then)) = next.filter(|(since, _)| *since < at) {
                        (flows, next) = (*then, changes.next());
                    }
                    samples.resize(samples.len().max(flows + 1), 0);
                    samples[flows] += 1;
                }
                if !samples.is_empty() {
                    counted.active_flows.insert((switch, port), samples);
                }
            }
        }
        let mut histograms = BTreeMap::<u8, DelayHistogram>::new();
        for (switch, delay) in ledgers.iter().flat_map(|ledger| &ledger.delays) {
            histograms.entry(layer(*switch)).or_default().count(*delay);
        }
        counted.delays.extend(histograms.iter().map(|(layer, delays)| (*layer, (delays.bins().collect(), delays.sum))));
        let up = |switch: usize, port: PortId| layer(graph.peer(links[switch][port as usize], switch)) > layer(switch);
        let joined = ledgers.iter().flat_map(|ledger| &ledger.joined);
        counted.valleys = joined.filter(|(switch, from, to)| up(*switch, *from) && up(*switch, *to)).count() as u64;
        counted
    }
}

/// Compares reports and counts of cases of a family. Returns the number of samples with two active flows or more, and
/// that of delays.
fn compare(family: Family, cases: std::ops::Range<u64>) -> (u64, u64) {
    let (mut shared, mut waited) = (0, 0);
    for number in cases {
        let case = random::case(family, number);
        let mut scenario = scenario(&case.toml);
        let measure = &mut scenario.measure;
        (measure.active_flows, measure.queueing_delay, measure.valleys) = (true, true, true);
        measure.sample = Duration::from_ns(250 * (1 + number % 7));
        let simulation = Simulation::new(&scenario, case.threads);
        let (outcome, ledgers) = simulation.observe_any(Ledger::default, &Watch::default());
        let (reported, counted) = (Metered::reported(&outcome), Metered::counted(&ledgers, &outcome));
        assert_eq!(reported, counted, "case {number}:\n{}", case.toml);
        shared += counted.active_flows.values().flat_map(|samples| samples.iter().skip(2)).sum::<u64>();
        waited +=
            counted.delays.values().flat_map(|(bins, _)| bins).filter(|bin| bin.0 > 0).map(|bin| bin.2).sum::<u64>();
    }
    (shared, waited)
}

fn compare_families(cases: std::ops::Range<u64>) {
    for family in [Family::Queues, Family::Flows, Family::Tcp, Family::Credits, Family::Extended] {
        let networks = cases.end - cases.start;
        let (shared, waited) = compare(family, cases.clone());
        println!("{family:?}: {networks} networks, {shared} samples with two flows or more, {waited} packets waited");
        assert!(2 * shared > networks && waited > 10 * networks, "{family:?} meters little: {shared}, {waited}");
    }
}

#[test]
fn meters_report_what_a_count_of_every_packet_finds() {
    compare_families(0..cases(200, 300));
}

/// `make test-long`.
#[test]
#[ignore = "minutes"]
fn meters_report_what_a_count_of_every_packet_finds_in_ten_thousand_networks() {
    compare_families(1_000..3_000);
}

/// The network is empty at the start, so the halves differ.
#[test]
fn the_earlier_half_of_goodput_is_that_of_half_the_window() {
    let of = |duration: &str| {
        let scenario = scenario(&format!(
            "scheme = \"dctcp\"\n\
             [topology]\nkind = \"single-switch\"\nhosts = 8\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\
             [run]\nduration = \"{duration}\"\nwarmup = \"50 us\"\n\
             [[workload]]\nkind = \"background\"\nsizes = {{ fixed = \"100 KB\" }}\narrivals = \"poisson\"\n\
             load = 0.8\nload_of = \"receivers\"\n\
             [[workload]]\nkind = \"long-lived\"\nclass = \"long\"\ncount = 3\nto = [\"host0\"]\n"
        ));
        run(&scenario)
    };
    let (whole, half) = (of("350 us"), of("200 us"));
    assert_eq!(whole.early_goodput, half.goodput);
    for class in 0..2 {
        let late = whole.goodput[class] - whole.early_goodput[class];
        assert!(whole.early_goodput[class] > 0 && late > 0 && late != whole.early_goodput[class], "class {class}");
    }
}
