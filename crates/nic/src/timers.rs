//! Timers of the flows of one host: one entry per flow, which may expire early, and one event for all of them.
//!
//! First entries arrive in order of time, since all flows have the same timeout, so a FIFO holds them. Only flows whose
//! timer is armed again go through a heap. An entry that expires early is put back at its right time.

use alloc::collections::{BinaryHeap, VecDeque};
use backwater_types::Instant;
use core::cmp::Reverse;

/// Expiry, slot of the flow, and its number, by which a reused slot is recognised.
pub type Entry = (Instant, u32, u32);

/// Entries by time.
#[derive(Clone, Debug, Default)]
pub struct Timers {
    first: VecDeque<Entry>,
    again: BinaryHeap<Reverse<Key>>,
}

/// An entry as one number, in the same order. A heap compares two of them without a call.
type Key = u128;

#[inline]
fn key((at, slot, flow): Entry) -> Key {
    u128::from(at.0) << 64 | u128::from(slot) << 32 | u128::from(flow)
}

#[inline]
fn time(key: Key) -> Instant {
    Instant((key >> 64) as u64)
}

#[inline]
fn entry(key: Key) -> Entry {
    (time(key), (key >> 32) as u32, key as u32)
}

impl Timers {
    /// Adds an entry no earlier than any that was added here before.
    #[inline]
    pub fn push_last(&mut self, entry: Entry) {
        debug_assert!(self.first.back().is_none_or(|(at, ..)| *at <= entry.0));
        self.first.push_back(entry);
    }

    /// Adds an entry of any time.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        self.again.push(Reverse(key(entry)));
    }

    /// Adds an entry of any time; most arrive in order.
    #[inline]
    pub fn push_sorted(&mut self, entry: Entry) {
        if self.first.back().is_none_or(|(at, ..)| *at <= entry.0) {
            self.first.push_back(entry);
        } else {
            self.again.push(Reverse(key(entry)));
        }
    }

    /// Returns the time of the earliest entry.
    #[inline]
    pub fn next(&self) -> Instant {
        let first = self.first.front().map_or(Instant::NEVER, |(at, ..)| *at);
        let again = self.again.peek().map_or(Instant::NEVER, |Reverse(key)| time(*key));
        first.min(again)
    }

    /// Takes the earliest entry, if it is due.
    #[inline]
    pub fn pop_due(&mut self, now: Instant) -> Option<Entry> {
        if self.next() > now {
            return None;
        }
        let again = self.again.peek().map_or(Instant::NEVER, |Reverse(key)| time(*key));
        match self.first.front() {
            Some((at, ..)) if *at <= again => self.first.pop_front(),
            _ => self.again.pop().map(|Reverse(key)| entry(key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_leave_in_the_order_of_time_slot_and_flow() {
        let last = u32::MAX;
        let mut entries: [Entry; 6] = [
            (Instant(u64::MAX - 1), 0, 0),
            (Instant(5), last, 0),
            (Instant(5), 3, last),
            (Instant(5), 3, 7),
            (Instant(0), last, last),
            (Instant(1 << 40), 1, 2),
        ];
        let mut timers = Timers::default();
        for entry in entries {
            timers.push(entry);
        }
        entries.sort_unstable();
        let left = core::iter::from_fn(|| timers.pop_due(Instant::NEVER));
        assert!(left.eq(entries));
        assert_eq!(timers.next(), Instant::NEVER);
    }
}
