//! What a run leaves: times of every flow, counters of every port, samples, and a digest of it all.

use crate::measure::ideal::Ideal;
use crate::record::Recorded;
use crate::run::harvest::Harvest;
use crate::run::link_samples::LinkSample;
use crate::samples::Samples;
use crate::workload::{ENDLESS, Flow, FlowKeys, Traffic, counted_window};
use backwater_dataplane::{Assigned, PoolCounts, Recirculated};
use backwater_engine::Partition;
use backwater_engine::host::{Credits, Timeouts};
use backwater_engine::meters::DelayHistogram;
use backwater_engine::partition::SwitchView;
pub use backwater_engine::stats::Drops;
use backwater_engine::stats::PortStats;
pub use backwater_engine::switch_node::HeldQueue;
use backwater_fabric::hpcc::network::BaseTimes;
use backwater_fabric::ports;
use backwater_scenario::model::{Scenario, Slowdown};
use backwater_scenario::topology::Graph;
use backwater_types::{BitsPerSec, Instant};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Everything measured in one run.
pub struct Outcome {
    /// What was run.
    pub scenario: Scenario,
    /// Its nodes and links.
    pub graph: Graph,
    /// `[dependent flow]`: when it started; [`Instant::NEVER`] if it did not. Dependent flows have the first numbers.
    pub started: Vec<Instant>,
    /// `[flow]`: when its last byte reached the receiver; [`Instant::NEVER`] if it did not.
    pub received: Vec<Instant>,
    /// `[flow]`: when its last acknowledgement reached the sender.
    pub acknowledged: Vec<Instant>,
    /// `[flow]`: packets sent again.
    pub retransmitted: Vec<u32>,
    /// `[flow]`: timeouts of TCP.
    pub timeouts: Vec<u16>,
    /// Timeouts of TCP, by reason.
    pub timeout_reasons: Timeouts,
    /// Credits that came to senders.
    pub credits: Credits,
    /// Headers that went round switches.
    pub recirculated: Recirculated,
    /// Every port, by node and port.
    pub ports: Vec<PortRow>,
    /// `[node]`.
    pub drops: Vec<Drops>,
    /// Samples of switches.
    pub samples: Samples,
    /// What links did, period by period; by time, then node and port. Idle ones are left out.
    pub links: Vec<LinkSample>,
    /// Every shared pool, by switch and MMU.
    pub pools: Vec<PoolRow>,
    /// Data packets that switches sent back up to a higher layer; `None` if nobody counted.
    pub valleys: Option<u64>,
    /// Time in egress queues, by layer of the switch.
    pub delays: Vec<(u8, DelayHistogram)>,
    /// The same of Homa's scheduled packets, by layer of the switch and of the node at the other end of the port.
    pub scheduled_delays: Vec<((u8, u8), DelayHistogram)>,
    /// `[class]`: payload bytes acknowledged within the counted window.
    pub goodput: Vec<u64>,
    /// Frames that fully crossed a link.
    pub packet_hops: u64,
    /// When the run ended.
    pub ended: Instant,
    /// It ran to its end.
    pub complete: bool,
    /// It ended because nothing could move any more.
    pub stood_still: bool,
    /// Queues that could not send at the end, by switch, port and queue.
    pub held: Vec<HeldQueue>,
    /// 256 bits over all of the above, in hex.
    pub digest: Digests,
    /// What was asked for beside; the digest does not cover it.
    pub recorded: Recorded,
}

/// One port of one node.
pub struct PortRow {
    /// Node.
    pub node: u32,
    /// Its port.
    pub port: u16,
    /// Node at the other end.
    pub peer: u32,
    /// Rate of the link.
    pub rate: BitsPerSec,
    /// Counters over the whole run.
    pub total: PortStats,
    /// Bytes sent in the counted window, and time paused in it.
    pub window_bytes: u64,
    /// PFC-paused time in the counted window, picoseconds.
    pub window_pfc_paused: u64,
    /// Queue assignments at this egress.
    pub assigned: Assigned,
}

/// The shared pool of one MMU.
pub struct PoolRow {
    /// Switch.
    pub node: u32,
    /// Its MMU.
    pub mmu: u16,
    /// Ports of the MMU.
    pub ports: u16,
    /// Bytes it can hold.
    pub capacity: u64,
    /// Most it ever held.
    pub peak: u64,
    /// What became of packets there.
    pub counts: PoolCounts,
}

/// A flow with what became of it.
#[derive(Clone, Copy, Debug)]
pub struct FlowRow {
    /// The flow.
    pub flow: Flow,
    /// When its last byte reached the receiver, or never.
    pub received: Instant,
    /// When its last acknowledgement reached the sender, or never.
    pub acknowledged: Instant,
    /// Packets sent again.
    pub retransmitted: u32,
    /// Timeouts of TCP.
    pub timeouts: u16,
    /// Completion time on an idle network, picoseconds; by the definition asked for.
    pub ideal: u64,
    /// Completion time over ideal; `NaN` if unfinished.
    pub slowdown: f64,
    /// It arrived at the start of the counted window or later, or is a collective's and did not start at all, and has an end.
    pub counted: bool,
}

