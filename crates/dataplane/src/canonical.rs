//! For model checkers: the state of a switch as far as it decides what happens from now on.
//!
//! Two switches made alike, with equal encodings, each at its own `now`, answer whatever may come in the same way, now and
//! later. So times are told as ages, all those alike that are past every limit; records by the flows they are of, not by the
//! numbers they happen to have; and cells by their order in a queue. Left out is what only reports look at (enqueue times, counts
//! of assignments), what never changes, and where a cuckoo table keeps its entries: that decides nothing before a bucket is full,
//! for which a checker has to stay at four records or fewer.

use backwater_types::Instant;
use core::hash::Hasher;

/// State that can be told from other state.
pub trait Canonical {
    /// Feeds `state` with everything that decides what happens from `now` on.
    fn canonical(&self, now: Instant, state: &mut impl Hasher);

    /// What a packet held is said to belong to by [`Held::tag`](crate::Held::tag), where numbers of records have no
    /// meaning.
    fn owner(&self, tag: u32) -> u64 {
        tag as u64
    }
}
