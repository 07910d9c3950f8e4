//! A scenario, resolved: everything a run needs, typed, every default filled in.
//!
//! This is the one definition. The TOML reader, the JSON schema, the manifest and the simulator all use these types.

use backwater_types::{BitsPerSec, Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the scenario, shown in reports.
    #[serde(default)]
    pub name: String,
    /// One sentence on what it shows.
    #[serde(default)]
    pub description: String,
    /// Seed of every random stream. Same scenario, seed and version: same bytes out.
    #[serde(default = "one")]
    pub seed: u64,
    /// Preset the switch and host defaults came from (`backwater schemes` lists them).
    pub scheme: String,
    /// Another simulator whose conventions are taken over, in all that `conventions` and the scheme leave open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compat: Option<Compat>,
    /// How the network is modelled where models differ; `compat` sets all of these, and each can be set alone.
    #[serde(default)]
    pub conventions: Conventions,
    /// Hosts, switches and links.
    pub topology: Topology,
    /// What every switch does.
    #[serde(default)]
    pub switch: Switch,
    /// Switches that do something else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub region: Vec<Region>,
    /// What every host does.
    #[serde(default)]
    pub host: Host,
    /// Sources of flows; their arrivals are merged in time.
    #[serde(default)]
    pub workload: Vec<Workload>,
    /// How long, and which flows count.
    pub run: Run,
    /// What is recorded beyond flows and counters.
    #[serde(default)]
    pub measure: Measure,
    /// Links that lose frames or go down.
    #[serde(default)]
    pub fault: Vec<Fault>,
}

/// Switches that do something else than the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// Names of the switches; `"core0..core7"` stands for eight of them, and `"core*"` for all whose names begin so.
    pub at: Vec<String>,
    /// Preset of these switches, of which only the switch counts. Absent: the scenario's scheme, with the keys of its `switch`.
    #[serde(default)]
    pub scheme: String,
    /// What they do: these keys over the preset's.
    #[serde(default)]
    pub switch: Switch,
}

/// Hosts, switches and links. Nodes are named `host0`, `leaf0`, `spine0`, `switch0`, ... or as the graph says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Topology {
    /// Two tiers, every leaf linked once to every spine.
    LeafSpine {
        /// Top-of-rack switches.
        leaves: u16,
        /// Spine switches.
        spines: u16,
        /// Hosts under each leaf.
        hosts_per_leaf: u16,
        /// Rate of host links.
        host_rate: BitsPerSec,
        /// Rate of leaf-spine links.
        core_rate: BitsPerSec,
        /// Propagation delay of host links.
        host_delay: Duration,
        /// Propagation delay of leaf-spine links.
        core_delay: Duration,
    },
    /// Three tiers in pods: every ToR linked once to every aggregation switch of its pod, the cores in as many groups as a pod
    /// has aggregation switches, aggregation switch `j` of each pod linked once to every core of group `j`.
    FatTree {
        /// Pods.
        pods: u16,
        /// Top-of-rack switches of a pod.
        tors_per_pod: u16,
        /// Aggregation switches of a pod.
        aggs_per_pod: u16,
        /// Core switches; a multiple of `aggs_per_pod`.
        cores: u16,
        /// Hosts under each ToR.
        hosts_per_tor: u16,
        /// Rate of host links.
        host_rate: BitsPerSec,
        /// Rate of links between switches.
        core_rate: BitsPerSec,
        /// Propagation delay of host links.
        host_delay: Duration,
        /// Propagation delay of links between switches.
        core_delay: Duration,
    },
    /// One switch.
    SingleSwitch {
        /// Hosts on it.
        hosts: u16,
        /// Rate of each link.
        rate: BitsPerSec,
        /// Propagation delay of each link.
        delay: Duration,
    },
    /// Two switches joined by one link; hosts `0..left` on the first, the rest on the second.
    Dumbbell {
        /// Hosts on the first switch.
        left: u16,
        /// Hosts on the second switch.
        right: u16,
        /// Rate of host links.
        rate: BitsPerSec,
        /// Propagation delay of host links.
        delay: Duration,
        /// Rate of the joining link.
        bottleneck_rate: BitsPerSec,
        /// Propagation delay of the joining link.
        bottleneck_delay: Duration,
    },
    /// Switches in a row, each with its hosts.
    Chain {
        /// Switches.
        switches: u16,
        /// Hosts on each switch.
        hosts_per_switch: u16,
        /// Rate of every link.
        rate: BitsPerSec,
        /// Propagation delay of every link.
        delay: Duration,
    },
    /// Any graph. Every host has exactly one link.
    Graph {
        /// Host names.
        hosts: Vec<String>,
        /// Switch names.
        switches: Vec<String>,
        /// Links, each in both directions.
        links: Vec<GraphLink>,
        /// Numbers of the hosts, then of the switches, in files of other simulators. Empty: 0, 1, ... in this order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ids: Vec<u16>,
    },
}

/// A simulator whose conventions can be taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compat {
    /// The public ns-3 simulator of HPCC (docs/fidelity.md).
    HpccSim,
}

