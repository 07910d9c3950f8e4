//! Parameters of FlowSail.

use crate::backpressure::{Grain, NicPausing, Pauses, Pausing, State};
use crate::elide::Elide;
use crate::flow_table::LAPSE;
use alloc::format;
use alloc::vec::Vec;
use backwater_types::{Duration, OutOfRange, PERIOD_MIN, Ranges, TIMER_MAX};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// FlowSail's parameters and knobs (spec F).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct FlowSailParams {
    /// Queue length above which a flow with more than its fair share is paused, in multiples of HRTT x rate over active
    /// queues. Above 0.
    pub ql: f64,
    /// Queue length above which every flow with an arriving packet is paused, in the same unit. `ql` or more.
    pub qh: f64,
    /// Round trip to a neighbour, which sets the thresholds. Absent: twice the largest propagation delay of the switch.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub hrtt: Option<Duration>,
    /// Time after which a flow that is not paused and has nothing isolated is released (FS-A1). Absent: 2 HRTT. `"0
    /// s"`: at once, as in the pseudo-code.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub release: Option<Duration>,
    /// Start of the `release` time.
    pub release_from: ReleaseFrom,
    /// Period in which pauses in force are repeated; a pause not repeated for three periods lapses. `"0 us"`: pauses
    /// are neither repeated nor do they lapse, as in the paper.
    pub refresh: Duration,
    /// Isolation queues of each group of queues, fewer than its queues; the paper has one.
    pub isolation_queues: u16,
    /// Condition under which an isolation queue waits.
    pub hold: Hold,
    /// Treatment of the packets that a flow has in its normal queue when it is paused.
    pub residue: Residue,
    /// A flow's last packet counts towards a pause like the others.
    pub count_last: bool,
    /// Flow records of a switch, 16 to 1 000 000; the default is 100 KB of 50-bit entries.
    #[cfg_attr(feature = "schema", schemars(range(min = 16, max = 1_000_000)))]
    pub table_entries: u32,
    /// Bits by which records of a bucket tell flows apart, 8 to 32. 32: exact; with fewer, flows with equal bits are
    /// treated as one flow.
    #[cfg_attr(feature = "schema", schemars(range(min = 8, max = 32)))]
    pub fingerprint_bits: u8,
    /// Counts all queues that are not paused as active, with data or not (FS-A11).
    pub nactive_literal: bool,
    /// A flow exceeds its fair share only with strictly more than it, not with exactly as much (FS-A10).
    pub strict_fair: bool,
    /// `[priority]`: weight of its flows in the fair share, 1 to 255. Empty: all equal.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Vec::is_empty"))]
    pub weights: Vec<u32>,
    /// Flow sizes from a count-min sketch of each port. Absent: exact counters.
    #[cfg_attr(feature = "schema", serde(skip_serializing_if = "Option::is_none"))]
    pub sketch: Option<SketchParams>,
    /// Runs the published pseudo-code to the letter, which stops queues for ever and sends packets of paused flows
    /// (spec F.9). The only other keys that it reads are `ql`, `qh` and `hrtt`.
    pub as_printed: bool,
    /// NICs obey PAUSE for the flow that it names.
    pub nic_obeys: bool,
    /// Turns on which no backpressure is sent (spec C.1).
    pub elide: Elide,
}

impl Default for FlowSailParams {
    fn default() -> FlowSailParams {
        FlowSailParams {
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
            elide: Elide::default(),
        }
    }
}

/// Priorities of packets.
const PRIORITIES: usize = 8;

impl Ranges for FlowSailParams {
    fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless(self.ql > 0.0, "ql", "more than 0")?;
        OutOfRange::unless(self.qh >= self.ql, "qh", &format!("at least ql = {}", self.ql))?;
        OutOfRange::unless_timer("hrtt", self.hrtt.unwrap_or(Duration(1)), Duration(1))?;
        OutOfRange::unless_timer("release", self.release.unwrap_or_default(), Duration::ZERO)?;
        let repeats = self.refresh == Duration::ZERO || (PERIOD_MIN..=TIMER_MAX).contains(&self.refresh);
        let expected = format!("0 for never, or at least {PERIOD_MIN} and at most {TIMER_MAX}");
        OutOfRange::unless(repeats, "refresh", &expected)?;
        OutOfRange::unless((16..=1_000_000).contains(&self.table_entries), "table_entries", "16 to 1000000")?;
        OutOfRange::unless((8..=32).contains(&self.fingerprint_bits), "fingerprint_bits", "8 to 32")?;
        OutOfRange::unless(self.isolation_queues >= 1, "isolation_queues", "at least 1")?;
        let expected = format!("one for each priority, at most {PRIORITIES}; there are {}", self.weights.len());
        OutOfRange::unless(self.weights.len() <= PRIORITIES, "weights", &expected)?;
        for (i, weight) in self.weights.iter().enumerate() {
            OutOfRange::unless((1..=255).contains(weight), &format!("weights.{i}"), "1 to 255")?;
        }
        let Some(sketch) = &self.sketch else { return Ok(()) };
        OutOfRange::unless((1..=8).contains(&sketch.rows), "sketch.rows", "1 to 8")?;
        let columns = (16..=65_536).contains(&sketch.columns) && sketch.columns.is_power_of_two();
        OutOfRange::unless(columns, "sketch.columns", "a power of two from 16 to 65536")
    }
}

/// Bytes of a counter of a sketch.
const COUNTER: u64 = size_of::<u32>() as u64;

impl FlowSailParams {
    /// Time after which a pause that is not repeated lapses. Zero: pauses do not lapse.
    pub const fn lapse(&self) -> Duration {
        Duration(LAPSE * self.refresh.0)
    }
}

impl Pauses for FlowSailParams {
    fn pausing(&self) -> Pausing<'_> {
        let counters = |sketch: &SketchParams| u64::from(sketch.rows) * u64::from(sketch.columns);
        Pausing {
            pfc_interop: true,
            elide: Some(&self.elide),
            hrtt: self.hrtt,
            refresh: self.refresh,
            lapse: self.lapse(),
            nic: NicPausing { obeys: self.nic_obeys, queues: None, labels: false },
            state: self.sketch.as_ref().map(|sketch| State {
                key: "sketch",
                what: "sketches of flow sizes",
                per_port: COUNTER * counters(sketch),
                per_queue: 0,
            }),
            ..Pausing::of(Grain::Flow)
        }
    }
}

/// Event from which FlowSail counts the time until it releases a congested flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum ReleaseFrom {
    /// The flow's RESUME (FS-A1).
    Resume,
    /// The flow's last enqueue or dequeue, as in the paper's text: a flow that keeps sending is never released.
    Touch,
}

/// Condition under which an isolation queue waits for pauses of its flows to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Hold {
    /// The flow of the first packet is paused (FS-A1).
    Head,
    /// Any of its flows is paused, by the letter of the paper's section IV-C.
    Any,
}

/// Treatment of the packets that a flow has in its normal queue when it is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Residue {
    /// The packets hold the queue, and those of other flows in it, until the RESUME (spec F.6).
    Hold,
    /// The packets depart in their turn, as if the PAUSE had come after them: an extension of the paper.
    Drain,
}

/// A count-min sketch (Cormode and Muthukrishnan 2005).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct SketchParams {
    /// Rows, each with a hash of its own. 1 to 8.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 8)))]
    pub rows: u32,
    /// Counters of a row: a power of two, 16 to 65 536.
    pub columns: u32,
}
