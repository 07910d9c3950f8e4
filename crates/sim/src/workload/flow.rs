//! A flow as its process gives it, and which flows count.

pub use backwater_engine::flow::{ENDLESS, Flow, Own};
use backwater_scenario::model::Scenario;
use backwater_types::{Duration, Instant};

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
    /// Traffic class of its packets, if it is not that of its workload.
    pub priority: Option<u8>,
    /// Of a dependent flow.
    pub own: Option<Own>,
}

impl Arrival {
    /// The flow that it is, in a workload of this number, whose priority it has if it has none of its own.
    #[inline]
    pub fn named(self, id: u32, receiver_slot: u32, class: u8, priority: u8) -> Flow {
        let Arrival { at, src, dst, size, port, priority: own, .. } = self;
        Flow { id, at, src, dst, size, receiver_slot, port, class, priority: own.unwrap_or(priority) }
    }
}

/// When counting starts and arrivals end.
pub fn counted_window(scenario: &Scenario) -> (Instant, Instant) {
    let at = |d: Duration| Instant::ZERO + d;
    (at(scenario.run.warmup()), at(scenario.run.duration))
}
