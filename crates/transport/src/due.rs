//! Send time of a paced packet, as a NIC keeps it.

use backwater_types::Instant;

/// Send time of a packet that a pacer holds: an [`Instant`] where congestion control may move it while the packet
/// waits, else `()`.
pub trait Due: Copy + Default + Send + 'static {
    /// Whether the send time may move.
    const MOVES: bool = false;
    /// Stores the send time.
    #[inline(always)]
    fn set(&mut self, _at: Instant) {}
    /// Returns the send time; [`Instant::ZERO`] if it is not kept.
    #[inline(always)]
    fn at(self) -> Instant {
        Instant::ZERO
    }
}

impl Due for () {}

impl Due for Instant {
    const MOVES: bool = true;

    #[inline(always)]
    fn set(&mut self, at: Instant) {
        *self = at;
    }

    #[inline(always)]
    fn at(self) -> Instant {
        self
    }
}
