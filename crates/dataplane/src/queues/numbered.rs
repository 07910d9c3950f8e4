//! A fixed number of queues that are assigned to flows.

use crate::hardware::HardwareParams;
use crate::queues::bits::Bits;
use crate::queues::by_number::PausableByNumber;
use crate::queues::{PausableQueues, Queues};
use crate::shape::Shape;
use backwater_types::{Instant, QueueId};

/// Up to `64 * W` queues that a neighbour pauses by number.
pub trait Numbered<const W: usize>: Queues + PausableByNumber {
    /// Queues that hold no packet.
    fn empty(&self) -> Bits<W>;
    /// Queues that the neighbour paused.
    fn closed(&self) -> Bits<W>;
    /// Creates the queues of a port of a switch of this `shape`. `shared`: queues move between classes, where the
    /// implementor supports that. `limits`: hardware limits to model.
    fn of(_shared: bool, _limits: Option<&HardwareParams>, shape: &Shape) -> Self {
        Self::new(shape.queues as usize, shape.groups as usize, shape.quantum)
    }
    /// Queues that hold no packet, as the queue assignment sees them: delayed on some hardware.
    #[inline(always)]
    fn seen_empty(&self, _now: Instant) -> Bits<W> {
        self.empty()
    }
    /// Whether a flow of `class` that returns without packets held may keep queue `q`.
    #[inline(always)]
    fn takes(&self, _q: QueueId, _class: usize) -> bool {
        true
    }
    /// Queues that belong to `class` now, where queues move between classes.
    fn of_class(&self, _class: usize) -> Bits<W> {
        Bits::EMPTY
    }
    /// The queue whose first packet's remaining flow size is nearest to `left` bytes, where queues are served by
    /// remaining size.
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
