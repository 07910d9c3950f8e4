//! How the network is modelled where models differ.

pub use backwater_dataplane::DownQueues;
use backwater_types::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Used with `hosts = "hpcc-sim"`: what they do when routes change, and packets overtake others.
    pub reroutes: Reroutes,
    /// Used with `ties = "ns3"`: what decides which frames a link loses.
    pub losses: Losses,
    /// Used with `memory = "hpcc-sim"`: what becomes of what waits at a switch's port when its link goes down.
    pub down_queues: DownQueues,
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
            reroutes: Reroutes::Unnoticed,
            losses: Losses::Own,
            down_queues: DownQueues::Drain,
        }
    }
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
    /// What was scheduled earlier comes first.
    Scheduled,
    /// As in ns-3: also what a sender's clocks do is an event, and marks are drawn by its generator, in the order of events.
    Ns3,
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

/// What hosts do when routes change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reroutes {
    /// Nothing; an ACK that overtakes a NACK moves its sender on.
    Unnoticed,
    /// HPCC's simulator: each lists its queue pairs anew in the order of a hash table, and a sender goes on where a NACK put it,
    /// whatever is acknowledged since.
    HpccSim,
}

/// Draws that decide which frames a link loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Losses {
    /// Those of a stream for each direction of a link.
    Own,
    /// Those of ns-3's error models, in the order in which frames arrive.
    Ns3,
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
