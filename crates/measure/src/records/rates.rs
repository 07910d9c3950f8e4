//! Rates at which the receivers of flows got data.

use backwater_types::{Duration, Instant};

/// Payload that a flow's receiver got in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Flow number.
    pub flow: u32,
    /// End of the interval, exclusive.
    pub end: Instant,
    /// Length of the interval.
    pub span: Duration,
    /// Payload, bytes.
    pub bytes: u64,
}
