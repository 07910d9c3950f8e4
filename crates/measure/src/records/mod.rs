//! Records of a run beside its outcome, on request.

pub mod capture;
pub mod events;
pub mod rates;
pub mod waits;

use capture::Captured;
use events::Event;
use rates::Rate;
use waits::Wait;

/// Records of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Parts of the flows' completion times, by flow, then from the source on. The parts of a flow sum to its
    /// completion time.
    pub waits: Vec<Wait>,
    /// Payload that the receivers of these flows got, by flow and time.
    pub rates: Vec<Rate>,
    /// Events by time and node, each node's in order.
    pub events: Vec<Event>,
    /// Number of events in the span that found no room, all later than `events`.
    pub events_left_out: u64,
    /// Packets that crossed ports.
    pub captured: Captured,
}
