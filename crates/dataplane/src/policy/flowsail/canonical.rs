//! FlowSail's state for model checkers.

use super::FlowSail;
use crate::canonical::Canonical;
use crate::flow_table::{NONE, Slot};
use backwater_types::Instant;
use core::hash::{Hash, Hasher};

impl<const W: usize> Canonical for FlowSail<W> {
    fn canonical(&self, now: Instant, state: &mut impl Hasher) {
        self.table.canonical(now, self.release.after, self.release.from_touch, self.lapse, state);
        for queue in &self.queues {
            (queue.flows, queue.holds, queue.untracked, queue.weight, self.owner(queue.waiting)).hash(state);
        }
        self.ports.iter().for_each(|port| (port.untracked, port.rotor).hash(state));
        self.paused.canonical(now, state);
        (self.next != Instant::NEVER).then(|| self.next.since(now)).hash(state);
        self.sketch.hash(state);
    }

    /// The flow and port of a record; a constant for a packet without a record.
    fn owner(&self, slot: Slot) -> u64 {
        if slot == NONE {
            return u64::MAX;
        }
        let record = &self.table[slot];
        (record.port() as u64) << 32 | record.name().flow as u64
    }
}
