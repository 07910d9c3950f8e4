//! A fixed number of queues, of which a flow may be given one.

use crate::queues::bits::Bits;
use crate::queues::by_number::PausableByNumber;
use crate::queues::{PausableQueues, Queues};
use backwater_types::QueueId;

/// Up to `64 * W` queues that can be paused by number.
pub trait Numbered<const W: usize>: Queues + PausableByNumber {
    /// Queues that hold no packet.
    fn empty(&self) -> Bits<W>;
    /// Queues that the neighbour paused.
    fn closed(&self) -> Bits<W>;
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
