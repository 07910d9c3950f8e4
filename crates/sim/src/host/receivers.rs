//! The receiving side of a host: one small record per flow, found by the flow's number among those to this host.
//!
//! Numbers are given in order of arrival, so the records of recent flows are a sliding window. A flow that outlives the window
//! moves to a short sorted list; a number that is in neither is a flow that has finished, and needs no record: its late
//! duplicates are answered as such. Memory follows live flows, and no hash is taken.

use std::collections::VecDeque;

/// Records that stay in the window at most.
const WINDOW: usize = 1024;

/// All flows to one host.
#[derive(Clone, Debug, Default)]
pub struct Receivers<R> {
    /// Number of the first record in `recent`.
    base: u32,
    recent: VecDeque<Option<R>>,
    /// Unfinished flows older than the window, by number.
    old: Vec<(u32, R)>,
}

impl<R: Default> Receivers<R> {
    /// The record of flow number `slot`; `None` if it has finished.
    #[inline]
    pub fn get(&mut self, slot: u32) -> Option<&mut R> {
        if slot < self.base {
            let at = self.old.binary_search_by_key(&slot, |(number, _)| *number).ok()?;
            return Some(&mut self.old[at].1);
        }
        let at = (slot - self.base) as usize;
        while self.recent.len() <= at {
            self.recent.push_back(Some(R::default()));
        }
        if self.recent.len() > WINDOW {
            return self.slide(slot);
        }
        self.recent[at].as_mut()
    }

    /// Makes room, then finds `slot`.
    fn slide(&mut self, slot: u32) -> Option<&mut R> {
        while self.recent.len() > WINDOW / 2 {
            if let Some(Some(record)) = self.recent.pop_front() {
                self.old.push((self.base, record));
            }
            self.base += 1;
        }
        self.get(slot)
    }

    /// Flow number `slot` has everything.
    #[inline]
    pub fn finish(&mut self, slot: u32) {
        if slot < self.base {
            if let Ok(at) = self.old.binary_search_by_key(&slot, |(number, _)| *number) {
                self.old.remove(at);
            }
            return;
        }
        self.recent[(slot - self.base) as usize] = None;
        while let Some(None) = self.recent.front() {
            self.recent.pop_front();
            self.base += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_flows_survive_the_window_and_finished_ones_leave_nothing() {
        let mut flows = Receivers::<u32>::default();
        *flows.get(0).unwrap() = 7;
        for slot in 1..10_000 {
            assert!(flows.get(slot).is_some());
            flows.finish(slot);
            assert!(flows.get(slot).is_none(), "{slot} has finished");
        }
        assert_eq!(*flows.get(0).unwrap(), 7);
        assert!(flows.recent.len() <= WINDOW && flows.old.len() <= 1);
        flows.finish(0);
        assert!(flows.get(0).is_none());
        assert!(flows.old.is_empty());
    }

    #[test]
    fn flows_may_start_out_of_order() {
        let mut flows = Receivers::<u32>::default();
        assert!(flows.get(5).is_some());
        flows.finish(5);
        assert!(flows.get(3).is_some() && flows.get(5).is_none());
    }
}