/// How the network is modelled where models differ. The defaults are what docs/fidelity.md argues for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Conventions {
    /// How long a frame takes to be put on a link.
    pub time: Time,
    /// Which of two events at one instant at one node comes first.
    pub ties: Ties,
    /// How a switch chooses among equal-cost next hops.
    pub paths: Paths,
    /// Where ACKs and NACKs travel at switches.
    pub acks: AckClass,
    /// What a host's NIC serves and how its flows recover from loss.
    pub hosts: Hosts,
    /// How a switch accounts for its memory under PFC.
    pub memory: Memory,
    /// Wire size of a PFC frame.
    pub pfc_frame: Bytes,
}

/// Resolution of transmission times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Time {
    /// To the picosecond.
    Exact,
    /// Truncated to whole nanoseconds, a whole number to one less, as ns-3.17 converts seconds (1048 B at 100 Gb/s: 83 ns).
    WholeNs,
}

/// Order of simultaneous events of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// Drawn anew each instant, so that no port is favoured.
    Random,
    /// Arrivals by port, then ports that become free: what was scheduled earlier comes first, as in ns-3.
    Scheduled,
}

/// Choice among equal-cost next hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Paths {
    /// A hash of the flow, salted by switch and seed.
    Salted,
    /// HPCC's simulator: Murmur3 of addresses and ports, seeded by the switch's number (baselines 0.6).
    HpccSim,
}

/// Class of ACKs and NACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckClass {
    /// Before data, never paused, exempt from the buffer.
    High,
    /// In the data class: queued, accounted and paused with it.
    Data,
}

/// What a host's NIC serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Hosts {
    /// Rings of flows that may send; a retransmission timer; every duplicate is acknowledged.
    Rings,
    /// HPCC's simulator: round robin over a list of queue pairs, NACKs only (baselines 0.2 and 0.3).
    HpccSim,
}

/// Switch memory under PFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// Headroom for the exact worst case, one threshold rule for all ports, pauses repeated.
    Exact,
    /// HPCC's simulator: headroom 3 x rate x delay, thresholds by port speed, pauses sent once (baselines 0.4).
    HpccSim,
}

/// A link of a [`Topology::Graph`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphLink {
    /// The two nodes.
    pub ends: [String; 2],
    /// Rate.
    pub rate: BitsPerSec,
    /// Propagation delay.
    pub delay: Duration,
}

/// The five choices a switch is made of, and their parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Switch {
    /// Queues per port as hardware counts them; one of them is the control queue unless `bfc.extra_control_queue`. 2 to 129.
    /// With FlowSail, data queues: the control queue comes on top (FS-A12). 2 to 128.
    pub queues: u16,
    /// Which queue a packet joins.
    pub assignment: Assignment,
    /// How a switch slows its neighbours.
    pub backpressure: Backpressure,
    /// A chip (`backwater chips`) whose `buffer`, `alpha` and `mmu` these are, in all that is not said here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chip: Option<String>,
    /// Shared buffer of a switch; with several MMUs, of each.
    pub buffer: Buffer,
    /// Dynamic threshold of a queue: it may hold at most `alpha` times the free buffer. Absent: no threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// What is reserved to queues, and how ports are divided among memory management units (spec G.1).
    pub mmu: Mmu,
    /// Deficit round robin quantum; at least one full packet on the wire.
    pub quantum: Bytes,
    /// Marking of ECN-capable packets. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<Ecn>,
    /// Marking by the occupancy of the shared pool, beside `ecn`: a packet is marked if either says so (spec G.2). Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool_ecn: Option<PoolEcn>,
    /// What becomes of a packet that is not ECN-capable where a rule would mark it.
    pub not_ect: NotEct,
    /// Equal-cost paths: hash the same path in both directions.
    pub symmetric_ecmp: bool,
    /// Groups that the queues of a port are divided into, strict priority between them; a workload's `priority` picks the
    /// group (spec F.11). Above 1 only with FlowSail.
    pub priority_groups: u8,
    /// What becomes of a packet whose queue is paused.
    pub when_paused: WhenPaused,
    /// Used when `backpressure = "pfc"`.
    pub pfc: Pfc,
    /// Used when `assignment = "dynamic"` or `backpressure = "bfc"`.
    pub bfc: Bfc,
    /// Used when `assignment = "flowsail"`; `ql`, `hrtt`, `refresh` and `nic_obeys` also when `backpressure = "per-flow"`.
    pub flowsail: Flowsail,
}

/// What becomes of a packet whose queue is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenPaused {
    /// It waits.
    Hold,
    /// It is dropped on arrival: how FlowSail's testbed imitates pausing (its section V).
    Discard,
}

/// Which queue a packet joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Assignment {
    /// One FIFO.
    Single,
    /// A hash of the flow.
    Stochastic,
    /// BFC: an empty queue for each newly active flow, kept while it is active (spec A.3).
    Dynamic,
    /// A queue of its own for every flow; unbounded number of queues.
    PerFlow,
    /// FlowSail: an empty queue for each newly active flow, and an isolation queue for flows that a neighbour paused (spec F).
    Flowsail,
    /// The queue of its workload's `priority`: traffic classes, served in turn.
    Class,
}

/// How a switch slows its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backpressure {
    /// Not at all.
    None,
    /// Priority flow control, per ingress port.
    Pfc,
    /// Per upstream queue, with pause counters (spec A.3 to A.5).
    Bfc,
    /// Per flow by name, those with more than their share of a long queue (spec F).
    Flowsail,
    /// Per flow by name, those whose queue is long: ideal flow control with a queue for each flow (spec D), BFC by flow id with
    /// assignment `dynamic` (spec B.2).
    PerFlow,
}

