//! Hardware limits of a Tofino2, as parameters of a model.
//!
//! Source: spec B.1; Goyal et al., NSDI 2022, section 5. The paper's prototype reaches line rate at the price of two
//! delays. State of the traffic manager reaches the ingress pipelines late. Departures are booked late, by a header
//! that recirculates to the packet's ingress pipeline. "Not in the paper" marks values that the paper does not give.

use backwater_types::{Bytes, Duration, OutOfRange, Ranges};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// Limits of a chip. Zero in a field: no limit.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct HardwareParams {
    /// Period in which queue depths are pushed to the ingress pipelines. 0: at every change. Not in the paper.
    pub depth_period: Duration,
    /// Delay of the depths. Not in the paper.
    pub depth_delay: Duration,
    /// Period in which each ingress pipeline renews its copy of the map of empty queues. 0: no copies. Not in the
    /// paper.
    pub bitmap_period: Duration,
    /// Time from the start of a transmission to its booking, on an idle recirculation port. Not in the paper.
    pub recirc_delay: Duration,
    /// Bandwidth of a pipeline's recirculation port, as a share of the bandwidth of its ports; 0: no limit. "12 % of
    /// the switch's bandwidth".
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub recirc_share: f64,
    /// Bytes of a packet that recirculate.
    pub recirc_frame: Bytes,
    /// Pipeline time for each packet, arriving or recirculating. 0: no limit. 0.8 ns is 1.25 GHz; not in the paper.
    pub cycle: Duration,
    /// Bytes of a port's FIFO behind the scheduler, which depart even from a paused queue.
    pub tail_fifo: Bytes,
}

impl Default for HardwareParams {
    fn default() -> HardwareParams {
        HardwareParams {
            depth_period: Duration::from_ns(100),
            depth_delay: Duration::from_ns(400),
            bitmap_period: Duration::from_ns(500),
            recirc_delay: Duration::from_ns(500),
            recirc_share: 0.12,
            recirc_frame: Bytes(64),
            cycle: Duration(800),
            tail_fifo: Bytes(2_096),
        }
    }
}

/// Most depths in flight for a queue.
const DEPTHS_MAX: u64 = 64;
/// Longest time of the model: 1 ms.
const LIMIT_MAX: Duration = Duration::from_us(1000);

impl Ranges for HardwareParams {
    fn check(&self) -> Result<(), OutOfRange> {
        for (key, time) in [
            ("depth_period", self.depth_period),
            ("depth_delay", self.depth_delay),
            ("bitmap_period", self.bitmap_period),
            ("recirc_delay", self.recirc_delay),
            ("cycle", self.cycle),
        ] {
            OutOfRange::unless(time <= LIMIT_MAX, key, "at most 1 ms")?;
        }
        let within = self.depth_delay.0 <= DEPTHS_MAX * self.depth_period.0;
        OutOfRange::unless(within, "depth_delay", "at most 64 times depth_period, and 0 where that is")?;
        OutOfRange::unless((0.0..=1.0).contains(&self.recirc_share), "recirc_share", "0 to 1")?;
        OutOfRange::unless((1..=10_000).contains(&self.recirc_frame.0), "recirc_frame", "1 B to 10 KB")?;
        OutOfRange::unless(self.tail_fifo.0 <= 1 << 20, "tail_fifo", "at most 1 MiB")
    }
}

impl HardwareParams {
    /// Whether departures are booked late.
    pub fn books_late(&self) -> bool {
        self.recirc_delay > Duration::ZERO || self.recirc_share > 0.0 || self.cycle > Duration::ZERO
    }
}

/// Recirculated headers of a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize))]
pub struct Recirculated {
    /// Number of headers.
    pub headers: u64,
    /// Number of headers that waited for bandwidth or for the pipeline: over budget.
    pub waited: u64,
    /// The longest wait.
    pub longest: Duration,
}

impl Recirculated {
    /// Sum of the counts of two switches.
    pub fn with(self, other: Recirculated) -> Recirculated {
        Recirculated {
            headers: self.headers + other.headers,
            waited: self.waited + other.waited,
            longest: self.longest.max(other.longest),
        }
    }
}

/// Pipeline, out of `pipelines`, of port `port` out of `ports`. Pipelines have blocks of ports, whose sizes differ by
/// at most one.
pub fn pipeline_of(port: usize, ports: usize, pipelines: usize) -> usize {
    port * pipelines / ports.max(1)
}
