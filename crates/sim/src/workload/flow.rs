//! A flow, and which flows count.

use backwater_scenario::model::Scenario;
use backwater_types::{Duration, Instant};

/// A flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its number, in order of arrival.
    pub id: u32,
    /// Arrival.
    pub at: Instant,
    /// Source host.
    pub src: u16,
    /// Destination host.
    pub dst: u16,
    /// Payload bytes; `u64::MAX`: endless.
    pub size: u64,
    /// Number among the flows to the same destination.
    pub receiver_slot: u32,
    /// Destination port, in files and hashes of other simulators.
    pub port: u16,
    /// Workload it belongs to.
    pub class: u8,
}

/// Size of an endless flow.
pub const ENDLESS: u64 = u64::MAX;

impl Flow {
    /// Packets of `payload` bytes it takes, and the payload of the last.
    pub fn packets(&self, payload: u64) -> (u32, u64) {
        if self.size == ENDLESS {
            return (u32::MAX, payload);
        }
        let packets = self.size.div_ceil(payload);
        (packets as u32, self.size - (packets - 1) * payload)
    }
}

/// A flow as its process gives it, before it has a number.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When.
    pub at: Instant,
    /// Source host.
    pub src: u16,
    /// Destination host.
    pub dst: u16,
    /// Payload bytes; [`ENDLESS`]: without end.
    pub size: u64,
    /// Destination port.
    pub port: u16,
}

/// When counting starts and arrivals end.
pub fn counted_window(scenario: &Scenario) -> (Instant, Instant) {
    let at = |d: Duration| Instant::ZERO + d;
    (at(scenario.run.warmup()), at(scenario.run.duration))
}
