//! Ranks of recent windows, kept for as long as a frame in flight may need them.

use super::stamps::{IN_A_WINDOW, Stamp};
use backwater_types::Instant;
use std::collections::VecDeque;

/// Rank of an event that has none yet.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// Ranks, in the whole network, of the events that recent windows scheduled. A window has a stretch of the ring:
/// partition after partition, each by the numbers of its events.
#[derive(Debug)]
pub(crate) struct Known {
    /// Ring of ranks; its length is a power of two.
    ranks: Vec<u32>,
    /// `[place of window and partition, modulo the length]`: position in the ring of the partition's first event.
    begins: Vec<u32>,
    /// For each window, oldest first: the instant after which no rank of it is needed, and its position in the ring.
    windows: VecDeque<(Instant, u32)>,
    /// Position of the next window. Positions count on from round to round of the ring.
    end: u32,
}

impl Known {
    /// Creates an empty ring.
    pub(crate) fn new() -> Known {
        Known { ranks: vec![0; 1], begins: vec![0; IN_A_WINDOW], windows: VecDeque::new(), end: 0 }
    }

    /// Sets the rank at a place in the ring.
    #[inline(always)]
    pub(crate) fn set(&mut self, place: usize, rank: u32) {
        self.ranks[place] = rank;
    }

    /// Returns the place of event `number` of a partition whose first event is at position `begins`.
    #[inline(always)]
    pub(crate) fn place(&self, begins: u32, number: usize) -> usize {
        (begins as usize + number) & (self.ranks.len() - 1)
    }

    /// Returns the rank of a stamp that has none yet; [`UNKNOWN`] if its window is being ranked and has not reached it.
    #[inline(always)]
    pub(crate) fn rank(&self, stamp: Stamp) -> u32 {
        let begins = self.begins[stamp.place() & (self.begins.len() - 1)];
        self.ranks[self.place(begins, stamp.number())]
    }

    /// Returns the position of the last window.
    #[inline(always)]
    pub(crate) fn last(&self) -> u32 {
        self.windows.back().map_or(self.end, |(_, begins)| *begins)
    }

    /// Drops the windows whose ranks are not needed from `begun` on. Makes room for window number `window`, in which
    /// each partition scheduled as many events as `scheduled` says; no rank of it is needed after `until`.
    pub(crate) fn add(
        &mut self,
        window: usize,
        scheduled: impl Iterator<Item = usize> + Clone,
        begun: Instant,
        until: Instant,
    ) {
        while self.windows.front().is_some_and(|(until, _)| *until < begun) {
            self.windows.pop_front();
        }
        let first = self.windows.front().map_or(self.end, |(_, begins)| *begins);
        let (old, all) = (self.end.wrapping_sub(first), scheduled.clone().sum::<usize>());
        if old as usize + all > self.ranks.len() {
            let length = (old as usize + all).next_power_of_two();
            let mut ranks = vec![0; length];
            for number in 0..old as usize {
                ranks[(first as usize + number) & (length - 1)] = self.ranks[self.place(first, number)];
            }
            self.ranks = ranks;
        }
        while self.windows.len() + 1 > self.begins.len() / IN_A_WINDOW {
            let old = std::mem::take(&mut self.begins);
            self.begins = vec![0; 2 * old.len()];
            for place in (window - self.windows.len()) * IN_A_WINDOW..window * IN_A_WINDOW {
                self.begins[place & (2 * old.len() - 1)] = old[place & (old.len() - 1)];
            }
        }
        self.windows.push_back((until, self.end));
        let mask = self.begins.len() - 1;
        for (partition, scheduled) in scheduled.enumerate() {
            self.begins[(window * IN_A_WINDOW + partition) & mask] = self.end;
            for number in 0..scheduled {
                let place = self.place(self.end, number);
                self.ranks[place] = UNKNOWN;
            }
            self.end = self.end.wrapping_add(scheduled as u32);
        }
    }
}
