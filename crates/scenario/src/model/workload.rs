//! Sources of flows.

use super::collective::{CollectiveAlgorithm, NcclProtocol, Pattern};
use super::job::{JobFormat, JobLocal, JobModel, JobOverheads, JobPlacement, JobSource, LoadedJob, StartUnit};
use backwater_types::{BitsPerSec, Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A source of flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Workload {
    /// An open-loop process over pairs of hosts.
    Background {
        /// Name in tables, of this workload alone; default: `background`.
        #[serde(default = "background")]
        class: String,
        /// Flow sizes, payload.
        sizes: Sizes,
        /// Gaps between arrivals.
        #[serde(default)]
        arrivals: Arrivals,
        /// Offered load as a share of `load_of`, above 0 and at most 1.
        load: f64,
        /// Capacity that the load is a share of.
        #[serde(default)]
        load_of: LoadOf,
        /// Mean size by which the load is divided to get flows a second.
        #[serde(default)]
        load_by: LoadBy,
        /// The load counts headers (`host.header` on every full packet) as well as payload.
        #[serde(default)]
        load_with_headers: bool,
        /// With `load_of = "exact-core"`: share of the payload that does not cross the core, in place of the exact one.
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
        /// Name in tables; default: `incast`.
        #[serde(default = "incast")]
        class: String,
        /// Flows of one event, from sources drawn with replacement.
        degree: u32,
        /// Bytes of one event, of all flows together, in equal parts. Absent: `sizes`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        aggregate: Option<Bytes>,
        /// Size of each flow, drawn independently. Absent: `aggregate`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sizes: Option<Sizes>,
        /// Time between events. Absent: from `load`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        period: Option<Duration>,
        /// Load as a share of core capacity, which determines the period. Absent: from `period`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        load: Option<f64>,
        /// Time of the first event. Absent: one period.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start: Option<Duration>,
        /// Sources; empty: every host.
        #[serde(default)]
        from: Vec<String>,
        /// Victims; empty: every host, drawn anew for each event.
        #[serde(default)]
        to: Vec<String>,
        /// Priority of its packets, 0 (the highest) to 7.
        #[serde(default)]
        priority: u8,
    },
    /// Flows without end (or of a given size), from `from[i]` to `to[i mod len]`.
    LongLived {
        /// Name in tables; default: `long-lived`.
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
        /// Start time.
        #[serde(default)]
        start: Duration,
        /// Time between successive starts.
        #[serde(default)]
        stagger: Duration,
        /// Rate, headers included, at which an application writes each flow over UDP: nothing is acknowledged or
        /// retransmitted, and packets that backpressure holds back are sent later. Absent: the host's transport
        /// determines the rate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate: Option<BitsPerSec>,
        /// Priority of its packets, 0 (the highest) to 7.
        #[serde(default)]
        priority: u8,
    },
    /// Flows listed one by one.
    FlowList {
        /// Name in tables; default: `listed`.
        #[serde(default = "listed")]
        class: String,
        /// CSV file beside the scenario, with columns `start_ns,src,dst,bytes` and perhaps `port`, or `port,priority`;
        /// it is read into `rows`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// Contents of such a file.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        rows: String,
        /// Flows listed here, in place of a file.
        #[serde(default)]
        flows: Vec<ListedFlow>,
        /// Priority of its packets, 0 (the highest) to 7.
        #[serde(default)]
        priority: u8,
    },
    /// Hosts, called ranks, that send to one another step by step, as in a training job. A collective runs to its end,
    /// also past `run.duration`.
    Collective {
        /// Name in tables; default: `collective`.
        #[serde(default = "collective")]
        class: String,
        /// Pattern of communication.
        pattern: Pattern,
        /// Algorithm. Absent: of a broadcast and a reduce a binomial tree, of an all-to-all direct messages, else a ring.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        algorithm: Option<CollectiveAlgorithm>,
        /// Host of each rank, in turn; empty: every host.
        #[serde(default)]
        hosts: Vec<String>,
        /// Text file beside the scenario with a host in each line; read into `hosts`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hosts_file: Option<String>,
        /// Payload: the data of each rank, in as many parts as there are ranks; of an all-gather all parts together. Of a
        /// pipeline: a microbatch.
        bytes: Bytes,
        /// Number of iterations. Pipeline: number of microbatches.
        #[serde(default = "one")]
        iterations: u32,
        /// Start time of the ranks.
        #[serde(default)]
        start: Duration,
        /// Time that a rank computes before each send, one after another; before an all-to-all, once. With times in whole
        /// nanoseconds it is rounded up.
        #[serde(default)]
        compute: Duration,
        /// Rate at which a rank adds data that it receives to its own. Absent: at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reduce_rate: Option<BitsPerSec>,
        /// Time from a send to its first packet, such as that of a kernel's launch.
        #[serde(default, skip_serializing_if = "is_zero")]
        launch: Duration,
        /// Time of each rank before the first step of an iteration, such as that of a kernel's launch.
        #[serde(default, skip_serializing_if = "is_zero")]
        launch_once: Duration,
        /// Takes `launch` and `launch_once` from NCCL's tuning of a ring or a tree between nodes, with this protocol.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nccl: Option<NcclProtocol>,
        /// Channels, each with its share of the data and its own run of the algorithm.
        #[serde(default = "one_channel", skip_serializing_if = "is_one_channel")]
        channels: u16,
        /// Pieces of the data of a channel, each with its own run of the algorithm.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        chunks: u32,
        /// Messages that a rank sends to another in one channel ahead of the acknowledgement of the first. Absent: any
        /// number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slots: Option<u32>,
        /// Queue pairs of each pair of hosts. A message is divided among them. All data of a queue pair takes one path, and
        /// its messages leave one after the other. Absent: each message takes a path of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queue_pairs: Option<u16>,
        /// Each step is a phase in the table of phases.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_steps: bool,
        /// Priority of its packets, 0 (the highest) to 7.
        #[serde(default)]
        priority: u8,
        /// The collective as a job.
        #[serde(skip)]
        loaded: LoadedJob,
    },
    /// Messages that depend on messages, from a file: a training job, or any other program of ranks that send, receive
    /// and compute. A job runs to its end, also past `run.duration`.
    Job {
        /// Name in tables; default: `job`.
        #[serde(default = "job")]
        class: String,
        /// File beside the scenario. Its contents are read into `rows`, or if they are long, its place is kept in
        /// `source`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// Format of the file. Absent: `.goal` is GOAL, `.bin` is binary GOAL, `.csv` is CSV, `.cm` and `.tm` are htsim.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<JobFormat>,
        /// Unit of the starts in a connection matrix of htsim, whose files do not say it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start_unit: Option<StartUnit>,
        /// Size of the message by which a trigger of htsim reaches another host. Absent: such a trigger is refused, since
        /// hosts learn of one another only by messages.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<Bytes>,
        /// What traces of Chakra and text workloads of SimAI leave open.
        #[serde(default, skip_serializing_if = "is_plain_model")]
        model: Box<JobModel>,
        /// Contents of such a file.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        rows: String,
        /// Such a file, if it is long or binary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<JobSource>,
        /// Hosts that ranks take; empty: every host. A host that is listed again takes one more rank.
        #[serde(default)]
        hosts: Vec<String>,
        /// Text file beside the scenario with a host in each line, perhaps with `slots=N`; read into `hosts`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hosts_file: Option<String>,
        /// Order in which ranks take hosts.
        #[serde(default)]
        placement: JobPlacement,
        /// Entries at the start of that order that stay free, such as hosts that another job takes.
        #[serde(default)]
        skip: u32,
        /// Ranks on each host.
        #[serde(default = "one")]
        ranks_per_host: u32,
        /// Number of times that the job runs. A rank starts again when it has ended. Of a text workload of SimAI the
        /// gradients of an iteration may still be on their way when the next one starts.
        #[serde(default = "one")]
        iterations: u32,
        /// Start time of the ranks.
        #[serde(default)]
        start: Duration,
        /// Largest message that is sent at once. Of a larger one the sender asks the receiver first, and waits for the
        /// acknowledgement. Absent: every message is sent at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        eager: Option<Bytes>,
        /// Payload of the request and of the answer that precede a message above `eager`.
        #[serde(default = "control")]
        control: Bytes,
        /// Queue pairs of each pair of hosts. A message is divided among them. All data of a queue pair takes one path, and
        /// its messages leave one after the other. Absent: each message takes a path of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queue_pairs: Option<u16>,
        /// Time that messages cost at hosts.
        #[serde(default)]
        overheads: JobOverheads,
        /// Messages between ranks of one host.
        #[serde(default)]
        local: JobLocal,
        /// Priority of its packets, 0 (the highest) to 7.
        #[serde(default)]
        priority: u8,
        /// The job as it was read.
        #[serde(skip)]
        loaded: LoadedJob,
    },
}

impl Workload {
    /// Name in tables.
    pub fn class(&self) -> &str {
        match self {
            Workload::Background { class, .. }
            | Workload::Incast { class, .. }
            | Workload::LongLived { class, .. }
            | Workload::FlowList { class, .. }
            | Workload::Collective { class, .. }
            | Workload::Job { class, .. } => class,
        }
    }

    /// Priority of its packets, 0 the highest.
    pub fn priority(&self) -> u8 {
        match *self {
            Workload::Background { priority, .. }
            | Workload::Incast { priority, .. }
            | Workload::LongLived { priority, .. }
            | Workload::FlowList { priority, .. }
            | Workload::Collective { priority, .. }
            | Workload::Job { priority, .. } => priority,
        }
    }

    /// Whether its flows wait for one another, so that it ends by itself.
    pub fn is_closed_loop(&self) -> bool {
        matches!(self, Workload::Collective { .. } | Workload::Job { .. })
    }

    /// Queue pairs of each pair of hosts, if messages are divided among them.
    pub fn queue_pairs(&self) -> Option<u16> {
        match *self {
            Workload::Collective { queue_pairs, .. } | Workload::Job { queue_pairs, .. } => queue_pairs,
            _ => None,
        }
    }

    /// Rate on the wire at which applications write datagrams, if they do.
    pub fn rate(&self) -> Option<BitsPerSec> {
        match *self {
            Workload::LongLived { rate, .. } => rate,
            _ => None,
        }
    }
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

fn collective() -> String {
    "collective".into()
}

fn job() -> String {
    "job".into()
}

fn control() -> Bytes {
    Bytes(64)
}

fn is_plain_model(model: &JobModel) -> bool {
    *model == JobModel::default()
}

fn is_zero(time: &Duration) -> bool {
    *time == Duration::ZERO
}

fn one_channel() -> u16 {
    1
}

fn is_one_channel(channels: &u16) -> bool {
    *channels == 1
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

fn one() -> u32 {
    1
}

/// One flow of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListedFlow {
    /// Arrival time.
    pub start: Duration,
    /// Source host.
    pub src: String,
    /// Destination host.
    pub dst: String,
    /// Payload bytes.
    pub bytes: Bytes,
    /// Destination port, in files and hashes of other simulators.
    #[serde(default = "background_port")]
    pub port: u16,
    /// Priority of its packets. Absent: that of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
}

/// Destination port of background flows in HPCC's flow files.
pub const BACKGROUND_PORT: u16 = 100;
/// Destination port of incast flows in HPCC's flow files.
pub const INCAST_PORT: u16 = 200;
/// Destination port of a collective's flows.
pub const COLLECTIVE_PORT: u16 = 300;
/// Most flows of a collective, a power of two: they are numbered at their destination by a part of a word in every
/// packet.
pub const COLLECTIVE_FLOWS_MAX: u32 = 1 << 23;

fn background_port() -> u16 {
    BACKGROUND_PORT
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
    /// A fixed size.
    Fixed(Bytes),
    /// Exponential with this mean, at least one byte.
    Exponential(Bytes),
    /// Uniform over the whole numbers of bytes from the first to the second.
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

impl Default for Arrivals {
    /// BFC's: log-normal with sigma 2.
    fn default() -> Arrivals {
        Arrivals::LogNormal(2.0)
    }
}

/// Capacity that a load is a share of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadOf {
    /// Core capacity, all injected payload counted (the BFC authors' rule).
    #[default]
    Core,
    /// Core capacity, only payload that crosses it counted.
    ExactCore,
    /// All links of destination hosts.
    Receivers,
    /// All links of source hosts.
    Senders,
}

/// Mean size by which a load is divided to get flows a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadBy {
    /// Mean of the sizes as they are drawn: offered load is the load asked for.
    #[default]
    Drawn,
    /// Mean of the size table, which sizes rounded to whole packets exceed (the BFC authors' rule): offered load is
    /// more than the load asked for.
    Table,
}