/// Size of a shared buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// Never full.
    Infinite,
    /// This much for all ports together.
    Shared(Bytes),
}

/// RED on the instantaneous length of the egress queue, at dequeue, after removing the packet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ecn {
    /// No marks up to here.
    pub kmin: Bytes,
    /// Every packet is marked above this.
    pub kmax: Bytes,
    /// Probability just below `kmax`, 0 to 1.
    pub pmax: f64,
    /// What is held against the thresholds.
    #[serde(default)]
    pub of: EcnOf,
    /// Spacing of marks between the thresholds.
    #[serde(default)]
    pub spacing: Spacing,
    /// Numbers of the queues that mark. Empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<u16>,
    /// Other thresholds for ports of these rates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_rate: Vec<EcnAt>,
}

/// What [`Ecn`] holds against its thresholds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnOf {
    /// The bytes of the queue a packet left.
    #[default]
    Queue,
    /// The bytes of all data queues of its port.
    Port,
}

/// How marks are spread between two thresholds (Floyd and Jacobson 1993, section 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// Each packet alone: gaps are geometric, as in switches.
    #[default]
    Plain,
    /// By the bytes since the last mark, in full packets: gaps are uniform, as in ns-2 and BCC's public simulations.
    Uniform,
}

/// Whose bytes since the last mark uniform spacing counts for a pool's rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpacedOver {
    /// Those of all ports of the pool.
    #[default]
    Pool,
    /// Each port's for itself, as in BCC's public simulations.
    Port,
}

/// RED on the instantaneous occupancy of a shared pool, at dequeue: BCC's one more configuration (spec G.2). It marks any
/// ECN-capable packet that leaves a port of the pool's MMU (BCC-A2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolEcn {
    /// No marks up to here.
    pub kmin: Bytes,
    /// Every packet is marked above this. With `kmin = kmax`, the cut-off variant.
    pub kmax: Bytes,
    /// Probability just below `kmax`, 0 to 1.
    pub pmax: f64,
    /// Spacing of marks between the thresholds.
    #[serde(default)]
    pub spacing: Spacing,
    /// Uniform spacing: since the last mark of what bytes are counted.
    #[serde(default)]
    pub spaced_over: SpacedOver,
    /// Only packets of queues that `ecn` covers are marked, as the Switch Abstraction Interface has it.
    #[serde(default)]
    pub only_ecn_queues: bool,
}

/// What becomes of a packet that is not ECN-capable where a rule would mark it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NotEct {
    /// It is sent.
    Pass,
    /// It is dropped as it leaves its queue.
    Drop,
}

/// Memory of a switch: private to queues, and shared by the ports of an MMU (spec G.1).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Mmu {
    /// Ports of an MMU, taken in the order of a switch's links: hosts first. Absent: one MMU for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<u16>,
    /// The neighbours at the ports of each MMU, one by one, in place of `ports`. Neighbours not named are at the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<Vec<String>>,
    /// Bytes that each queue has to itself, used before the pool.
    pub private: Bytes,
    /// Queue by queue, other than `private` and `switch.alpha` say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<QueueMemory>,
    /// What a departing packet gives back first (BCC-A4).
    pub returns: Returns,
}

/// Memory of one queue of each port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueMemory {
    /// Its dynamic threshold. Absent: `switch.alpha`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Bytes it has to itself. Absent: `switch.mmu.private`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private: Option<Bytes>,
}

/// What a departing packet gives back first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Returns {
    /// Bytes of the pool: what is private stays filled.
    #[default]
    Shared,
    /// Private bytes.
    Private,
}

/// Thresholds of [`Ecn`] for ports of one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EcnAt {
    /// Rate of the ports.
    pub rate: BitsPerSec,
    /// No marks up to here.
    pub kmin: Bytes,
    /// Every packet is marked above this.
    pub kmax: Bytes,
    /// Probability just below `kmax`, 0 to 1.
    pub pmax: f64,
}

/// Ingress accounting of priority flow control (baselines 0.4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pfc {
    /// An ingress may hold `alpha` times the free shared buffer before it pauses.
    pub alpha: f64,
    /// Room for what arrives after XOFF; absent: the exact worst case of each link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Bytes>,
    /// Bytes guaranteed to each ingress port.
    pub reserve: Bytes,
    /// XON only when the ingress is this far below its threshold.
    pub hysteresis: Bytes,
}

