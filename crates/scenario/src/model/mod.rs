//! Resolved scenarios: everything a run needs, typed, with every default filled in.
//!
//! This is the one definition: the TOML reader, the JSON schema, the manifest and the simulator all use these types.
//! Tables of switches and hosts are defined with the schemes, and the parameters of each beside its algorithm.

mod collective;
mod fault;
mod job;
mod measure;
mod region;
mod run;
mod topology;
mod workload;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use backwater_dataplane::{
    BfcParams, BufferSize, Ecn, EcnAt, EcnOf, Elide, ElideRule, FlowSailParams, Grain, Hold, Mmu, NotEct, PfcParams,
    PoolEcn, QueueMemory, ReleaseFrom, Residue, Returns, SketchParams, SpacedOver, Spacing,
};
pub use backwater_schemes::{
    AckClass, Assignment, Backpressure, Compat, Conventions, DownQueues, Host, Hosts, LoadBalancing, LossRecovery,
    Losses, Memory, Paths, Reroutes, Scheduler, Switch, Ties, Time, Transport, WhenPaused, Window,
};
pub use backwater_transport::{Connections, DctcpParams, Marks, Recovery, TcpParams};
pub use collective::{CollectiveAlgorithm, NcclProtocol, Pattern};
pub use fault::Fault;
pub use job::{JobFormat, JobLocal, JobModel, JobOverheads, JobPlacement, JobSource, LoadedJob, StartUnit};
pub use measure::{Measure, Slowdown};
pub use region::Region;
pub use run::Run;
pub use topology::{GraphLink, Topology};
pub use workload::{
    Arrivals, BACKGROUND_PORT, COLLECTIVE_FLOWS_MAX, COLLECTIVE_PORT, INCAST_PORT, ListedFlow, LoadBy, LoadOf,
    SizeTable, Sizes, Workload,
};

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of the scenario, shown in reports.
    #[serde(default)]
    pub name: String,
    /// One sentence on what the scenario shows.
    #[serde(default)]
    pub description: String,
    /// Seed of every random stream. Same scenario, seed and version: same bytes out.
    #[serde(default = "one")]
    #[schemars(range(max = 9_223_372_036_854_775_807_i64))]
    pub seed: u64,
    /// Preset of the switch and host defaults (`backwater list schemes` names them).
    pub scheme: String,
    /// Another simulator whose conventions hold wherever `conventions` and the scheme set none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compat: Option<Compat>,
    /// Choices of the model in which simulators differ; `compat` sets all of these, and each can be set alone.
    #[serde(default)]
    pub conventions: Conventions,
    /// Hosts, switches and links.
    pub topology: Topology,
    /// Switches.
    #[serde(default)]
    pub switch: Switch,
    /// Groups of switches that differ from the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub region: Vec<Region>,
    /// Hosts.
    #[serde(default)]
    pub host: Host,
    /// Sources of flows; their arrivals are merged in time.
    #[serde(default)]
    pub workload: Vec<Workload>,
    /// Duration, and the flows that count.
    pub run: Run,
    /// Recordings beyond flows and counters.
    #[serde(default)]
    pub measure: Measure,
    /// Links that lose frames or go down.
    #[serde(default)]
    pub fault: Vec<Fault>,
}

impl Scenario {
    /// Returns the table of the switch of this name.
    pub fn switch_at(&self, name: &str) -> &Switch {
        self.region.iter().find(|region| region.covers(name)).map_or(&self.switch, |region| &region.switch)
    }
}

fn one() -> u64 {
    1
}

/// Whether `pattern` is this name, or ends in `*` behind its beginning.
pub(crate) fn names(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |prefix| name.starts_with(prefix))
}
