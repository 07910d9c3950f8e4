//! What each operation of some repetitions waited for, and until when. The critical path follows from these entries.

use crate::placed::Placed;
use backwater_types::Instant;
use std::ops::Range;

/// No operation.
pub const NO_OP: u32 = u32::MAX;

/// Times of one operation. Those that have not come are [`Instant::NEVER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When everything that it requires had come. A receive is posted then.
    pub ready: Instant,
    /// Operation of the rank that came last among these; [`NO_OP`] if it requires none.
    pub cause: u32,
    /// When it occupied its stream. A receive occupies its stream after its message has come.
    pub began: Instant,
    /// What it waited for before it occupied its stream.
    pub after: After,
    /// A send: when its message was handed to the NIC. A receive: when it took its message.
    pub message: Instant,
    /// Of a message whose sender asks first. A receive: when it had matched the request. A send: when it heard of that.
    pub matched: Instant,
    /// A receive: the rank and the send that its message came from; else [`NO_OP`].
    pub sender: (u32, u32),
    /// When it ended.
    pub ended: Instant,
}

impl Entry {
    /// When it asked for its stream: a receive when it took its message, and all others when they were ready.
    pub(crate) fn asked(&self) -> Instant {
        if self.sender.0 == NO_OP { self.ready } else { self.message }
    }
}

/// What an operation waited for before it occupied its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Nothing: the stream and the NIC were free.
    Nothing,
    /// The stream was occupied by this operation.
    Stream(u32),
    /// The NIC was occupied by the gap of this operation.
    Nic(u32),
}

impl Default for Entry {
    fn default() -> Entry {
        let never = Instant::NEVER;
        Entry {
            ready: never,
            cause: NO_OP,
            began: never,
            after: After::Nothing,
            message: never,
            matched: never,
            sender: (NO_OP, NO_OP),
            ended: never,
        }
    }
}

/// Entries of some repetitions.
#[derive(Clone, Debug)]
pub struct Trace {
    repetitions: Range<u32>,
    /// `[repetition from the first][place]`: entry of an operation.
    entries: Vec<Entry>,
}

impl Trace {
    /// Makes a trace of repetitions without entries.
    pub fn new(placed: &Placed, repetitions: Range<u32>) -> Trace {
        let entries = vec![Entry::default(); placed.job().places() * repetitions.len()];
        Trace { repetitions, entries }
    }

    /// Returns the repetitions that it holds.
    pub fn repetitions(&self) -> Range<u32> {
        self.repetitions.clone()
    }

    /// Returns the entry of an operation in a repetition that it holds.
    pub fn entry(&self, placed: &Placed, repetition: u32, rank: u32, op: u32) -> &Entry {
        &self.entries[self.place(placed, repetition, rank, op)]
    }

    pub(crate) fn entry_mut(&mut self, placed: &Placed, repetition: u32, rank: u32, op: u32) -> &mut Entry {
        let place = self.place(placed, repetition, rank, op);
        &mut self.entries[place]
    }

    fn place(&self, placed: &Placed, repetition: u32, rank: u32, op: u32) -> usize {
        (repetition - self.repetitions.start) as usize * placed.job().places() + placed.job().place(rank, op)
    }
}