/// BFC's parameters and knobs (spec A and B).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bfc {
    /// Flow-table entries per hardware queue.
    pub table_entries_per_queue: u32,
    /// A flow idle no longer than this keeps its queue. Absent: 2 HRTT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sticky: Option<Duration>,
    /// Round trip to a neighbour that sets the pause threshold. Absent: twice the largest propagation delay of the switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hrtt: Option<Duration>,
    /// A fixed pause threshold instead of HRTT x rate / active queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed_threshold: Option<Bytes>,
    /// Use each ingress port's own HRTT instead of the largest (BFC-A12).
    pub per_ingress_threshold: bool,
    /// Period of the bitmap that repairs lost frames.
    pub refresh: Duration,
    /// The control queue comes on top of `queues` (BFC-A5).
    pub extra_control_queue: bool,
    /// Look for an empty queue without regard to whether it is paused (BFC-A9).
    pub literal_empty: bool,
    /// An empty queue that a flow may return to is not given to others within the sticky time (BFC-A8).
    pub sticky_reserve: bool,
    /// Share of packets that take part in bookkeeping, 0 to 1 (spec B, sampling).
    pub sampling: f64,
    /// A flow's last packet counts towards a pause, as in the printed pseudo-code (BFC-A29).
    pub count_last: bool,
    /// Labelled incast flows of an egress share one queue (spec B, incast label).
    pub incast_label: bool,
    /// Data queues of a NIC on the switch, 1 to 128. Absent: as many as the switch has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nic_queues: Option<u16>,
    /// NICs obey PAUSE (false: BFC - NIC, which wants a window at the host).
    pub nic_obeys: bool,
    /// Turns on which no backpressure is sent (spec C.1).
    pub elide: Elide,
}

/// FlowSail's parameters and knobs (spec F).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Flowsail {
    /// Queue above which a flow with more than its share is paused: multiples of HRTT x rate over active queues. Above 0.
    pub ql: f64,
    /// Queue above which every flow is paused that has a packet arrive, likewise. `ql` or more.
    pub qh: f64,
    /// Round trip to a neighbour that sets the thresholds. Absent: twice the largest propagation delay of the switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hrtt: Option<Duration>,
    /// A flow that is paused no more and has nothing isolated is let go when this is past (FS-A1). Absent: 2 HRTT. `"0 s"`: as
    /// the pseudo-code does, at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<Duration>,
    /// What `release` counts from.
    pub release_from: ReleaseFrom,
    /// Period in which pauses in force are repeated; a pause not repeated for three periods lapses. `"0 us"`: neither, as in
    /// the paper.
    pub refresh: Duration,
    /// Isolation queues of each group of queues, fewer than its queues; the paper has one.
    pub isolation_queues: u16,
    /// When an isolation queue waits.
    pub hold: Hold,
    /// What becomes of the packets that a flow has in its normal queue when it is paused.
    pub residue: Residue,
    /// A flow's last packet pauses it like the others.
    pub count_last: bool,
    /// Flow records of a switch, 16 to 1 000 000; the default is 100 KB of 50-bit entries.
    pub table_entries: u32,
    /// Bits by which records of a bucket tell flows apart, 8 to 32. 32: exact; with fewer, flows that agree are one flow.
    pub fingerprint_bits: u8,
    /// Active are all queues that are not paused, with data or not (FS-A11).
    pub nactive_literal: bool,
    /// More than its share is more, not as much (FS-A10).
    pub strict_fair: bool,
    /// `[priority]`: weight of its flows in the fair share, 1 to 255. Empty: all equal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<u32>,
    /// Flow sizes from a count-min sketch of each port. Absent: exact counters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sketch: Option<Sketch>,
    /// The published pseudo-code to the letter, which hangs queues and sends packets of paused flows (spec F.9). Of the other
    /// keys it has `ql`, `qh` and `hrtt`.
    pub as_printed: bool,
    /// NICs obey PAUSE, for the flow it names.
    pub nic_obeys: bool,
    /// Turns on which no backpressure is sent (spec C.1).
    pub elide: Elide,
}

/// What the time after which FlowSail lets a congested flow go counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseFrom {
    /// The flow's RESUME (FS-A1).
    Resume,
    /// Its last enqueue or dequeue, as the paper's text has it: a flow that keeps sending is not let go.
    Touch,
}

/// When an isolation queue waits for pauses of its flows to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Hold {
    /// While the flow of its first packet is paused (FS-A1).
    Head,
    /// While any of its flows is, by the letter of the paper's section IV-C.
    Any,
}

/// What becomes of the packets that a flow has in its normal queue when it is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Residue {
    /// They hold the queue, and what other flows have in it, until the RESUME (spec F.6).
    Hold,
    /// They leave in their turn, as if the PAUSE had come after them: ours, not the paper's.
    Drain,
}

/// A count-min sketch (Cormode and Muthukrishnan 2005).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sketch {
    /// Rows, each with a hash of its own. 1 to 8.
    pub rows: u32,
    /// Counters of a row: a power of two, 16 to 65 536.
    pub columns: u32,
}

/// Turns `(ingress, egress)` of a switch on which backpressure is elided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Elide {
    /// `"none"`, or `"valley"`: every turn from a higher layer back to a higher layer.
    Rule(ElideRule),
    /// Named turns, `[from, switch, to]`.
    Turns(Vec<[String; 3]>),
}

/// A rule for [`Elide`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ElideRule {
    /// Backpressure on every turn.
    None,
    /// None on down-then-up turns of a layered topology, which makes the backpressure graph acyclic.
    Valley,
}

