//! Receiving side of a host: one small record for each flow, found by the flow's number among those to this host.
//!
//! Numbers are given in order of arrival, so the records of recent flows form a sliding window. A flow that outlives
//! the window moves to a map: a few flows in most networks, thousands where packets are lost. A number in neither is a
//! finished flow, which needs no record: its late duplicates are answered as such. Memory is proportional to live
//! flows, and nothing is hashed.
//!
//! A closed-loop workload numbers its flows to a host beforehand, nearly in the order in which they start. Each such
//! workload therefore has its own window here.

use backwater_fabric::flow::own_slot;
use std::collections::{BTreeMap, VecDeque};

/// Most records in a window.
const WINDOW: usize = 1024;

/// Records of all flows to one host.
#[derive(Clone, Debug, Default)]
pub struct Receivers<R> {
    others: Window<R>,
    /// `[workload]`: closed-loop flows.
    closed_loop: Vec<Window<R>>,
}

impl<R: Default> Receivers<R> {
    /// Returns the record of flow number `slot`; `None` if the flow has finished.
    #[inline(always)]
    pub fn get(&mut self, slot: u32) -> Option<&mut R> {
        match own_slot(slot) {
            None => self.others.get(slot),
            Some((class, slot)) => self.closed_loop(class).get(slot),
        }
    }

    /// Removes the record of flow number `slot`, which has received everything.
    #[inline]
    pub fn finish(&mut self, slot: u32) {
        match own_slot(slot) {
            None => self.others.finish(slot),
            Some((class, slot)) => self.closed_loop(class).finish(slot),
        }
    }

    fn closed_loop(&mut self, class: u8) -> &mut Window<R> {
        let class = class as usize;
        if self.closed_loop.len() <= class {
            self.closed_loop.resize_with(class + 1, Window::default);
        }
        &mut self.closed_loop[class]
    }
}

/// Records of flows to one host whose numbers rise as they start.
#[derive(Clone, Debug, Default)]
struct Window<R> {
    /// Number of the first record in `recent`.
    base: u32,
    recent: VecDeque<Option<R>>,
    /// Unfinished flows older than the window, by number.
    old: BTreeMap<u32, R>,
}

impl<R: Default> Window<R> {
    /// Returns the record of flow number `slot`; `None` if the flow has finished.
    #[inline(always)]
    fn get(&mut self, slot: u32) -> Option<&mut R> {
        let at = slot.wrapping_sub(self.base) as usize;
        if at >= self.recent.len() {
            return self.find(slot);
        }
        self.recent[at].as_mut()
    }

    /// Returns the record of a flow that is older than the window, or that starts.
    #[cold]
    fn find(&mut self, slot: u32) -> Option<&mut R> {
        if slot < self.base {
            return self.old.get_mut(&slot);
        }
        let records = (slot - self.base) as usize + 1;
        self.recent.resize_with(self.recent.len().max(records), || Some(R::default()));
        if self.recent.len() > WINDOW {
            self.slide();
        }
        self.get(slot)
    }

    /// Moves the window on to half its length; unfinished flows move to `old`.
    fn slide(&mut self) {
        while self.recent.len() > WINDOW / 2 {
            if let Some(Some(record)) = self.recent.pop_front() {
                self.old.insert(self.base, record);
            }
            self.base += 1;
        }
    }

    /// Removes the record of flow number `slot`, which has received everything.
    #[inline]
    fn finish(&mut self, slot: u32) {
        if slot < self.base {
            self.old.remove(&slot);
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
    use backwater_fabric::flow::Own;

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
        assert!(flows.others.recent.len() <= WINDOW && flows.others.old.len() <= 1);
        flows.finish(0);
        assert!(flows.get(0).is_none());
        assert!(flows.others.old.is_empty());
    }

    #[test]
    fn flows_may_start_out_of_order() {
        let mut flows = Receivers::<u32>::default();
        assert!(flows.get(5).is_some());
        flows.finish(5);
        assert!(flows.get(3).is_some() && flows.get(5).is_none());
    }
    #[test]
    fn flows_of_each_closed_loop_workload_have_a_window_of_their_own() {
        let mut flows = Receivers::<u32>::default();
        let own = |class, slot| Own { number: 0, slot }.receiver_slot(class);
        for slot in 0..5000 {
            for receiver_slot in [slot, own(0, slot), own(249, slot)] {
                *flows.get(receiver_slot).unwrap() = receiver_slot;
            }
            let kept = [slot, own(0, slot), own(249, slot)].map(|slot| flows.get(slot).copied());
            assert_eq!(kept, [slot, own(0, slot), own(249, slot)].map(Some));
            flows.finish(own(249, slot));
            assert_eq!(flows.get(own(249, slot)), None);
        }
        assert!(flows.closed_loop[249].recent.is_empty() && flows.closed_loop[1].recent.is_empty());
        assert_eq!(flows.get(own(0, 17)).copied(), Some(own(0, 17)));
    }
}
