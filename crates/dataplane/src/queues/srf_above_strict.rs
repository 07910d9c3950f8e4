//! Shortest-remaining-flow queues above strict-priority queues, as filled by
//! [`HomaDynamic`](crate::assign::HomaDynamic). The first queues are assigned to flows and served in order of the
//! remaining flow size in their first packet. The other queues are served in strict priority once all of the first are
//! empty or paused.

use crate::buffer::cells::{Cell, Cells};
use crate::meta::{Choice, Meta};
use crate::queues::Queues;
use crate::queues::bits::Bits;
use crate::queues::by_number::PausableByNumber;
use crate::queues::numbered::Numbered;
use crate::queues::srf_queues::SrfQueues;
use crate::queues::strict_queues::StrictQueues;
use backwater_types::{Extension, Frame, Instant, Packet, QueueId, QueueMap};

/// Queues of one port, up to 64.
#[derive(Clone, Debug)]
pub struct SrfAboveStrict {
    /// The first queues, assigned to flows.
    shared: SrfQueues<1>,
    /// The strict-priority queues, under the port's queue numbers: numbers below `split` stay unused.
    strict: StrictQueues,
    /// Number of queues in `shared`.
    split: QueueId,
}

impl SrfAboveStrict {
    /// Number of queues assigned to flows, of `count` in `groups`: every group but the first is one queue.
    pub fn shared(count: usize, groups: usize) -> usize {
        count + 1 - groups
    }
}

/// Numbers the shared queues, which are assigned to flows.
impl Numbered<1> for SrfAboveStrict {
    #[inline(always)]
    fn empty(&self) -> Bits<1> {
        self.shared.empty()
    }

    #[inline(always)]
    fn closed(&self) -> Bits<1> {
        self.shared.closed()
    }

    fn nearest(&self, left: u64) -> Option<QueueId> {
        self.shared.nearest(left)
    }
}

/// Pauses shared queues only: strict-priority queues cannot be paused one by one.
impl PausableByNumber for SrfAboveStrict {
    fn set_closed(&mut self, queue: QueueId, closed: bool) {
        self.shared.set_closed(queue, closed);
    }

    fn set_all_closed(&mut self, closed: QueueMap) {
        self.shared.set_all_closed(closed);
    }
}

impl Queues for SrfAboveStrict {
    /// Gives every group but the first one queue, and all other queues to the first group.
    fn new(count: usize, groups: usize, quantum: u32) -> SrfAboveStrict {
        let split = SrfAboveStrict::shared(count, groups);
        SrfAboveStrict {
            shared: SrfQueues::new(split, 1, quantum),
            strict: StrictQueues::new(count, groups, quantum),
            split: split as QueueId,
        }
    }

    #[inline(always)]
    fn bytes(&self, q: QueueId) -> u64 {
        if q < self.split { self.shared.bytes(q) } else { self.strict.bytes(q) }
    }

    fn all_bytes(&self) -> u64 {
        self.shared.all_bytes() + self.strict.all_bytes()
    }

    #[inline(always)]
    fn push<E: Extension>(&mut self, cells: &mut Cells<E>, q: QueueId, frame: &Frame<E>, held: Meta, now: Instant) {
        if q < self.split {
            self.shared.push(cells, q, frame, held, now);
        } else {
            self.strict.push(cells, q, frame, held, now);
        }
    }

    #[inline(always)]
    fn pop(&mut self, cells: &Cells<impl Extension>) -> Option<(QueueId, Cell)> {
        self.shared.pop(cells).or_else(|| self.strict.pop(cells))
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.shared.is_empty() && self.strict.is_empty()
    }

    #[inline(always)]
    fn pass(&mut self, choice: Choice) -> bool {
        if choice.queue < self.split { self.shared.pass(choice) } else { self.strict.pass(choice) }
    }

    fn is_paused(&self, choice: Choice) -> bool {
        choice.queue < self.split && self.shared.is_paused(choice)
    }

    #[inline(always)]
    fn sendable(&self) -> bool {
        self.shared.sendable() || self.strict.sendable()
    }

    fn active_with(&self, q: QueueId) -> u32 {
        if q < self.split {
            self.shared.active_with(q) + self.strict.occupied()
        } else {
            self.strict.active_with(q) + self.shared.active().count()
        }
    }

    fn occupied(&self) -> u32 {
        self.shared.occupied() + self.strict.occupied()
    }

    fn visit(&self, cells: &Cells<impl Extension>, see: &mut dyn FnMut(QueueId, &Packet, Meta)) {
        self.shared.visit(cells, see);
        self.strict.visit(cells, see);
    }
}