/// What every host does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Host {
    /// End-to-end control.
    pub transport: Transport,
    /// Bytes of payload in a full packet.
    pub payload: Bytes,
    /// Bytes of headers on every data packet.
    pub header: Bytes,
    /// Wire size of an ACK or NACK.
    pub ack: Bytes,
    /// Cap on a flow's bytes in flight (payload). Absent: `"bdp"`; `line-rate` has none but a size given here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// No progress for this long: go back to the last byte acknowledged.
    pub rto: Duration,
    /// A second NACK for the same packet waits this long.
    pub nack_guard: Duration,
    /// Time a received packet spends in the host before it counts and is answered.
    pub delay: Duration,
    /// With `transport = "tcp"`: bytes that wait for the link, first in, first out; more are dropped.
    pub nic_buffer: Bytes,
    /// With `transport = "tcp"`: the NIC marks as `switch.ecn` has it, by the length of its queue.
    pub nic_marks: bool,
    /// Used with `conventions.hosts = "hpcc-sim"`: whether a pause of the data class holds the NIC's ACKs too. Either way
    /// they go before data.
    pub ack_class: AckClass,
    /// Used when `transport = "dctcp"`.
    pub dctcp: Dctcp,
    /// Used when `transport = "tcp"`.
    pub tcp: Tcp,
}

/// End-to-end control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// None: as fast as the NIC and backpressure let it.
    LineRate,
    /// A fixed window.
    Window,
    /// Rate-based DCTCP (baselines 1.1).
    Dctcp,
    /// TCP with SACK, and what [`Tcp`] says of marks: DCTCP and ECN* among them (baselines 1.2 and 1.3).
    Tcp,
}

/// TCP. Windows count full segments of `host.payload`; the timeout is at least `host.rto`, which is also the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tcp {
    /// What a sender does about marks.
    pub marks: Marks,
    /// DCTCP: weight of the newest window in the estimate of the marked share.
    pub g: f64,
    /// DCTCP: the estimate of a new connection, 0 to 1.
    pub alpha: f64,
    /// Initial window, segments.
    pub initial_window: u32,
    /// No window is larger, segments; the receiver's window. 0: no limit.
    pub max_window: u32,
    /// A mark leaves at least this window, segments.
    pub min_window: u32,
    /// Duplicates of an acknowledgement, or segments above a hole, that mean loss.
    pub dup_acks: u32,
    /// What may be sent while losses are repaired.
    pub recovery: Recovery,
    /// Longest timeout after backing off.
    pub rto_max: Duration,
    /// Segments that one acknowledgement stands for at most; out of order, every one is acknowledged.
    pub ack_every: u32,
    /// An acknowledgement waits no longer for more segments.
    pub ack_delay: Duration,
    /// Connections flows go over.
    pub connections: Connections,
    /// A connection idle for longer than its timeout starts again with the initial window.
    pub idle_restart: bool,
    /// As in ns-2: also if its window was smaller, not only if it was larger (RFC 5681), and after an idle time longer than srtt + 4
    /// var, whatever `rto` is.
    pub idle_raises: bool,
    /// A new connection begins with a segment without payload, and waits for its acknowledgement.
    pub handshake: bool,
    /// With persistent connections: how many two hosts have from the start, opened already.
    pub open: u32,
}

/// What a TCP sender does about marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Marks {
    /// It is not ECN-capable.
    None,
    /// The window is cut by half the share of marked segments, once a window (RFC 8257).
    Dctcp,
    /// The window is halved, once a window (RFC 3168).
    EcnStar,
}

/// What counts as in flight, and so against the window, while TCP repairs losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// What is not known to have arrived or to be lost (RFC 6675).
    Rfc6675,
    /// What is not known to have arrived (Fall and Floyd 1996), as in ns-2: with much of a window lost the rest waits for a
    /// timeout.
    Sack1,
}

/// Connections flows go over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// Each flow over a new one.
    PerFlow,
    /// The idle one between the two hosts that was opened first, with the window it had, or a new one if all are busy.
    Persistent,
}

/// Rate-based DCTCP (baselines 1.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dctcp {
    /// Weight of the newest batch in the estimate of the marked share.
    pub g: f64,
    /// Rate added once per round trip.
    pub additive_increase: BitsPerSec,
    /// Lowest rate.
    pub min_rate: BitsPerSec,
    /// The window shrinks with the rate (false: it stays at `host.window`).
    pub window_follows_rate: bool,
}

/// A cap on bytes in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// None.
    None,
    /// One bandwidth-delay product of the longest path, of propagation alone.
    Bdp,
    /// The largest base BDP over pairs of hosts: propagation both ways and one payload's serialisation a hop (baselines 0.2).
    BaseBdp,
    /// This much.
    Size(Bytes),
}

