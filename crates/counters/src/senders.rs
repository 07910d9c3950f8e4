//! Counters of senders.

use backwater_transport::TimeoutReason;

/// Timeouts by reason, in the order of [`TimeoutReason::ALL`].
pub type Timeouts = [u64; TimeoutReason::ALL.len()];

/// Credits that a host's flows received, and their use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credits {
    /// Credits received.
    pub received: u64,
    /// Received credits for which there was nothing to send.
    pub wasted: u64,
}
