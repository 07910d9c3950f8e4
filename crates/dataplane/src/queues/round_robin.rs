//! A queue for each traffic class, served round robin packet by packet. A neighbour may pause each queue.
//!
//! Source: the egress queue of the public HPCC simulator's switches. The next turn goes to the first class after the
//! last served class that holds packets and is not paused, whatever the packet sizes.

use crate::buffer::cells::{Cell, Cells, Fifo};
use crate::meta::{Choice, Meta};
use crate::queues::Queues;
use crate::queues::bits::Bits;
use crate::queues::by_number::PausableByNumber;
use backwater_types::{Extension, Frame, Instant, Packet, QueueId, QueueMap};

/// Traffic classes of IEEE 802.1Q.
pub(crate) const CLASSES: usize = 8;

/// Up to `CLASSES` FIFOs, served round robin.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    fifos: [Fifo; CLASSES],
    nonempty: Bits<1>,
    closed: Bits<1>,
    count: usize,
    /// The queue served last.
    last: usize,
}

impl RoundRobin {
    #[inline(always)]
    fn eligible(&self) -> Bits<1> {
        self.nonempty.minus(&self.closed)
    }
}

impl PausableByNumber for RoundRobin {
    fn set_closed(&mut self, queue: QueueId, closed: bool) {
        if (queue as usize) < self.count {
            if closed { self.closed.insert(queue as usize) } else { self.closed.remove(queue as usize) }
        }
    }

    fn set_all_closed(&mut self, closed: QueueMap) {
        let all = Bits::below(self.count);
        self.closed = all.minus(&all.minus(&Bits::from_map(closed)));
    }
}

impl Queues for RoundRobin {
    fn new(count: usize, _groups: usize, _quantum: u32) -> RoundRobin {
        assert!((1..=CLASSES).contains(&count), "{count} queues for {CLASSES} classes");
        RoundRobin { fifos: Default::default(), nonempty: Bits::EMPTY, closed: Bits::EMPTY, count, last: 0 }
    }

    #[inline(always)]
    fn bytes(&self, q: QueueId) -> u64 {
        self.fifos[q as usize].bytes
    }

    #[inline(always)]
    fn all_bytes(&self) -> u64 {
        self.fifos[..self.count].iter().map(|fifo| fifo.bytes).sum()
    }

    #[inline(always)]
    fn push<E: Extension>(&mut self, cells: &mut Cells<E>, q: QueueId, frame: &Frame<E>, held: Meta, now: Instant) {
        self.fifos[q as usize].push(cells, q, frame, held, now);
        self.nonempty.insert(q as usize);
    }

    #[inline(always)]
    fn pop(&mut self, cells: &Cells<impl Extension>) -> Option<(QueueId, Cell)> {
        let q = self.eligible().next_from(self.last + 1)?;
        let fifo = &mut self.fifos[q];
        let cell = fifo.pop(cells);
        if fifo.is_empty() {
            self.nonempty.remove(q);
        }
        self.last = q;
        Some((q as QueueId, cell))
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.nonempty.is_empty()
    }

    #[inline(always)]
    fn pass(&mut self, choice: Choice) -> bool {
        let q = choice.queue as usize;
        let may = !self.closed.contains(q);
        if may {
            self.last = q;
        }
        may
    }

    fn is_paused(&self, choice: Choice) -> bool {
        self.closed.contains(choice.queue as usize)
    }

    #[inline(always)]
    fn sendable(&self) -> bool {
        !self.eligible().is_empty()
    }

    fn active_with(&self, q: QueueId) -> u32 {
        let mut nonempty = self.nonempty;
        nonempty.insert(q as usize);
        nonempty.minus(&self.closed).count()
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

    fn push(queues: &mut RoundRobin, cells: &mut Cells<()>, q: QueueId, wire: u16) {
        let packet = Packet { wire, ..Packet::NONE };
        queues.push(cells, q, &packet.into(), Meta::default(), Instant::ZERO);
    }

    fn order(queues: &mut RoundRobin, cells: &mut Cells<()>) -> Vec<QueueId> {
        core::iter::from_fn(|| {
            let (q, cell) = queues.pop(cells)?;
            cells.free(cell);
            Some(q)
        })
        .collect()
    }

    #[test]
    fn classes_take_turns_packet_by_packet_whatever_their_sizes() {
        let (mut queues, mut cells) = (RoundRobin::new(8, 1, 1048), Cells::<()>::new(16, false));
        for (q, wire, count) in [(0, 60, 1), (3, 1048, 3), (5, 60, 3), (7, 500, 1)] {
            (0..count).for_each(|_| push(&mut queues, &mut cells, q, wire));
        }
        assert_eq!((queues.all_bytes(), queues.bytes(5), queues.occupied()), (60 + 3 * 1048 + 180 + 500, 180, 4));
        assert_eq!(
            order(&mut queues, &mut cells),
            [3, 5, 7, 0, 3, 5, 3, 5],
            "the first turn goes to the first queue after 0"
        );
        assert!(queues.is_empty() && !queues.sendable());
    }

    #[test]
    fn a_paused_class_loses_its_turn_and_holds_up_no_other() {
        let (mut queues, mut cells) = (RoundRobin::new(8, 1, 1048), Cells::<()>::new(16, false));
        [2, 4, 2, 4].iter().for_each(|q| push(&mut queues, &mut cells, *q, 1000));
        queues.set_closed(2, true);
        // Queue 9 does not exist: frames from the network are not trusted.
        queues.set_closed(9, true);
        assert_eq!((queues.active_with(2), queues.active_with(4)), (1, 1));
        assert_eq!(order(&mut queues, &mut cells), [4, 4]);
        assert!(!queues.is_empty() && !queues.sendable());
        queues.set_closed(2, false);
        push(&mut queues, &mut cells, 4, 1000);
        assert_eq!(order(&mut queues, &mut cells), [2, 4, 2], "queue 4 sent last");
    }

    #[test]
    fn a_packet_that_passes_takes_its_turn() {
        let (mut queues, mut cells) = (RoundRobin::new(8, 1, 1048), Cells::<()>::new(16, false));
        assert!(queues.pass(Choice { queue: 4, tag: 0, fresh: false }));
        [3, 5].iter().for_each(|q| push(&mut queues, &mut cells, *q, 1000));
        assert_eq!(order(&mut queues, &mut cells), [5, 3]);
        queues.set_all_closed(QueueMap::new([!0, !0]));
        assert!(!queues.pass(Choice { queue: 4, tag: 0, fresh: false }));
        queues.set_all_closed(QueueMap::default());
        assert!(queues.pass(Choice { queue: 4, tag: 0, fresh: false }));
    }
}
