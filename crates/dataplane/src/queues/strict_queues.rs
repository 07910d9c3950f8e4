//! Queues in strict priority, the first highest. No queue is paused on its own.

use crate::buffer::cells::{Cell, Cells, Fifo};
use crate::meta::{Choice, Meta};
use crate::queues::Queues;
use crate::queues::bits::Bits;
use alloc::boxed::Box;
use alloc::vec;
use backwater_types::{Extension, Frame, Instant, Packet, QueueId};

/// Up to 64 FIFOs. The first with data is served.
#[derive(Clone, Debug)]
pub struct StrictQueues {
    fifos: Box<[Fifo]>,
    nonempty: Bits<1>,
}

impl Queues for StrictQueues {
    fn new(count: usize, _groups: usize, _quantum: u32) -> StrictQueues {
        assert!(count <= 64, "{count} queues do not fit a word");
        StrictQueues { fifos: vec![Fifo::default(); count].into(), nonempty: Bits::EMPTY }
    }

    #[inline(always)]
    fn bytes(&self, q: QueueId) -> u64 {
        self.fifos[q as usize].bytes
    }

    fn all_bytes(&self) -> u64 {
        self.nonempty.iter().map(|q| self.fifos[q].bytes).sum()
    }

    #[inline(always)]
    fn push<E: Extension>(&mut self, cells: &mut Cells<E>, q: QueueId, frame: &Frame<E>, held: Meta, now: Instant) {
        self.fifos[q as usize].push(cells, q, frame, held, now);
        self.nonempty.insert(q as usize);
    }

    #[inline(always)]
    fn pop(&mut self, cells: &Cells<impl Extension>) -> Option<(QueueId, Cell)> {
        let q = self.nonempty.next_from(0)?;
        let fifo = &mut self.fifos[q];
        let cell = fifo.pop(cells);
        if fifo.is_empty() {
            self.nonempty.remove(q);
        }
        Some((q as QueueId, cell))
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.nonempty.is_empty()
    }

    #[inline(always)]
    fn pass(&mut self, _choice: Choice) -> bool {
        true
    }

    #[inline(always)]
    fn sendable(&self) -> bool {
        !self.nonempty.is_empty()
    }

    fn active_with(&self, q: QueueId) -> u32 {
        let mut nonempty = self.nonempty;
        nonempty.insert(q as usize);
        nonempty.count()
    }

    fn occupied(&self) -> u32 {
        self.nonempty.count()
    }

    fn visit(&self, cells: &Cells<impl Extension>, see: &mut dyn FnMut(QueueId, &Packet, Meta)) {
        for (q, fifo) in self.fifos.iter().enumerate() {
            fifo.iter(cells).for_each(|(packet, held)| see(q as QueueId, packet, held));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn the_first_queue_with_data_is_served_and_each_in_order() {
        let (mut queues, mut cells) = (StrictQueues::new(64, 1, 1048), Cells::<()>::new(8, false));
        let came = [(5, 0), (63, 1), (5, 2), (0, 3), (63, 4)];
        for (q, seq) in came {
            let packet = Packet { seq, wire: 100 + seq as u16, ..Packet::NONE };
            queues.push(&mut cells, q, &packet.into(), Meta::default(), Instant::ZERO);
        }
        assert_eq!((queues.all_bytes(), queues.bytes(63), queues.occupied()), (510, 205, 3));
        assert_eq!((queues.active_with(5), queues.active_with(6)), (3, 4));
        let mut order = Vec::new();
        while let Some((q, cell)) = queues.pop(&cells) {
            order.push((q, cells.frame(cell).seq));
            cells.free(cell);
        }
        assert_eq!(order, [(0, 3), (5, 0), (5, 2), (63, 1), (63, 4)]);
        assert!(queues.is_empty() && !queues.sendable());
    }
}
