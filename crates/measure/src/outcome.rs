//! The outcome of a run: times of every flow, counters of every port, samples, and their digest.

pub use crate::flow_row::FlowRow;
use crate::ideal::Ideal;
use crate::link_samples::LinkSample;
use crate::records::Recorded;
use crate::samples::Samples;
use crate::slowdowns::Counted;
pub use backwater_counters::HeldQueue;
use backwater_counters::SwitchView;
use backwater_counters::meters::DelayHistogram;
pub use backwater_counters::stats::Drops;
use backwater_counters::stats::PortStats;
use backwater_counters::{Credits, Timeouts};
use backwater_dataplane::{Assigned, Pool, PoolCounts, Recirculated};
use backwater_fabric::hpcc::network::BaseTimes;
use backwater_paged::Paged;
use backwater_scenario::model::{Scenario, Slowdown};
use backwater_scenario::topology::{Graph, Link};
use backwater_traffic::{ENDLESS, FlowKeys, Progress, Traffic, counted_window};
use backwater_types::{BitsPerSec, Instant};
use serde_json::{Value, json};
use std::sync::OnceLock;

/// All measurements of one run.
pub struct Outcome {
    /// Scenario of the run.
    pub scenario: Scenario,
    /// Nodes and links of the network.
    pub graph: Graph,
    /// `[closed-loop flow]`: start; [`Instant::NEVER`] if the flow did not start. Closed-loop flows are numbered first.
    pub started: Paged<Instant>,
    /// `[flow]`: arrival of the last byte at the receiver; [`Instant::NEVER`] if it did not arrive.
    pub received: Paged<Instant>,
    /// `[flow]`: arrival of the last acknowledgement at the sender; [`Instant::NEVER`] if it did not arrive.
    pub acknowledged: Paged<Instant>,
    /// `[flow]`: retransmitted packets.
    pub retransmitted: Paged<u32>,
    /// `[flow]`: timeouts of TCP.
    pub timeouts: Paged<u16>,
    /// Timeouts of TCP, by reason.
    pub timeout_reasons: Timeouts,
    /// Credits that senders received.
    pub credits: Credits,
    /// Headers that recirculated through switches.
    pub recirculated: Recirculated,
    /// Every port, ordered by node and port.
    pub ports: Vec<PortRow>,
    /// `[node]`: dropped packets.
    pub drops: Vec<Drops>,
    /// Samples of switches.
    pub samples: Samples,
    /// Samples of links, ordered by time, then node and port. Idle links have no sample.
    pub links: Vec<LinkSample>,
    /// Every shared pool, ordered by switch and MMU.
    pub pools: Vec<PoolRow>,
    /// Data packets on up-after-down paths: a switch sent them back up to a higher tier. `None` if not counted.
    pub valleys: Option<u64>,
    /// Queueing delay at egress, by tier of the switch.
    pub delays: Vec<(u8, DelayHistogram)>,
    /// Queueing delay of Homa's scheduled packets at egress, by tier of the switch and tier of the peer.
    pub scheduled_delays: Vec<((u8, u8), DelayHistogram)>,
    /// `[workload]`: what the ranks of jobs have done, in the order of repetitions, phases and ranks.
    pub progress: Vec<Progress>,
    /// `[workload]`: payload bytes acknowledged within the counted window.
    pub goodput: Vec<u64>,
    /// `[workload]`: the part of `goodput` in the earlier half of the window.
    pub early_goodput: Vec<u64>,
    /// Frames that fully crossed a link.
    pub packet_hops: u64,
    /// End of the run.
    pub ended: Instant,
    /// Whether the run was not cancelled.
    pub complete: bool,
    /// Whether the run ended because it had stalled for good.
    pub stood_still: bool,
    /// Queues that backpressure kept from sending at the end, ordered by switch, port and queue.
    pub held: Vec<HeldQueue>,
    /// Digests of the measurements above.
    pub digest: Digests,
    /// Records made on request; the digests do not cover them.
    pub recorded: Recorded,
    /// The counted flows, once they are asked for.
    counted: OnceLock<Counted>,
}

