//! Time as tables keep it: 32 bits of ticks.

use backwater_types::Instant;

/// A tick is 1.024 ns. The 32-bit count wraps after 4.4 s: an entry left alone for a multiple of that time within the time
/// asked about is taken for a recent one, which costs its flow an empty queue, or an early release, once.
#[inline(always)]
pub(crate) fn ticks(now: Instant) -> u32 {
    (now.0 >> 10) as u32
}

/// How long ago `then` was, where all times above `most` are alike.
pub(crate) fn age(now: Instant, then: u32, most: u32) -> u32 {
    ticks(now).wrapping_sub(then).min(most.saturating_add(1))
}
