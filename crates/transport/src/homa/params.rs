//! Parameters of Homa.

use alloc::format;
use alloc::vec::Vec;
use backwater_types::{Bytes, Duration, OutOfRange, Ranges};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// Homa. RTTbytes, what a message may send unasked and what may be granted to it ahead, is `host.window`; `host.rto` is when what
/// has not come is asked for again.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct HomaParams {
    /// Priority levels of packets, 2 to 64. Switches with fewer queues serve the lowest together.
    pub levels: u8,
    /// Of these, those of unscheduled packets, the highest. Absent: by their share of the bytes of the workloads.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub unscheduled_levels: Option<u8>,
    /// The largest message of each unscheduled level but the last, ascending. Absent: so that the levels have equal shares of the
    /// unscheduled bytes of the workloads.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub cutoffs: Option<Vec<Bytes>>,
    /// Messages that a host grants to at once, of as many senders. Absent: as many as there are scheduled levels.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub overcommitment: Option<u16>,
}

impl Default for HomaParams {
    fn default() -> HomaParams {
        HomaParams { levels: 32, unscheduled_levels: None, cutoffs: None, overcommitment: None }
    }
}

/// As many as a switch tells apart in a word.
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

/// Which level packets have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomaLevels {
    /// Levels; 0 is the highest.
    pub levels: u8,
    /// The largest message of each unscheduled level but the last, bytes, ascending.
    pub cutoffs: Vec<u64>,
}

impl HomaLevels {
    /// Levels of unscheduled packets, the first.
    pub fn unscheduled(&self) -> u8 {
        self.cutoffs.len() as u8 + 1
    }

    /// Of unscheduled packets of a message of so many bytes.
    pub fn of_unscheduled(&self, bytes: u64) -> u8 {
        self.cutoffs.partition_point(|cutoff| *cutoff < bytes) as u8
    }

    /// Of scheduled packets, of the message at place `rank` of `active` that are granted to: the lowest levels are in use, so that a
    /// message that comes in and goes ahead of these finds a level above them.
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
    /// Of receivers, and what both ends go by.
    pub receiver: HomaReceiverParams,
}

/// Parameters of a flow at its receiver.
#[derive(Clone, Debug)]
pub struct HomaReceiverParams {
    /// RTTbytes, packets.
    pub window: u32,
    /// Levels.
    pub levels: HomaLevels,
    /// Messages granted to at once, of as many senders.
    pub overcommitment: u32,
    /// Wire bytes of a grant, and of whatever else answers.
    pub ack_wire: u16,
    /// What has not come by then is asked for again.
    pub rto: Duration,
}