/// Measurements of one port.
pub struct PortRow {
    /// Node of the port.
    pub node: u32,
    /// Number of the port at its node.
    pub port: u16,
    /// Node at the other end.
    pub peer: u32,
    /// Rate of the link.
    pub rate: BitsPerSec,
    /// Counters over the whole run.
    pub total: PortStats,
    /// Bytes sent in the counted window.
    pub window_bytes: u64,
    /// Time paused by PFC in the counted window, picoseconds.
    pub window_pfc_paused: u64,
    /// Queue assignments at this egress port.
    pub assigned: Assigned,
}

/// Measurements of the shared pool of one MMU.
#[derive(serde::Serialize, serde::Deserialize)]
pub struct PoolRow {
    /// Switch of the MMU.
    pub node: u32,
    /// Number of the MMU at its switch.
    pub mmu: u16,
    /// Number of ports of the MMU.
    pub ports: u16,
    /// Size of the pool, bytes.
    pub capacity: u64,
    /// Maximum occupancy, bytes.
    pub peak: u64,
    /// Counters of dropped and marked packets.
    pub counts: PoolCounts,
}

impl PoolRow {
    /// Returns the rows of a switch.
    pub fn of(switch: &dyn SwitchView) -> Vec<PoolRow> {
        let readings = switch.readings();
        let ports = |mmu: u16| (0..switch.ports()).filter(|port| u16::from(readings.mmu(*port)) == mmu).count();
        let pools = readings.pools().iter().zip(0..);
        let row = |(pool, mmu): (&Pool, u16)| PoolRow {
            node: switch.number(),
            mmu,
            ports: ports(mmu) as u16,
            capacity: pool.capacity(),
            peak: pool.peak(),
            counts: pool.counts,
        };
        pools.map(row).collect()
    }
}

/// Hashes of a run's tables, in hex.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digests {
    /// Hash over the hashes of all tables.
    pub whole: String,
    /// Name and hash of each table; `run` covers the measurements outside the tables.
    pub tables: Vec<(&'static str, String)>,
}

impl Digests {
    /// Converts the hashes of tables to JSON: `{table: hash}`.
    pub fn to_json(&self) -> Value {
        self.tables.iter().map(|(name, hash)| (name.to_string(), json!(hash))).collect()
    }
}

impl Outcome {
    /// Creates the outcome of a run without measurements.
    pub fn empty(scenario: &Scenario, graph: &Graph) -> Outcome {
        Outcome {
            scenario: scenario.clone(),
            graph: graph.clone(),
            started: Paged::default(),
            received: Paged::default(),
            acknowledged: Paged::default(),
            retransmitted: Paged::default(),
            timeouts: Paged::default(),
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
            progress: vec![Progress::default(); scenario.workload.len()],
            goodput: vec![0; scenario.workload.len()],
            early_goodput: vec![0; scenario.workload.len()],
            packet_hops: 0,
            ended: Instant::ZERO,
            complete: true,
            stood_still: false,
            held: Vec::new(),
            digest: Digests::default(),
            recorded: Recorded::default(),
            counted: OnceLock::new(),
        }
    }

    /// Adds the measurements of a switch, and takes its meters.
    pub fn take_switch(&mut self, switch: &mut dyn SwitchView) {
        let node = switch.number();
        self.drops[node as usize] = *switch.drops();
        self.held.append(&mut switch.held_queues());
        let readings = switch.readings();
        self.recirculated = self.recirculated.with(readings.recirculated());
        self.pools.extend(PoolRow::of(switch));
        let Some(meters) = switch.take_meters() else { return };
        if let Some(delays) = &meters.delays {
            self.add_delays(node, delays);
        }
        if let Some(valleys) = &meters.valleys {
            self.add_valleys(valleys.packets);
        }
        let layer = self.graph.nodes[node as usize].layer;
        for (delays, peer) in meters.scheduled.iter().flat_map(|scheduled| scheduled.delays.iter().zip(0..)) {
            add(&mut self.scheduled_delays, (layer, peer), delays);
        }
    }

