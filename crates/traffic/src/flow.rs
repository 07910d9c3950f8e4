//! Arrivals of flows, and the window in which flows are counted.

pub use backwater_fabric::flow::{ENDLESS, Flow, Own};
use backwater_scenario::model::Scenario;
use backwater_types::{Duration, Instant};

/// A flow from its workload process, before it has a number.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Time of arrival at the source.
    pub at: Instant,
    /// Source host.
    pub src: u16,
    /// Destination host.
    pub dst: u16,
    /// Payload bytes; [`ENDLESS`] for a flow without end.
    pub size: u64,
    /// Destination port.
    pub port: u16,
    /// Traffic class of its packets, if it differs from that of its workload.
    pub priority: Option<u8>,
    /// Numbers of a closed-loop flow; `None` for an open-loop flow.
    pub own: Option<Own>,
}

impl Arrival {
    /// Makes a wake: a closed-loop process is told at `at`, at `host`, that this time has come for `what`. `order` orders
    /// wakes and flows of one instant.
    pub fn wake(what: u32, order: u32, at: Instant, host: u16) -> Arrival {
        let own = Some(Own { number: order, slot: what });
        Arrival { at, src: host, dst: host, size: 0, port: 0, priority: None, own }
    }

    /// Makes the flow numbered `id` of workload number `class`. `priority` applies if the arrival has none of its own.
    #[inline]
    pub fn named(self, id: u32, receiver_slot: u32, class: u8, priority: u8) -> Flow {
        let Arrival { at, src, dst, size, port, priority: own, .. } = self;
        Flow { id, at, src, dst, size, receiver_slot, port, class, priority: own.unwrap_or(priority) }
    }
}

/// Returns the start of the counted window and its end. Flows go on arriving for `run.cooldown` after it.
pub fn counted_window(scenario: &Scenario) -> (Instant, Instant) {
    let at = |d: Duration| Instant::ZERO + d;
    (at(scenario.run.warmup()), at(scenario.run.counted_until()))
}