/// A source of flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Workload {
    /// An open-loop process over pairs of hosts.
    Background {
        /// Name in tables, of this workload alone; `background` by default.
        #[serde(default = "background")]
        class: String,
        /// Flow sizes, payload.
        sizes: Sizes,
        /// Gaps between arrivals.
        #[serde(default)]
        arrivals: Arrivals,
        /// Offered load as a share of `load_of`, above 0 and at most 1.
        load: f64,
        /// What the load is a share of.
        #[serde(default)]
        load_of: LoadOf,
        /// Which mean size makes flows a second of the load.
        #[serde(default)]
        load_by: LoadBy,
        /// The load counts headers (`host.header` on every full packet) as well as payload.
        #[serde(default)]
        load_with_headers: bool,
        /// With `load_of = "exact-core"`: this share of the payload is taken not to cross the core, in place of the exact one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        local_share: Option<f64>,
        /// Sources; empty: every host. `"host2..host5"` stands for four hosts, here and in every list of hosts.
        #[serde(default)]
        from: Vec<String>,
        /// Destinations; empty: every host.
        #[serde(default)]
        to: Vec<String>,
        /// Time of the first possible arrival.
        #[serde(default)]
        start: Duration,
        /// Priority of its packets, 0 (the highest) to 7.
        #[serde(default)]
        priority: u8,
    },
    /// Many-to-one bursts.
    Incast {
        /// Name in tables; `incast` by default.
        #[serde(default = "incast")]
        class: String,
        /// Flows of one event, from sources drawn with replacement.
        degree: u32,
        /// Bytes of one event, all flows together, in equal parts. Absent: `sizes`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        aggregate: Option<Bytes>,
        /// Size of each flow, drawn for each. Absent: `aggregate`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sizes: Option<Sizes>,
        /// Time between events. Absent: from `load`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        period: Option<Duration>,
        /// Load as a share of core capacity, which sets the period. Absent: from `period`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        load: Option<f64>,
        /// Time of the first event. Absent: one period.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start: Option<Duration>,
        /// Sources; empty: every host.
        #[serde(default)]
        from: Vec<String>,
        /// Victims; empty: every host, a fresh one each event.
        #[serde(default)]
        to: Vec<String>,
        /// Priority of its packets, 0 (the highest) to 7.
        #[serde(default)]
        priority: u8,
    },
    /// Flows without end (or of a given size), from `from[i]` to `to[i mod len]`.
    LongLived {
        /// Name in tables; `long-lived` by default.
        #[serde(default = "long_lived")]
        class: String,
        /// Number of flows.
        count: u32,
        /// Sources in turn; empty: every host that is not a destination.
        #[serde(default)]
        from: Vec<String>,
        /// Destinations in turn.
        to: Vec<String>,
        /// Size; absent: endless.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<Bytes>,
        /// When they start.
        #[serde(default)]
        start: Duration,
        /// Time between successive starts.
        #[serde(default)]
        stagger: Duration,
        /// Each flow is an application that writes at this rate, headers included, over UDP: nothing is acknowledged or sent
        /// again, and what backpressure holds back is sent later. Absent: as fast as the host's transport lets it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate: Option<BitsPerSec>,
        /// Priority of its packets, 0 (the highest) to 7.
        #[serde(default)]
        priority: u8,
    },
    /// Flows listed one by one.
    FlowList {
        /// Name in tables; `listed` by default.
        #[serde(default = "listed")]
        class: String,
        /// CSV file with columns `start_ns,src,dst,bytes` and perhaps `port`, beside the scenario; read into `rows`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// What such a file holds.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        rows: String,
        /// The flows one by one, instead.
        #[serde(default)]
        flows: Vec<ListedFlow>,
        /// Priority of its packets, 0 (the highest) to 7.
        #[serde(default)]
        priority: u8,
    },
}

/// One flow of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListedFlow {
    /// Arrival.
    pub start: Duration,
    /// Source host.
    pub src: String,
    /// Destination host.
    pub dst: String,
    /// Payload.
    pub bytes: Bytes,
    /// Destination port, in files and hashes of other simulators.
    #[serde(default = "background_port")]
    pub port: u16,
}

/// Flow sizes, payload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Sizes {
    /// A table shipped with Backwater, such as `google_rpc`.
    Table(String),
    /// A CSV file `size_bytes,cdf`, beside the scenario; read into `points`.
    File(String),
    /// A table given point by point.
    Points(SizeTable),
    /// Always this size.
    Fixed(Bytes),
    /// Exponential with this mean, at least one byte.
    Exponential(Bytes),
    /// Every whole number of bytes from the first to the second alike.
    Uniform([Bytes; 2]),
}

/// A cumulative distribution of flow sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeTable {
    /// `[size in bytes, cumulative probability]`, both non-decreasing, the last probability 1.
    pub points: Vec<(f64, f64)>,
    /// Linear interpolation between points (false: the smallest listed size whose probability suffices).
    pub linear: bool,
    /// Sizes above one packet are rounded up to whole packets, as BFC's authors do (traffic 1).
    #[serde(default)]
    pub whole_packets: bool,
}

/// Gaps between arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrivals {
    /// Exponential gaps.
    Poisson,
    /// Log-normal gaps; the sigma of the underlying normal.
    LogNormal(f64),
}

/// What a load is a share of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadOf {
    /// Core capacity, all injected payload counted (the BFC authors' rule).
    #[default]
    Core,
    /// Core capacity, only payload that crosses it counted.
    ExactCore,
    /// The links of the destination hosts together.
    Receivers,
    /// The links of the source hosts together.
    Senders,
}

/// Which mean size a load is divided by to have flows a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadBy {
    /// That of the sizes as they are drawn: what is offered is the load asked for.
    #[default]
    Drawn,
    /// That of the size table, which rounding to whole packets exceeds (the BFC authors' rule): more is offered than asked.
    Table,
}

/// How long, and which flows count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Flows arrive for this long.
    pub duration: Duration,
    /// Flows arrive until there are this many, if that is sooner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<u32>,
    /// Flows that arrive earlier do not count. Absent: a tenth of `duration`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Duration>,
    /// After `duration`, run on until every counted flow has finished, at most to this multiple of `duration`.
    #[serde(default = "four")]
    pub drain: f64,
    /// What time zero is called in files of other simulators.
    #[serde(default)]
    pub origin: Duration,
    /// Look-ahead window of the engine; absent: the largest the topology allows. Results do not depend on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Duration>,
}

