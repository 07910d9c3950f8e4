//! Time in tables: 32 bits of ticks.

use backwater_types::Instant;

/// Time in ticks of 1.024 ns. The 32-bit count wraps after 4.4 s. An entry that was last used a multiple of that time
/// ago, give or take the limit it is compared with, is mistaken for a recent one. The mistake costs its flow an empty
/// queue, or an early release, once.
#[inline(always)]
pub(crate) fn ticks(now: Instant) -> u32 {
    (now.0 >> 10) as u32
}

/// Age of `then`, capped above `most`.
pub(crate) fn age(now: Instant, then: u32, most: u32) -> u32 {
    ticks(now).wrapping_sub(then).min(most.saturating_add(1))
}
