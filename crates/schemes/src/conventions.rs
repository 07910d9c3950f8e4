//! Conventions: choices of the model in which simulators differ.

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

/// Choices of the model in which simulators differ. docs/fidelity.md gives the reasons for the defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Conventions {
    /// Resolution of transmission times.
    pub time: Time,
    /// Order of simultaneous events at a node.
    pub ties: Ties,
    /// Choice of a switch among equal-cost next hops.
    pub paths: Paths,
    /// Class of ACKs and NACKs at switches.
    pub acks: AckClass,
    /// Scheduling of a host's NIC, and loss recovery of its flows.
    pub hosts: Hosts,
    /// Accounting of a switch's memory under PFC.
    pub memory: Memory,
    /// Wire size of a PFC frame.
    pub pfc_frame: Bytes,
    /// Used with `hosts = "hpcc-sim"`: reaction of hosts to a change of routes, and to packets that it reorders.
    pub reroutes: Reroutes,
    /// Used with `ties = "ns3"`: random numbers that decide which frames a link loses.
    pub losses: Losses,
    /// Used with `memory = "hpcc-sim"`: fate of packets that wait at a switch's port when its link goes down.
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
    /// Truncated to whole nanoseconds, and a whole number mostly to one less, as ns-3.17 converts seconds (1048 B at
    /// 100 Gb/s: 83 ns).
    WholeNs,
}

/// Order of simultaneous events of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// Random, drawn anew each instant, so that no port is favoured.
    Random,
    /// Order of scheduling.
    Scheduled,
    /// As in ns-3: order of scheduling, with an event for each expiry of a sender's timers, and marks drawn by ns-3's
    /// generator in the order of events.
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

/// Scheduling of a host's NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Hosts {
    /// Rings of flows that may send; a retransmission timer; every duplicate is acknowledged.
    Rings,
    /// HPCC's simulator: round robin over a list of queue pairs, NACKs only (baselines 0.2 and 0.3).
    HpccSim,
}

/// Reaction of hosts to a change of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reroutes {
    /// None; an ACK that overtakes a NACK moves its sender on.
    Unnoticed,
    /// HPCC's simulator: each host lists its queue pairs anew in the order of a hash table, and a sender goes on from
    /// the packet of a NACK, whatever was acknowledged since.
    HpccSim,
}

/// Random numbers that decide which frames a link loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Losses {
    /// A stream for each direction of a link.
    Own,
    /// The stream of ns-3's error models, in the order in which frames arrive.
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