/// What is recorded beyond flows and counters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Measure {
    /// Period of the samples of buffer occupancy and active flows; zero: none.
    pub sample: Duration,
    /// Count the flows with data in each egress port exactly (costs a hash per packet).
    pub active_flows: bool,
    /// Histogram of each data packet's time in egress queues (costs a time stamp per packet).
    pub queueing_delay: bool,
    /// Egress ports whose data is sampled too, `[switch, neighbour]` each; a name that ends in `*` is all that begin so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<[String; 2]>,
    /// Occupancy of every shared pool is sampled too.
    pub pools: bool,
    /// What pauses are in force for is sampled too: at every sample all packets held are looked at.
    pub pauses: bool,
    /// Upper ends of the size bins of the slowdown tables, payload; a last bin takes the rest.
    pub size_bins: Vec<Bytes>,
    /// How an unhindered flow's completion time is computed.
    pub slowdown: Slowdown,
}

/// Denominator and end point of FCT slowdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Slowdown {
    /// Last byte at the receiver over the exact idle-network time with headers (traffic 7.3).
    Exact,
    /// The BFC authors' script: last acknowledgement over propagation there and back and the payload's full packets, one more for
    /// each hop after the first, at the slowest link, without headers; 8000 or 4000 ns + ... on their network (traffic 7.2).
    BfcScript,
    /// HPCC's simulator: last acknowledgement over base RTT and all bytes with headers at the slowest link (traffic 7.1).
    HpccSim,
}

/// A link that loses frames or goes down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The two nodes.
    pub link: [String; 2],
    /// Share of frames lost, each direction, 0 to below 1.
    #[serde(default)]
    pub loss: f64,
    /// Share of control frames (not ACKs) lost on top.
    #[serde(default)]
    pub control_loss: f64,
    /// Intervals `[down, up]` in which the link carries nothing and routes avoid it.
    #[serde(default)]
    pub down: Vec<[Duration; 2]>,
}

/// Destination port of background flows in HPCC's flow files.
pub const BACKGROUND_PORT: u16 = 100;
/// Destination port of incast flows there.
pub const INCAST_PORT: u16 = 200;

fn background_port() -> u16 {
    BACKGROUND_PORT
}

fn one() -> u64 {
    1
}

fn four() -> f64 {
    4.0
}

fn background() -> String {
    "background".into()
}

fn incast() -> String {
    "incast".into()
}

fn long_lived() -> String {
    "long-lived".into()
}

fn listed() -> String {
    "listed".into()
}

impl Default for Arrivals {
    /// BFC's: log-normal with sigma 2.
    fn default() -> Arrivals {
        Arrivals::LogNormal(2.0)
    }
}

impl Default for Switch {
    fn default() -> Switch {
        Switch {
            queues: 32,
            assignment: Assignment::Single,
            backpressure: Backpressure::None,
            chip: None,
            buffer: Buffer::Shared(Bytes(12_000_000)),
            alpha: None,
            mmu: Mmu::default(),
            quantum: Bytes(1048),
            ecn: None,
            pool_ecn: None,
            not_ect: NotEct::Pass,
            symmetric_ecmp: false,
            priority_groups: 1,
            when_paused: WhenPaused::Hold,
            pfc: Pfc::default(),
            bfc: Bfc::default(),
            flowsail: Flowsail::default(),
        }
    }
}

impl Default for Pfc {
    fn default() -> Pfc {
        Pfc { alpha: 0.125, headroom: None, reserve: Bytes(4096), hysteresis: Bytes(3072) }
    }
}

impl Default for Bfc {
    fn default() -> Bfc {
        Bfc {
            table_entries_per_queue: 100,
            sticky: None,
            hrtt: None,
            fixed_threshold: None,
            per_ingress_threshold: false,
            refresh: Duration::from_us(10),
            extra_control_queue: false,
            literal_empty: false,
            sticky_reserve: false,
            sampling: 1.0,
            count_last: false,
            incast_label: false,
            nic_queues: None,
            nic_obeys: true,
            elide: Elide::Rule(ElideRule::None),
        }
    }
}

impl Default for Flowsail {
    fn default() -> Flowsail {
        Flowsail {
            ql: 1.0,
            qh: 3.0,
            hrtt: None,
            release: None,
            release_from: ReleaseFrom::Resume,
            refresh: Duration::from_us(10),
            isolation_queues: 1,
            hold: Hold::Head,
            residue: Residue::Hold,
            count_last: true,
            table_entries: 16_384,
            fingerprint_bits: 32,
            nactive_literal: false,
            strict_fair: true,
            weights: Vec::new(),
            sketch: None,
            as_printed: false,
            nic_obeys: true,
            elide: Elide::Rule(ElideRule::None),
        }
    }
}

impl Default for Conventions {
    fn default() -> Conventions {
        Conventions {
            time: Time::Exact,
            ties: Ties::Random,
            paths: Paths::Salted,
            acks: AckClass::High,
            hosts: Hosts::Rings,
            memory: Memory::Exact,
            pfc_frame: Bytes(64),
        }
    }
}

