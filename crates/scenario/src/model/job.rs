//! Jobs: messages that depend on messages.

use super::collective::CollectiveAlgorithm;
use backwater_jobs::{Job, Placed};
use backwater_types::{BitsPerSec, Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Format of a file of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JobFormat {
    /// GOAL, text: `num_ranks 2`, `rank 0 { a: send 4096b to 1 tag 7 }`.
    Goal,
    /// GOAL, binary.
    GoalBinary,
    /// CSV of dependent messages, with columns `id`, `src`, `dst`, `bytes` and `after`.
    Csv,
    /// Connection matrix of htsim, with triggers.
    Htsim,
    /// Text workload of SimAI or ASTRA-sim.
    Simai,
    /// Execution traces of Chakra. The file is named without the number of the rank and `.et`.
    Chakra,
}

/// What traces and text workloads leave open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JobModel {
    /// Number of ranks, if a text workload does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// Ranks of the first dimension of ASTRA-sim's network, if a text workload has groups by it: neighbours, which are a
    /// tensor group, or under `HYBRID_MODEL_DATA` a data group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_dimension: Option<u32>,
    /// Divides the rows of a text workload among this many stages of a pipeline. Without it, rows are those of one stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stages: Option<u32>,
    /// Microbatches that run all rows of a text workload, if it does not list the rows of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub microbatches: Option<u32>,
    /// Size of what stages of a pipeline pass on, if a text workload does not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage_bytes: Option<Bytes>,
    /// Algorithm of all-reduces.
    pub all_reduce: CollectiveAlgorithm,
    /// Channels of collectives, each with its share of the data.
    pub channels: u16,
    /// Parts of the model at each stage of an interleaved pipeline.
    pub virtual_stages: u32,
    /// Divides the sizes and times of a text workload, for a smaller run with the same proportions.
    pub shrink: u32,
    /// Nodes of a Chakra trace wait by their dependencies of control. PyTorch's name the caller of a node: leave them out.
    pub control_dependencies: bool,
    /// Groups of ranks of a Chakra trace, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, Vec<u32>>,
}

impl Default for JobModel {
    fn default() -> JobModel {
        let (all_reduce, groups) = (CollectiveAlgorithm::Ring, BTreeMap::new());
        JobModel {
            ranks: None,
            first_dimension: None,
            stages: None,
            microbatches: None,
            stage_bytes: None,
            all_reduce,
            channels: 1,
            virtual_stages: 1,
            shrink: 1,
            control_dependencies: true,
            groups,
        }
    }
}

/// Unit of the starts of flows in a connection matrix of htsim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StartUnit {
    /// Picoseconds, as the generators of NDP, EQDS, RoCE, HPCC and TCP write.
    Ps,
    /// Whole microseconds, as UEC reads.
    Us,
}

/// A file that a scenario names, and what it held when the run was planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobSource {
    /// Absolute path.
    pub path: String,
    /// BLAKE3 hash of its contents.
    pub blake3: String,
}

/// Order in which ranks take hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JobPlacement {
    /// In the order of the list of hosts.
    #[default]
    Packed,
    /// One host of each switch in turn, so that neighbours in the job are below different switches.
    Strided,
    /// In an order that the seed draws.
    Random,
}

/// Time that messages cost at hosts, by the LogGOPS model. All are zero unless given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JobOverheads {
    /// Time of a stream for each message, at both ends: *o*.
    pub message: Duration,
    /// Time of a stream for each byte after the first, at both ends: *O*.
    pub message_byte: Duration,
    /// Time of a NIC for each message that it sends: *g*.
    pub gap: Duration,
    /// Time of a NIC for each byte after the first that it sends, besides the time on its link: *G*.
    pub gap_byte: Duration,
    /// Time from the end of a send to the first packet: the part of *L* that is not the network's.
    pub latency: Duration,
    /// The NIC of the receiver is occupied for the gap too, before its stream is. It is in ATLAHS, but not in
    /// LogGOPSim.
    pub gap_at_receiver: bool,
}

/// Messages between ranks of one host, which cross no network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JobLocal {
    /// Time that any message takes.
    pub latency: Duration,
    /// Rate at which a message crosses. Absent: at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitsPerSec>,
}

/// A job that was read from a file, and where a job was placed. Both follow from the scenario and are no part of it.
#[derive(Clone, Default)]
pub struct LoadedJob {
    /// The job of a file.
    pub(crate) job: Option<Arc<Job>>,
    /// The job on hosts, made when it is first needed.
    pub(crate) placed: Arc<OnceLock<Arc<Placed>>>,
}

impl PartialEq for LoadedJob {
    fn eq(&self, _other: &LoadedJob) -> bool {
        true
    }
}

impl fmt::Debug for LoadedJob {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", if self.job.is_some() { "loaded" } else { "not loaded" })
    }
}
