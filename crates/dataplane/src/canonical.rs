//! State of a switch for model checkers, as far as it determines future behaviour.
//!
//! Two switches with the same configuration and equal encodings, each at its own `now`, respond to the same future
//! events alike. Times are therefore encoded as ages, and ages beyond every limit are equal. Records are encoded by the
//! names of their flows, not by their slots, and cells by their order in a queue. State read only by reports is left
//! out (enqueue times, counts of assignments), and so is constant state. The places of entries in a cuckoo table are
//! left out too: they matter only once a bucket is full, so a checker must use at most four records.

use backwater_types::Instant;
use core::hash::Hasher;

/// State that can be compared between switches.
pub trait Canonical {
    /// Feeds `state` with all state that determines behaviour from `now` on.
    fn canonical(&self, now: Instant, state: &mut impl Hasher);

    /// Stable name of a packet's [`Meta::tag`](crate::Meta::tag), where record slots have no meaning.
    fn owner(&self, tag: u32) -> u64 {
        tag as u64
    }
}
