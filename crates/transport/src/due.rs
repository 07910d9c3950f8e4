//! When a packet that waits for its pace is to come.

use backwater_types::Instant;

/// What a NIC keeps of a packet that waits for its pace: when that is to come, where it may be moved.
pub trait Due: Copy + Default + Send + 'static {
    /// It may be.
    const MOVES: bool = false;
    /// It is to come at `at`.
    #[inline(always)]
    fn set(&mut self, _at: Instant) {}
    /// When it is to come, if that is kept.
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
