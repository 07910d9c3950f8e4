//! Recordings beyond flows and counters.

use backwater_types::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::names;

/// Recordings beyond flows and counters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Measure {
    /// Period of the samples of buffer occupancy and active flows; zero: no samples.
    pub sample: Duration,
    /// Count the flows with data in each egress port exactly (costs a look at a table per packet).
    pub active_flows: bool,
    /// Histogram of each data packet's time in egress queues (costs a time stamp per packet).
    pub queueing_delay: bool,
    /// Egress ports whose data is sampled too, `[switch, neighbour]` each; a name that ends in `*` stands for all names
    /// with that beginning.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<[String; 2]>,
    /// Period in which bytes carried and time paused are recorded for every link, over the whole run; zero: no
    /// recording.
    pub links: Duration,
    /// Sample each data queue of the ports in `queues` too, as far as it has held packets (costs a look at them at
    /// every sample).
    pub data_queues: bool,
    /// Sample the share of the flows with data in an egress port that share a queue (costs a look at all packets held
    /// at every sample).
    pub sharing: bool,
    /// Count the data packets that switches send back up to a higher layer than their own, from which they came (costs
    /// a look per packet).
    pub valleys: bool,
    /// Sample the occupancy of every shared pool too.
    pub pools: bool,
    /// Sample the packets that pauses are in force for (costs a look at all packets held at every sample).
    pub pauses: bool,
    /// Upper ends of the size bins of the slowdown tables, payload; a last bin takes the rest.
    pub size_bins: Vec<Bytes>,
    /// Computation of an unhindered flow's completion time.
    pub slowdown: Slowdown,
}

impl Default for Measure {
    fn default() -> Measure {
        Measure {
            sample: Duration::from_us(2),
            active_flows: false,
            queueing_delay: false,
            queues: Vec::new(),
            links: Duration::ZERO,
            data_queues: false,
            sharing: false,
            valleys: false,
            pools: false,
            pauses: false,
            size_bins: [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000].map(Bytes).to_vec(),
            slowdown: Slowdown::Exact,
        }
    }
}

impl Measure {
    /// Whether the data at the egress port of `switch` to `peer` is sampled.
    pub fn samples(&self, switch: &str, peer: &str) -> bool {
        self.queues.iter().any(|[at, to]| names(at, switch) && names(to, peer))
    }
}

/// Denominator and end point of FCT slowdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Slowdown {
    /// Last byte at the receiver over the exact idle-network time with headers (traffic 7.3).
    Exact,
    /// The BFC authors' script: last acknowledgement over propagation there and back and the payload's full packets,
    /// one more for each hop after the first, at the slowest link, without headers; 8000 or 4000 ns + ... on their
    /// network (traffic 7.2).
    BfcScript,
    /// HPCC's simulator: last acknowledgement over base RTT and all bytes with headers at the slowest link (traffic
    /// 7.1).
    HpccSim,
}
