//! A fixed number of queues, of which a flow may be given one.

use crate::hardware::HardwareParams;
use crate::queues::bits::Bits;
use crate::queues::by_number::PausableByNumber;
use crate::queues::{PausableQueues, Queues};
use crate::shape::Shape;
use backwater_types::{Instant, QueueId};

/// Up to `64 * W` queues that can be paused by number.
pub trait Numbered<const W: usize>: Queues + PausableByNumber {
    /// Queues that hold no packet.
    fn empty(&self) -> Bits<W>;
    /// Queues that the neighbour paused.
    fn closed(&self) -> Bits<W>;
    /// Those of a port of a switch of this shape, shared by classes if they can be, and under these limits.
    fn of(_shared: bool, _limits: Option<&HardwareParams>, shape: &Shape) -> Self {
        Self::new(shape.queues as usize, shape.groups as usize, shape.quantum)
    }
    /// Queues that hold no packet, as those see them who give them out.
    #[inline(always)]
    fn seen_empty(&self, _now: Instant) -> Bits<W> {
        self.empty()
    }
    /// Whether a flow of `class` that had `q` and has no packets may have it again.
    #[inline(always)]
    fn takes(&self, _q: QueueId, _class: usize) -> bool {
        true
    }
    /// The queues that are of `class` now, where that changes.
    fn of_class(&self, _class: usize) -> Bits<W> {
        Bits::EMPTY
    }
    /// The queue whose first packet says most nearly that so much is left of its flow, where packets are served by that.
    fn nearest(&self, _left: u64) -> Option<QueueId> {
        None
    }
}

impl<const W: usize> Numbered<W> for PausableQueues<W> {
    #[inline(always)]
    fn empty(&self) -> Bits<W> {
        self.empty()
    }

    #[inline(always)]
    fn closed(&self) -> Bits<W> {
        self.closed()
    }
}
