//! Parameters of Homa.

use alloc::format;
use alloc::vec::Vec;
use backwater_types::{Bytes, Duration, OutOfRange, Ranges};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// Homa. `host.window` is RTTbytes: the unscheduled bytes of a message, and the bytes granted ahead. `host.rto` is the
/// time without a packet after which missing packets are asked for again.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct HomaParams {
    /// Priority levels of packets, 2 to 64. Switches with fewer queues serve the lowest together.
    #[cfg_attr(feature = "schema", schemars(range(min = 2, max = LEVELS_MAX)))]
    pub levels: u8,
    /// Levels of unscheduled packets, the highest of all. Absent: in proportion to the unscheduled bytes of the
    /// workloads.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub unscheduled_levels: Option<u8>,
    /// Largest message of each unscheduled level but the last, ascending. Absent: chosen so that levels have equal
    /// shares of the unscheduled bytes of the workloads.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub cutoffs: Option<Vec<Bytes>>,
    /// Messages that a host grants to at once, each of another sender. Absent: as many as there are scheduled levels.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub overcommitment: Option<u16>,
}

impl Default for HomaParams {
    fn default() -> HomaParams {
        HomaParams { levels: 32, unscheduled_levels: None, cutoffs: None, overcommitment: None }
    }
}

/// Largest number of levels: a switch keeps a set of levels in a word.
const LEVELS_MAX: u8 = 64;

impl Ranges for HomaParams {
    fn check(&self) -> Result<(), OutOfRange> {
        let within = (2..=LEVELS_MAX).contains(&self.levels);
        OutOfRange::unless(within, "levels", &format!("2 to {LEVELS_MAX}"))?;
        let most = self.levels - 1;
        if let Some(unscheduled) = self.unscheduled_levels {
            let expected = format!("1 to {most}, so that a level is left for scheduled packets");
            OutOfRange::unless((1..=most).contains(&unscheduled), "unscheduled_levels", &expected)?;
        }
        if let Some(cutoffs) = &self.cutoffs {
            let counts = |n: usize| n == cutoffs.len() + 1;
            let agrees = self.unscheduled_levels.is_none_or(|levels| counts(levels.into()));
            let expected = "one fewer than unscheduled_levels";
            OutOfRange::unless(agrees, "cutoffs", expected)?;
            let expected = format!("at most {}, one fewer than levels allow unscheduled ones", most - 1);
            OutOfRange::unless(cutoffs.len() < most.into(), "cutoffs", &expected)?;
            let rises = cutoffs.iter().all(|size| size.0 > 0) && cutoffs.is_sorted();
            OutOfRange::unless(rises, "cutoffs", "sizes above 0 that do not fall")?;
        }
        OutOfRange::unless(self.overcommitment != Some(0), "overcommitment", "1 or more")
    }
}

/// Levels of packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomaLevels {
    /// Number of levels; 0 is the highest.
    pub levels: u8,
    /// Largest message of each unscheduled level but the last, bytes, ascending.
    pub cutoffs: Vec<u64>,
}

impl HomaLevels {
    /// Number of levels of unscheduled packets, the first ones.
    pub fn unscheduled(&self) -> u8 {
        self.cutoffs.len() as u8 + 1
    }

    /// Level of unscheduled packets of a message of `bytes` bytes.
    pub fn of_unscheduled(&self, bytes: u64) -> u8 {
        self.cutoffs.partition_point(|cutoff| *cutoff < bytes) as u8
    }

    /// Level of scheduled packets of the message at place `rank` of `active` that are granted to. The lowest levels are
    /// in use, so that a new message with less left finds a free level above.
    #[inline(always)]
    pub fn of_scheduled(&self, rank: u32, active: u32) -> u8 {
        let above = u32::from(self.levels).saturating_sub(active) + rank;
        above.clamp(u32::from(self.unscheduled()), u32::from(self.levels) - 1) as u8
    }
}

/// Parameters of [`Homa`](super::Homa).
#[derive(Clone, Debug)]
pub struct HomaFlowParams {
    /// Payload of a full packet, bytes.
    pub payload: u64,
    /// Headers of a packet, bytes.
    pub header: u64,
    /// Wire bytes of a full packet.
    pub full_wire: u16,
    /// Parameters of receivers, and those of both ends.
    pub receiver: HomaReceiverParams,
}

/// Parameters of a flow at its receiver.
#[derive(Clone, Debug)]
pub struct HomaReceiverParams {
    /// RTTbytes, packets.
    pub window: u32,
    /// Levels.
    pub levels: HomaLevels,
    /// Messages granted to at once, each of another sender.
    pub overcommitment: u32,
    /// Wire bytes of a grant and of any other answer.
    pub ack_wire: u16,
    /// Time without a packet after which missing packets are asked for again.
    pub rto: Duration,
}