/// Hashes of a run's tables, in hex.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digests {
    /// Of all of it.
    pub whole: String,
    /// Of each table, by name; `run` is what stands in none.
    pub tables: Vec<(&'static str, String)>,
}

impl Digests {
    /// `{table: hash}`.
    pub fn to_json(&self) -> Value {
        self.tables.iter().map(|(name, hash)| (name.to_string(), json!(hash))).collect()
    }
}

impl Outcome {
    /// Puts together what the partitions brought home.
    pub(crate) fn gather(scenario: &Scenario, graph: &Graph, mut parts: Vec<(Box<dyn Partition>, Harvest)>) -> Outcome {
        let mut outcome = Outcome::empty(scenario, graph);
        for (nodes, harvest) in &mut parts {
            outcome.packet_hops += nodes.packet_hops();
            outcome.take_flows(harvest);
            outcome.take_hosts(&**nodes);
            nodes.switches(&mut |switch| outcome.take_switch(switch));
            outcome.take_ports(&mut **nodes, harvest);
        }
        outcome.sort();
        outcome
    }

    /// Of a run with nothing in it.
    fn empty(scenario: &Scenario, graph: &Graph) -> Outcome {
        Outcome {
            scenario: scenario.clone(),
            graph: graph.clone(),
            started: Vec::new(),
            received: Vec::new(),
            acknowledged: Vec::new(),
            retransmitted: Vec::new(),
            timeouts: Vec::new(),
            timeout_reasons: Timeouts::default(),
            credits: Credits::default(),
            recirculated: Recirculated::default(),
            ports: Vec::new(),
            drops: vec![Drops::default(); graph.nodes.len()],
            samples: Samples::default(),
            links: Vec::new(),
            pools: Vec::new(),
            valleys: None,
            delays: Vec::new(),
            scheduled_delays: Vec::new(),
            goodput: vec![0; scenario.workload.len()],
            packet_hops: 0,
            ended: Instant::ZERO,
            complete: true,
            stood_still: false,
            held: Vec::new(),
            digest: Digests::default(),
            recorded: Recorded::default(),
        }
    }

    fn take_flows(&mut self, harvest: &mut Harvest) {
        merge(&mut self.started, &mut harvest.started, |a, b| *a = (*a).min(b));
        merge(&mut self.received, &mut harvest.received, |a, b| *a = (*a).min(b));
        merge(&mut self.acknowledged, &mut harvest.acknowledged, |a, b| *a = (*a).min(b));
        merge(&mut self.retransmitted, &mut harvest.retransmitted, |a, b| *a += b);
        merge(&mut self.timeouts, &mut harvest.timeouts, |a, b| *a += b);
        self.samples.join(std::mem::take(&mut harvest.samples));
        self.links.append(&mut harvest.links);
        self.ended = harvest.ended;
        self.complete &= !harvest.cancelled;
        self.stood_still |= harvest.stood_still;
        let [from, to] = &harvest.acknowledged_bytes;
        for (class, goodput) in self.goodput.iter_mut().enumerate() {
            *goodput += to[class].saturating_sub(from[class]);
        }
    }

    fn sort(&mut self) {
        self.samples.sort();
        self.links.sort_unstable();
        self.pools.sort_by_key(|row| (row.node, row.mmu));
        self.held.sort_by_key(|held| (held.node, held.port, held.queue));
        self.ports.sort_by_key(|row| (row.node, row.port));
        self.delays.sort_by_key(|(layer, _)| *layer);
        self.scheduled_delays.sort_by_key(|(layers, _)| *layers);
    }

    fn take_hosts(&mut self, nodes: &dyn Partition) {
        nodes.hosts(&mut |host| {
            self.drops[host.number as usize] = host.drops;
            self.timeout_reasons.iter_mut().zip(host.timeouts).for_each(|(sum, n)| *sum += n);
            self.credits.received += host.credits.received;
            self.credits.wasted += host.credits.wasted;
        });
    }

    /// Counters of ports, and how queues were assigned there.
    fn take_ports(&mut self, nodes: &mut dyn Partition, harvest: &Harvest) {
        let (links, mut i) = (ports(&self.graph), 0);
        let mut assigned: BTreeMap<(u32, u16), Assigned> = BTreeMap::new();
        nodes.switches(&mut |switch| {
            let of = |port| ((switch.number(), port), switch.readings().assigned(port));
            assigned.extend((0..switch.ports()).map(of));
        });
        nodes.ports(self.ended, &mut |node, port, total| {
            let link = &self.graph.links[links[node as usize][usize::from(port)]];
            let from = harvest.at_warm.get(i).copied().unwrap_or_default();
            let to = harvest.at_end.get(i).copied().unwrap_or(*total);
            i += 1;
            self.ports.push(PortRow {
                node,
                port,
                peer: if link.a == node as usize { link.b } else { link.a } as u32,
                rate: link.rate,
                total: *total,
                window_bytes: to.sent.wire_bytes() - from.sent.wire_bytes(),
                window_pfc_paused: to.held.pfc_paused - from.held.pfc_paused,
                assigned: assigned.get(&(node, port)).copied().unwrap_or_default(),
            });
        });
    }

