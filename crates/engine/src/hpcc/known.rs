//! Ranks that are known, of as many windows as anybody may ask for.

use super::stamps::{IN_A_WINDOW, Stamp};
use backwater_types::Instant;
use std::collections::VecDeque;

/// Not known yet.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// Ranks of what was scheduled in the last windows, in the whole network.
#[derive(Debug)]
pub(crate) struct Known {
    /// A ring, of a power of two.
    ranks: Vec<u32>,
    /// `[place of window and partition, modulo how many there are]`: where its numbers begin in the ring.
    begins: Vec<u32>,
    /// Of each window, the last one being that which ended last: when nobody asks any more, and where it begins.
    windows: VecDeque<(Instant, u32)>,
    /// Where the next begins; this and the others count on, round after round.
    end: u32,
}

impl Known {
    /// Before anything has happened.
    pub(crate) fn new() -> Known {
        Known { ranks: vec![0; 1], begins: vec![0; IN_A_WINDOW], windows: VecDeque::new(), end: 0 }
    }

    /// What is the rank at a place.
    #[inline(always)]
    pub(crate) fn set(&mut self, place: usize, rank: u32) {
        self.ranks[place] = rank;
    }

    /// The place of a rank, of a partition that begins there.
    #[inline(always)]
    pub(crate) fn place(&self, begins: u32, number: usize) -> usize {
        (begins as usize + number) & (self.ranks.len() - 1)
    }

    /// The rank of a stamp that has none yet; [`UNKNOWN`] while its window is being ranked and it was not.
    #[inline(always)]
    pub(crate) fn rank(&self, stamp: Stamp) -> u32 {
        let begins = self.begins[stamp.place() & (self.begins.len() - 1)];
        self.ranks[self.place(begins, stamp.number())]
    }

    /// Where the last window begins.
    #[inline(always)]
    pub(crate) fn last(&self) -> u32 {
        self.windows.back().map_or(self.end, |(_, begins)| *begins)
    }

    /// Forgets windows of which nobody asks from `begun` on, and makes room for number `window`, in which the partitions scheduled so
    /// much and of which nobody asks after `until`.
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
