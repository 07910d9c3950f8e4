//! A fixed number of queues, each of which a neighbour may pause, served by shortest remaining flow: the unpaused queue
//! whose first packet has the least of its flow left.
//!
//! Source: BFC, appendix A.2; spec B, "BFC-SRF" and BFC-B5. Ties go to the first queue after the one served last. A
//! pick compares at most 128 remaining sizes, which are stored next to the queues.

use crate::buffer::cells::{Cell, Cells};
use crate::meta::{Choice, Meta};
use crate::queues::bits::Bits;
use crate::queues::by_number::PausableByNumber;
use crate::queues::numbered::Numbered;
use crate::queues::{PausableQueues, Queues};
use alloc::boxed::Box;
use alloc::vec;
use backwater_types::{Extension, Frame, Instant, Packet, QueueId, QueueMap};

/// Queues of one port.
#[derive(Clone, Debug)]
pub struct SrfQueues<const W: usize> {
    queues: PausableQueues<W>,
    /// `[queue]`: remaining flow size in the first packet, bytes.
    left: Box<[u64]>,
    /// The queue after the one served last.
    next: usize,
}

impl<const W: usize> SrfQueues<W> {
    fn served(&mut self, q: usize) {
        self.next = if q + 1 == self.left.len() { 0 } else { q + 1 };
    }

    /// Queues that hold data and are not paused.
    pub(crate) fn active(&self) -> Bits<W> {
        self.queues.active()
    }

    /// The queue in `of` with the least `badness`. Ties go to the first from `next` on.
    #[inline(always)]
    fn best(&self, of: Bits<W>, badness: impl Fn(u64) -> u64) -> Option<usize> {
        let first = of.next_from(self.next)?;
        let (mut q, mut best, mut least) = (first, first, badness(self.left[first]));
        loop {
            q = of.next_from(if q + 1 == self.left.len() { 0 } else { q + 1 })?;
            if q == first {
                return Some(best);
            }
            let bad = badness(self.left[q]);
            if bad < least {
                (best, least) = (q, bad);
            }
        }
    }
}

impl<const W: usize> Numbered<W> for SrfQueues<W> {
    #[inline(always)]
    fn empty(&self) -> Bits<W> {
        self.queues.empty()
    }

    #[inline(always)]
    fn closed(&self) -> Bits<W> {
        self.queues.closed()
    }

    fn nearest(&self, left: u64) -> Option<QueueId> {
        let full = Bits::below(self.left.len()).minus(&self.queues.empty());
        self.best(full, |other| other.abs_diff(left)).map(|q| q as QueueId)
    }
}

impl<const W: usize> PausableByNumber for SrfQueues<W> {
    fn set_closed(&mut self, queue: QueueId, closed: bool) {
        self.queues.set_closed(queue, closed);
    }

    fn set_all_closed(&mut self, closed: QueueMap) {
        self.queues.set_all_closed(closed);
    }
}

impl<const W: usize> Queues for SrfQueues<W> {
    fn new(count: usize, _groups: usize, quantum: u32) -> SrfQueues<W> {
        SrfQueues { queues: PausableQueues::new(count, 1, quantum), left: vec![0; count].into(), next: 0 }
    }

    #[inline(always)]
    fn bytes(&self, q: QueueId) -> u64 {
        self.queues.bytes(q)
    }

    fn all_bytes(&self) -> u64 {
        self.queues.all_bytes()
    }

    #[inline(always)]
    fn push<E: Extension>(&mut self, cells: &mut Cells<E>, q: QueueId, frame: &Frame<E>, held: Meta, now: Instant) {
        if self.queues.bytes(q) == 0 {
            self.left[q as usize] = frame.left();
        }
        self.queues.push(cells, q, frame, held, now);
    }

    #[inline(always)]
    fn pop(&mut self, cells: &Cells<impl Extension>) -> Option<(QueueId, Cell)> {
        let q = self.best(self.queues.active(), |left| left)?;
        let (cell, empties) = self.queues.take(q, cells);
        if !empties {
            self.left[q] = cells.peek(self.queues.first(q)).left();
        }
        self.served(q);
        Some((q as QueueId, cell))
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    #[inline(always)]
    fn pass(&mut self, choice: Choice) -> bool {
        let may = !self.is_paused(choice);
        if may {
            self.served(choice.queue as usize);
        }
        may
    }

    fn is_paused(&self, choice: Choice) -> bool {
        self.queues.is_paused(choice)
    }

    #[inline(always)]
    fn sendable(&self) -> bool {
        self.queues.sendable()
    }

    #[inline(always)]
    fn active_with(&self, q: QueueId) -> u32 {
        self.queues.active_with(q)
    }

    fn occupied(&self) -> u32 {
        self.queues.occupied()
    }

    fn visit(&self, cells: &Cells<impl Extension>, see: &mut dyn FnMut(QueueId, &Packet, Meta)) {
        self.queues.visit(cells, see);
    }
}
