//! What each operation of a repetition waited for, and until when.
//!
//! From these entries follows the critical path: the last operation of a rank, what made it ready, what made that
//! ready, and so on, across ranks where a message was waited for.

use crate::placed::Placed;
use backwater_types::Instant;

/// No operation.
pub const NO_OP: u32 = u32::MAX;

/// Times of one operation. Those that have not come are [`Instant::NEVER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When everything that it requires had come.
    pub ready: Instant,
    /// Operation of the rank that came last among these; [`NO_OP`] if it requires none.
    pub cause: u32,
    /// When it occupied its stream. A receive: when it was posted.
    pub began: Instant,
    /// A send: when its message was handed to the NIC. A receive: when its message had arrived.
    pub message: Instant,
    /// A receive: the rank and the send that its message came from; else [`NO_OP`].
    pub sender: (u32, u32),
    /// When it ended.
    pub ended: Instant,
}

impl Default for Entry {
    fn default() -> Entry {
        let never = Instant::NEVER;
        Entry { ready: never, cause: NO_OP, began: never, message: never, sender: (NO_OP, NO_OP), ended: never }
    }
}

/// Entries of one repetition, for the ranks of one thread.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The repetition.
    pub repetition: u32,
    /// `[place]`: entry of an operation.
    entries: Vec<Entry>,
}

impl Trace {
    /// Makes a trace of a repetition without entries.
    pub fn new(placed: &Placed, repetition: u32) -> Trace {
        Trace { repetition, entries: vec![Entry::default(); placed.job().places()] }
    }

    /// Returns the entry of an operation.
    pub fn entry(&self, placed: &Placed, rank: u32, op: u32) -> &Entry {
        &self.entries[placed.job().place(rank, op)]
    }

    pub(crate) fn entry_mut(&mut self, placed: &Placed, rank: u32, op: u32) -> &mut Entry {
        &mut self.entries[placed.job().place(rank, op)]
    }

    /// Adds the entries of other ranks.
    pub fn merge(&mut self, other: &Trace) {
        for (own, other) in self.entries.iter_mut().zip(&other.entries) {
            if other.ready != Instant::NEVER {
                *own = *other;
            }
        }
    }
}