    /// Adds the queueing delays of switch number `node` to those of its tier.
    pub fn add_delays(&mut self, node: u32, delays: &DelayHistogram) {
        add(&mut self.delays, self.graph.nodes[node as usize].layer, delays);
    }

    /// Adds data packets that a switch sent back up to a higher tier.
    pub fn add_valleys(&mut self, packets: u64) {
        *self.valleys.get_or_insert(0) += packets;
    }

    /// Adds the row of a port: its counters at the start and the end of the counted window, and over the whole run.
    pub fn take_port(
        &mut self,
        (node, port): (u32, u16),
        link: &Link,
        [from, to, total]: [&PortStats; 3],
        assigned: Assigned,
    ) {
        self.ports.push(PortRow {
            node,
            port,
            peer: if link.a == node as usize { link.b } else { link.a } as u32,
            rate: link.rate,
            total: *total,
            window_bytes: to.sent.wire_bytes() - from.sent.wire_bytes(),
            window_pfc_paused: to.held.pfc_paused - from.held.pfc_paused,
            assigned,
        });
    }

    /// Brings the rows into the order of the tables.
    pub fn sort(&mut self) {
        for progress in &mut self.progress {
            progress.spans.sort_unstable();
            progress.waiting.sort_unstable();
        }
        self.samples.sort();
        self.links.sort_unstable();
        self.pools.sort_by_key(|row| (row.node, row.mmu));
        self.held.sort_by_key(|held| (held.node, held.port, held.queue));
        self.ports.sort_by_key(|row| (row.node, row.port));
        self.delays.sort_by_key(|(layer, _)| *layer);
        self.scheduled_delays.sort_by_key(|(layers, _)| *layers);
    }

    /// Lists every flow with its results, by number. The traffic is generated once more.
    pub fn flows(&self) -> impl Iterator<Item = FlowRow> + use<'_> {
        let traffic = || Traffic::new(&self.scenario, &self.graph);
        let ideal = Ideal::new(&self.graph, &self.scenario);
        let host = &self.scenario.host;
        let by_formula = self.scenario.measure.slowdown == Slowdown::HpccSim;
        let base = by_formula.then(|| BaseTimes::new(&self.graph, host));
        let (warm, until) = counted_window(&self.scenario);
        let mut keys = FlowKeys::new(&self.scenario);
        let mut path = Vec::new();
        let closed_loop = traffic();
        let closed_loop = (0..).zip(self.started.iter()).map(move |(id, at)| closed_loop.closed_loop_flow(id, at));
        let open_loop = self.received.len() - self.started.len();
        let open_loop = traffic().filter(|flow| !flow.is_closed_loop()).take(open_loop);
        closed_loop.chain(open_loop).map(move |flow| {
            let i = flow.id as usize;
            let (received, acknowledged) = (self.received.get(i), self.acknowledged.get(i));
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
                retransmitted: self.retransmitted.get(i),
                timeouts: self.timeouts.get(i),
                ideal,
                slowdown: if end == Instant::NEVER { f64::NAN } else { end.since(flow.at).0 as f64 / ideal as f64 },
                counted: flow.at >= warm && (flow.at < until || flow.is_closed_loop()) && flow.size != ENDLESS,
            }
        })
    }

    /// Returns the counted flows. The first call counts them, so call it only after the run has ended.
    pub fn counted(&self) -> &Counted {
        self.counted.get_or_init(|| Counted::of(&self.scenario, self.flows()))
    }

    /// Name of workload number `class`.
    pub fn class(&self, class: usize) -> &str {
        self.scenario.workload[class].class()
    }
}

/// Adds a histogram to the sum for `key`.
fn add<K: PartialEq>(sums: &mut Vec<(K, DelayHistogram)>, key: K, delays: &DelayHistogram) {
    match sums.iter_mut().find(|(other, _)| *other == key) {
        Some((_, sum)) => sum.merge(delays),
        None => sums.push((key, delays.clone())),
    }
}
