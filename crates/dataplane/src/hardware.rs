//! What a Tofino2 cannot do at once, as parameters of a model of it.
//!
//! Source: spec B.1; Goyal et al., NSDI 2022, section 5. The paper's prototype runs at line rate because of what is given up here:
//! state of the traffic manager reaches the ingress pipelines late, and what happens as a packet leaves is booked by its header, which
//! goes round to the ingress pipeline that it came by. Values that the paper does not give are marked so.

use backwater_types::{Bytes, Duration, OutOfRange, Ranges};
#[cfg(feature = "schema")]
use {schemars::JsonSchema, serde::Deserialize, serde::Serialize};

/// Limits of a chip. Zero of each: no limit.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields, default))]
pub struct HardwareParams {
    /// Period in which the depths of queues are pushed to the ingress pipelines. 0: each change at once. Not in the paper.
    pub depth_period: Duration,
    /// How late they come. Not in the paper.
    pub depth_delay: Duration,
    /// Period in which each ingress pipeline's copy of the map of empty queues is renewed. 0: it is the map. Not in the paper.
    pub bitmap_period: Duration,
    /// From the start of a transmission to the booking of it, on an idle recirculation port. Not in the paper.
    pub recirc_delay: Duration,
    /// Share of the bandwidth of a pipeline's ports that its recirculation port has; 0: no limit. "12 % of the switch's bandwidth".
    pub recirc_share: f64,
    /// What goes round of a packet.
    pub recirc_frame: Bytes,
    /// Time of a pipeline for a packet, whether it comes by a port or goes round. 0: no limit. 0.8 ns is 1.25 GHz; not in the paper.
    pub cycle: Duration,
    /// Bytes behind the point at which a queue is paused, which leave all the same.
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

/// Depths under way from a queue at most.
const DEPTHS_MAX: u64 = 64;
/// Times of the model are at most so long: 1 ms.
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
    /// Whether anything is booked later than it happens.
    pub fn books_late(&self) -> bool {
        self.recirc_delay > Duration::ZERO || self.recirc_share > 0.0 || self.cycle > Duration::ZERO
    }
}

/// Headers that went round a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recirculated {
    /// How many.
    pub headers: u64,
    /// Of these, how many had to wait for bandwidth or for the pipeline: over budget.
    pub waited: u64,
    /// The longest wait.
    pub longest: Duration,
}

impl Recirculated {
    /// Of two switches.
    pub fn with(self, other: Recirculated) -> Recirculated {
        Recirculated {
            headers: self.headers + other.headers,
            waited: self.waited + other.waited,
            longest: self.longest.max(other.longest),
        }
    }
}

/// The pipeline, of `pipelines`, that port `port` of `ports` is mapped to: blocks of ports that differ by one port at most.
pub fn pipeline_of(port: usize, ports: usize, pipelines: usize) -> usize {
    port * pipelines / ports.max(1)
}
