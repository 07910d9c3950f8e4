//! A row of the flow table.

use backwater_traffic::Flow;
use backwater_types::Instant;

/// A flow with its results.
#[derive(Clone, Copy, Debug)]
pub struct FlowRow {
    /// The flow.
    pub flow: Flow,
    /// Arrival of the last byte at the receiver, or [`Instant::NEVER`].
    pub received: Instant,
    /// Arrival of the last acknowledgement at the sender, or [`Instant::NEVER`].
    pub acknowledged: Instant,
    /// Retransmitted packets.
    pub retransmitted: u32,
    /// Timeouts of TCP.
    pub timeouts: u16,
    /// Completion time on an idle network, picoseconds, by the definition of slowdown that the scenario asks for.
    pub ideal: u64,
    /// Completion time over ideal; `NaN` if unfinished.
    pub slowdown: f64,
    /// Whether the flow is counted: it has a finite size, and it arrived in the counted window. A flow of a collective
    /// counts too if it started after the window, or never.
    pub counted: bool,
}
