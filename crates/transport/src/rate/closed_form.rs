//! Properties of a congestion control that no packet asks: closed forms that results are checked against, and facts that
//! scenarios are checked against.

use crate::rate::Control;
use backwater_types::{BitsPerSec, Bytes, Duration};

/// A path without other traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IdlePath {
    /// Time from the start of a full packet to the arrival of its acknowledgement.
    pub round_trip: Duration,
    /// Time from the start of a packet without payload to the arrival of its acknowledgement.
    pub opening: Duration,
    /// Transmission time of a full packet at the slowest link.
    pub packet: Duration,
    /// Packets of the flow.
    pub packets: u64,
    /// Rate of the NIC's link.
    pub line: BitsPerSec,
    /// Wire bytes of a full packet.
    pub wire: Bytes,
}

impl IdlePath {
    /// Transmission time of a full packet at the first link.
    pub fn at_line(&self) -> Duration {
        Duration(self.wire.0 * 8_000_000_000_000 / self.line.0)
    }
}

/// What is known of a control without a simulation. Only a concrete control has it: a type that stands for several
/// controls has no properties of its own.
pub trait ClosedForm: Control {
    /// Completion time of a flow alone beyond store and forward, on a path that its window covers: zero if it starts at
    /// line rate and nothing slows it.
    fn startup(_params: &Self::Params, _path: &IdlePath) -> Duration {
        Duration::ZERO
    }
    /// Whether the first packets of a flow are spaced. A short last packet then catches up with the one before, and the
    /// flow takes less than [`ClosedForm::startup`] states by as much.
    fn starts_paced(_params: &Self::Params) -> bool {
        false
    }
    /// Share of an idle path's capacity that a flow alone takes in the long run, payload and headers.
    fn share(_params: &Self::Params) -> f64 {
        1.0
    }
    /// Lowest rate, if there is one: at most that of the slowest NIC.
    fn min_rate(_params: &Self::Params) -> Option<BitsPerSec> {
        None
    }
    /// Time from rate zero to line rate in steps of additive increase alone: an upper bound of the time that two flows
    /// take to fill a port after both cut their rates too far. Zero: a few round trips.
    fn recovery(_params: &Self::Params) -> Duration {
        Duration::ZERO
    }
    /// Wire bytes of the metadata on each data packet.
    fn carried(_params: &Self::Params) -> Bytes {
        Bytes(0)
    }
    /// Whether control reads [`Site::base_rtt`](crate::Site::base_rtt).
    const ASKS_BASE_RTT: bool = false;
}