impl Default for Host {
    fn default() -> Host {
        Host {
            transport: Transport::LineRate,
            payload: Bytes(1000),
            header: Bytes(48),
            ack: Bytes(64),
            window: None,
            rto: Duration::from_us(5_000),
            nack_guard: Duration::from_us(500),
            delay: Duration::ZERO,
            nic_buffer: Bytes(10_000_000),
            nic_marks: false,
            ack_class: AckClass::High,
            dctcp: Dctcp::default(),
            tcp: Tcp::default(),
        }
    }
}

impl Default for Tcp {
    fn default() -> Tcp {
        Tcp {
            marks: Marks::Dctcp,
            g: 1.0 / 16.0,
            alpha: 1.0,
            initial_window: 10,
            max_window: 0,
            min_window: 2,
            dup_acks: 3,
            recovery: Recovery::Rfc6675,
            rto_max: Duration::from_us(64_000_000),
            ack_every: 1,
            ack_delay: Duration::from_us(500),
            connections: Connections::PerFlow,
            idle_restart: true,
            idle_raises: false,
            handshake: false,
            open: 2,
        }
    }
}

impl Default for Dctcp {
    fn default() -> Dctcp {
        Dctcp {
            g: 1.0 / 16.0,
            additive_increase: BitsPerSec(961_000_000),
            min_rate: BitsPerSec(100_000_000),
            window_follows_rate: true,
        }
    }
}

impl Default for Measure {
    fn default() -> Measure {
        Measure {
            sample: Duration::from_us(2),
            active_flows: false,
            queueing_delay: false,
            queues: Vec::new(),
            pools: false,
            pauses: false,
            size_bins: [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000].map(Bytes).to_vec(),
            slowdown: Slowdown::Exact,
        }
    }
}

impl Scenario {
    /// What the switch of this name does.
    pub fn switch_at(&self, name: &str) -> &Switch {
        self.region.iter().find(|region| region.covers(name)).map_or(&self.switch, |region| &region.switch)
    }
}

impl Region {
    /// Whether the switch of this name is in it.
    pub fn covers(&self, name: &str) -> bool {
        self.at.iter().any(|at| names(at, name))
    }
}

impl Measure {
    /// Whether the data at the egress port of `switch` to `peer` is sampled.
    pub fn samples(&self, switch: &str, peer: &str) -> bool {
        self.queues.iter().any(|[at, to]| names(at, switch) && names(to, peer))
    }
}

/// Whether `pattern` is this name, or ends in `*` and begins as it does.
pub(crate) fn names(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |prefix| name.starts_with(prefix))
}

impl Workload {
    /// Priority of its packets, 0 the highest.
    pub fn priority(&self) -> u8 {
        match *self {
            Workload::Background { priority, .. }
            | Workload::Incast { priority, .. }
            | Workload::LongLived { priority, .. }
            | Workload::FlowList { priority, .. } => priority,
        }
    }

    /// Rate on the wire at which its applications write datagrams, if they do.
    pub fn rate(&self) -> Option<BitsPerSec> {
        match *self {
            Workload::LongLived { rate, .. } => rate,
            _ => None,
        }
    }
}

impl Host {
    /// The smallest data packet on the wire: one byte of payload, or none where TCP opens connections.
    pub fn smallest_packet(&self) -> Bytes {
        let opens = self.transport == Transport::Tcp && self.tcp.handshake;
        Bytes(self.header.0 + !opens as u64)
    }
}

impl Run {
    /// Start of the counted window.
    pub fn warmup(&self) -> Duration {
        self.warmup.unwrap_or(Duration(self.duration.0 / 10))
    }
}

impl Switch {
    /// Data queues of a port: the control queue taken off.
    pub fn data_queues(&self) -> u16 {
        match self.assignment {
            Assignment::Single => 1,
            Assignment::Flowsail | Assignment::Class => self.queues,
            _ if self.bfc.extra_control_queue => self.queues,
            _ => self.queues - 1,
        }
    }
}

impl Serialize for Buffer {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Buffer::Infinite => s.serialize_str("infinite"),
            Buffer::Shared(bytes) => bytes.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for Buffer {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Buffer, D::Error> {
        let text = String::deserialize(d)?;
        if text == "infinite" {
            return Ok(Buffer::Infinite);
        }
        text.parse().map(Buffer::Shared).map_err(|_| {
            let expected = "\"infinite\" or a size with a unit, such as \"12 MB\"";
            serde::de::Error::invalid_value(serde::de::Unexpected::Str(&text), &expected)
        })
    }
}

impl JsonSchema for Buffer {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Buffer".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "\"infinite\" or a size with a unit, such as \"12 MB\"" })
    }
}

impl Serialize for Window {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Window::None => s.serialize_str("none"),
            Window::Bdp => s.serialize_str("bdp"),
            Window::BaseBdp => s.serialize_str("base-bdp"),
            Window::Size(bytes) => bytes.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Window, D::Error> {
        let text = String::deserialize(d)?;
        match text.as_str() {
            "none" => Ok(Window::None),
            "bdp" => Ok(Window::Bdp),
            "base-bdp" => Ok(Window::BaseBdp),
            _ => text
                .parse()
                .map(Window::Size)
                .map_err(|_| serde::de::Error::invalid_value(serde::de::Unexpected::Str(&text), &WINDOW_FORMS)),
        }
    }
}

const WINDOW_FORMS: &str = "\"none\", \"bdp\", \"base-bdp\" or a size with a unit, such as \"104 KB\"";

impl JsonSchema for Window {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Window".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": WINDOW_FORMS })
    }
}