    fn take_switch(&mut self, switch: &mut dyn SwitchView) {
        let node = switch.number();
        self.drops[node as usize] = *switch.drops();
        self.held.append(&mut switch.held_queues());
        let readings = switch.readings();
        self.recirculated = self.recirculated.with(readings.recirculated());
        let ports = |mmu: u16| (0..switch.ports()).filter(|port| u16::from(readings.mmu(*port)) == mmu).count();
        self.pools.extend(readings.pools().iter().zip(0..).map(|(pool, mmu)| PoolRow {
            node,
            mmu,
            ports: ports(mmu) as u16,
            capacity: pool.capacity(),
            peak: pool.peak(),
            counts: pool.counts,
        }));
        let Some(meters) = switch.take_meters() else { return };
        let layer = self.graph.nodes[node as usize].layer;
        if let Some(delays) = &meters.delays {
            add(&mut self.delays, layer, delays);
        }
        if let Some(valleys) = &meters.valleys {
            *self.valleys.get_or_insert(0) += valleys.packets;
        }
        for (delays, peer) in meters.scheduled.iter().flat_map(|scheduled| scheduled.delays.iter().zip(0..)) {
            add(&mut self.scheduled_delays, (layer, peer), delays);
        }
    }

    /// Every flow with what became of it, by number. The traffic is walked once more.
    pub fn flows(&self) -> impl Iterator<Item = FlowRow> + use<'_> {
        let traffic = || Traffic::new(&self.scenario, &self.graph);
        let ideal = Ideal::new(&self.graph, &self.scenario);
        let host = &self.scenario.host;
        let by_formula = self.scenario.measure.slowdown == Slowdown::HpccSim;
        let base = by_formula.then(|| BaseTimes::new(&self.graph, host));
        let (warm, _) = counted_window(&self.scenario);
        let mut keys = FlowKeys::new(&self.scenario);
        let mut path = Vec::new();
        let listening = traffic();
        let dependents = (0..).zip(&self.started).map(move |(id, at)| listening.dependent(id, *at));
        let others = self.received.len() - self.started.len();
        let others = traffic().filter(|flow| !flow.is_dependent()).take(others);
        dependents.chain(others).map(move |flow| {
            let i = flow.id as usize;
            let (received, acknowledged) = (self.received[i], self.acknowledged[i]);
            let key = keys.next(&flow);
            let (ideal, end) = match (self.scenario.measure.slowdown, &base) {
                _ if flow.size == ENDLESS => (0, Instant::NEVER),
                (_, Some(base)) => {
                    let ns = base.standalone(flow.src, flow.dst, flow.size, host.payload.0, host.header.0);
                    (1000 * ns, acknowledged)
                }
                (Slowdown::BfcScript, _) => {
                    ideal.path(flow.src, flow.dst, key, &mut path);
                    (ideal.bfc_script(&path, flow.size).0, acknowledged)
                }
                _ => {
                    ideal.path(flow.src, flow.dst, key, &mut path);
                    (ideal.completion(&path, flow.size).0, received)
                }
            };
            FlowRow {
                flow,
                received,
                acknowledged,
                retransmitted: self.retransmitted[i],
                timeouts: self.timeouts[i],
                ideal,
                slowdown: if end == Instant::NEVER { f64::NAN } else { end.since(flow.at).0 as f64 / ideal as f64 },
                counted: flow.at >= warm && flow.size != ENDLESS,
            }
        })
    }

    /// Name of workload number `class`.
    pub fn class(&self, class: usize) -> &str {
        self.scenario.workload[class].class()
    }
}

/// Adds a histogram to that of its name.
fn add<N: PartialEq>(sums: &mut Vec<(N, DelayHistogram)>, name: N, delays: &DelayHistogram) {
    match sums.iter_mut().find(|(other, _)| *other == name) {
        Some((_, sum)) => sum.merge(delays),
        None => sums.push((name, delays.clone())),
    }
}

/// Element by element; the first part's memory is kept.
fn merge<T: Copy>(into: &mut Vec<T>, from: &mut Vec<T>, join: impl Fn(&mut T, T)) {
    if into.is_empty() {
        std::mem::swap(into, from);
    } else {
        into.iter_mut().zip(from.drain(..)).for_each(|(a, b)| join(a, b));
    }
}
