//! Parameters of marking, by the length of a queue and by the occupancy of a pool.

use alloc::format;
use alloc::vec::Vec;
use backwater_types::{BitsPerSec, Bytes, OutOfRange, Ranges};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// RED on the instantaneous length of the egress queue, at dequeue, after removing the packet.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct Ecn {
    /// Queue length up to which no packet is marked.
    pub kmin: Bytes,
    /// Queue length above which every packet is marked.
    pub kmax: Bytes,
    /// Marking probability just below `kmax`, 0 to 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub pmax: f64,
    /// Length that is compared with the thresholds.
    #[cfg_attr(feature = "schema", serde(default))]
    pub of: EcnOf,
    /// Spacing of marks between the thresholds.
    #[cfg_attr(feature = "schema", serde(default))]
    pub spacing: Spacing,
    /// Numbers of the queues that mark. Empty: all.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub queues: Vec<u16>,
    /// Different thresholds for ports of these rates.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub by_rate: Vec<EcnAt>,
}

impl Ranges for Ecn {
    fn check(&self) -> Result<(), OutOfRange> {
        check_thresholds(self.kmin, self.kmax, self.pmax)?;
        for (i, at) in self.by_rate.iter().enumerate() {
            let within = |wrong: OutOfRange| wrong.within(&format!("by_rate.{i}"));
            check_thresholds(at.kmin, at.kmax, at.pmax).map_err(within)?;
            let twice = self.by_rate[..i].iter().any(|other| other.rate == at.rate);
            OutOfRange::unless(!twice, "rate", "each rate once; this one is given twice").map_err(within)?;
        }
        Ok(())
    }
}

/// Checks two thresholds and the probability between them.
fn check_thresholds(kmin: Bytes, kmax: Bytes, pmax: f64) -> Result<(), OutOfRange> {
    OutOfRange::unless(kmax.0 > 0, "kmax", "more than 0 B")?;
    OutOfRange::unless(kmin <= kmax, "kmin", &format!("at most kmax, {kmax}"))?;
    OutOfRange::unless((0.0..=1.0).contains(&pmax), "pmax", "0 to 1")
}

/// Length that [`Ecn`] compares with its thresholds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum EcnOf {
    /// Bytes of the queue that the packet left.
    #[default]
    Queue,
    /// Bytes of all data queues of the port.
    Port,
}

/// Thresholds of [`Ecn`] for ports of one rate.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct EcnAt {
    /// Rate of the ports.
    pub rate: BitsPerSec,
    /// Queue length up to which no packet is marked.
    pub kmin: Bytes,
    /// Queue length above which every packet is marked.
    pub kmax: Bytes,
    /// Marking probability just below `kmax`, 0 to 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub pmax: f64,
}

/// Spacing of marks between two thresholds (Floyd and Jacobson 1993, section 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Spacing {
    /// Each packet is marked independently: gaps are geometric, as in switches.
    #[default]
    Plain,
    /// Marks depend on the bytes since the last mark, in full packets: gaps are uniform, as in ns-2 and BCC's public
    /// simulations.
    Uniform,
}

/// RED on the instantaneous occupancy of a shared pool, at dequeue: one more configuration of BCC (spec G.2). Any
/// ECN-capable packet that leaves a port of the pool's MMU may be marked (BCC-A2).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct PoolEcn {
    /// Occupancy up to which no packet is marked.
    pub kmin: Bytes,
    /// Occupancy above which every packet is marked. `kmin = kmax`: the cut-off variant.
    pub kmax: Bytes,
    /// Marking probability just below `kmax`, 0 to 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub pmax: f64,
    /// Spacing of marks between the thresholds.
    #[cfg_attr(feature = "schema", serde(default))]
    pub spacing: Spacing,
    /// Bytes that uniform spacing counts since the last mark.
    #[cfg_attr(feature = "schema", serde(default))]
    pub spaced_over: SpacedOver,
    /// Marks only packets of queues that `ecn` covers, as in the Switch Abstraction Interface.
    #[cfg_attr(feature = "schema", serde(default))]
    pub only_ecn_queues: bool,
}

impl Ranges for PoolEcn {
    fn check(&self) -> Result<(), OutOfRange> {
        check_thresholds(self.kmin, self.kmax, self.pmax)
    }
}

/// Bytes that uniform spacing counts for a pool's rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum SpacedOver {
    /// Bytes of all ports of the pool.
    #[default]
    Pool,
    /// Bytes of each port separately, as in BCC's public simulations.
    Port,
}

/// Treatment of a packet that a rule would mark and that is not ECN-capable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum NotEct {
    /// The packet is sent.
    Pass,
    /// The packet is dropped as it leaves its queue.
    Drop,
}
