//! Queues with the limits of a switch chip: delayed queue depths, a delayed map of empty queues, a FIFO behind the
//! scheduler, and queues that move between classes.
//!
//! Source: spec B.1; BFC section 5. The queues themselves are [`PausableQueues`]; [`HardwareParams`] sets the delays.
//! Packets that the scheduler has put into the FIFO of a port depart even if their queue is paused by then.

use crate::buffer::Ring;
use crate::buffer::cells::{Cell, Cells};
use crate::hardware::HardwareParams;
use crate::meta::{Choice, Meta};
use crate::queues::bits::Bits;
use crate::queues::by_number::PausableByNumber;
use crate::queues::numbered::Numbered;
use crate::queues::sampled::Sampled;
use crate::queues::{PausableQueues, Queues};
use crate::shape::Shape;
use alloc::vec;
use alloc::vec::Vec;
use backwater_types::{Duration, Extension, Frame, Instant, Packet, QueueId, QueueMap};

/// Queues of one port, up to 128.
#[derive(Clone, Debug)]
pub struct HardwareQueues {
    queues: PausableQueues<2>,
    groups: usize,
    /// Whether an empty queue moves to the class of the packet that joins it.
    shared: bool,
    /// `[queue]`: depth in bytes as the pipelines see it. Empty: depths are exact.
    depths: Vec<Sampled<u64>>,
    empty: Option<Sampled<Bits<2>>>,
    /// FIFO behind the scheduler of the port, and its bytes.
    tail: Ring<(QueueId, Cell)>,
    tail_bytes: u64,
    /// Fill level of the FIFO, bytes: the scheduler adds packets while the FIFO holds less. 0: no FIFO.
    tail_max: u64,
}

impl HardwareQueues {
    fn limited(mut self, shared: bool, limits: Option<&HardwareParams>) -> HardwareQueues {
        self.shared = shared;
        let Some(limits) = limits else { return self };
        if limits.depth_period > Duration::ZERO {
            let depth = Sampled::new(limits.depth_period, limits.depth_delay, 0);
            self.depths = vec![depth; self.queues.count()];
        }
        if limits.bitmap_period > Duration::ZERO {
            self.empty = Some(Sampled::new(limits.bitmap_period, Duration::ZERO, self.queues.empty()));
        }
        self.tail_max = limits.tail_fifo.0;
        self
    }

    /// Records, before a change at `now`, the depth `bytes` of `q` and the set of `empty` queues.
    fn change(&mut self, now: Instant, q: QueueId, bytes: u64, empty: Bits<2>) {
        if let Some(depth) = self.depths.get_mut(q as usize) {
            depth.change(now, bytes);
        }
        if let Some(sampled) = &mut self.empty {
            sampled.change(now, empty);
        }
    }

    /// Takes the packet that the scheduler picks.
    fn schedule(&mut self, now: Instant, cells: &Cells<impl Extension>) -> Option<(QueueId, Cell)> {
        let (q, cell) = self.queues.pop(cells)?;
        let mut empty = self.queues.empty();
        empty.remove(q as usize);
        self.change(now, q, self.queues.bytes(q) + u64::from(cells.peek(cell).wire), empty);
        Some((q, cell))
    }

    /// Fills the FIFO from the scheduler up to its limit.
    fn fill(&mut self, now: Instant, cells: &Cells<impl Extension>) {
        while self.tail_bytes < self.tail_max
            && let Some((q, cell)) = self.schedule(now, cells)
        {
            self.tail_bytes += u64::from(cells.peek(cell).wire);
            self.tail.push_back((q, cell));
        }
    }
}

impl Queues for HardwareQueues {
    fn new(count: usize, groups: usize, quantum: u32) -> HardwareQueues {
        HardwareQueues {
            queues: PausableQueues::new(count, groups, quantum),
            groups,
            shared: false,
            depths: Vec::new(),
            empty: None,
            tail: Ring::default(),
            tail_bytes: 0,
            tail_max: 0,
        }
    }

    fn bytes(&self, q: QueueId) -> u64 {
        self.queues.bytes(q)
    }

    fn seen_bytes(&self, now: Instant, q: QueueId) -> u64 {
        let bytes = self.queues.bytes(q);
        self.depths.get(q as usize).map_or(bytes, |depth| depth.seen(now, bytes))
    }

    fn all_bytes(&self) -> u64 {
        self.queues.all_bytes() + self.tail_bytes
    }

    fn push<E: Extension>(&mut self, cells: &mut Cells<E>, q: QueueId, frame: &Frame<E>, held: Meta, now: Instant) {
        let empty = self.queues.empty();
        self.change(now, q, self.queues.bytes(q), empty);
        if self.shared && empty.contains(q as usize) {
            self.queues.give(q.into(), (frame.class as usize).min(self.groups - 1));
        }
        self.queues.push(cells, q, frame, held, now);
        self.fill(now, cells);
    }

    fn pop(&mut self, cells: &Cells<impl Extension>) -> Option<(QueueId, Cell)> {
        self.pop_at(Instant::ZERO, cells)
    }

    fn pop_at(&mut self, now: Instant, cells: &Cells<impl Extension>) -> Option<(QueueId, Cell)> {
        if self.tail_max == 0 {
            return self.schedule(now, cells);
        }
        self.fill(now, cells);
        let (q, cell) = self.tail.pop_front()?;
        self.tail_bytes -= u64::from(cells.peek(cell).wire);
        self.fill(now, cells);
        Some((q, cell))
    }

    fn is_empty(&self) -> bool {
        self.tail.is_empty() && self.queues.is_empty()
    }

    fn is_paused(&self, choice: Choice) -> bool {
        self.queues.is_paused(choice)
    }

    fn sendable(&self) -> bool {
        !self.tail.is_empty() || self.queues.sendable()
    }

    fn active_with(&self, q: QueueId) -> u32 {
        self.queues.active_with(q)
    }

    fn active_in_group(&self, q: QueueId) -> u32 {
        self.queues.active_in_group(q)
    }

    fn occupied(&self) -> u32 {
        self.queues.occupied()
    }

    fn visit(&self, cells: &Cells<impl Extension>, see: &mut dyn FnMut(QueueId, &Packet, Meta)) {
        self.tail.iter().for_each(|(q, cell)| see(*q, cells.peek(*cell), cells.held(*cell)));
        self.queues.visit(cells, see);
    }
}

impl PausableByNumber for HardwareQueues {
    fn set_closed(&mut self, queue: QueueId, closed: bool) {
        self.queues.set_closed(queue, closed);
    }

    fn set_all_closed(&mut self, closed: QueueMap) {
        self.queues.set_all_closed(closed);
    }
}

impl Numbered<2> for HardwareQueues {
    fn of(shared: bool, limits: Option<&HardwareParams>, shape: &Shape) -> HardwareQueues {
        HardwareQueues::new(shape.queues.into(), shape.groups.into(), shape.quantum).limited(shared, limits)
    }

    fn empty(&self) -> Bits<2> {
        self.queues.empty()
    }

    fn seen_empty(&self, now: Instant) -> Bits<2> {
        let empty = self.queues.empty();
        self.empty.as_ref().map_or(empty, |sampled| sampled.seen(now, empty))
    }

    fn closed(&self) -> Bits<2> {
        self.queues.closed()
    }

    fn takes(&self, q: QueueId, class: usize) -> bool {
        !self.shared || self.queues.empty().contains(q.into()) || self.queues.of_group(class).contains(q.into())
    }

    fn of_class(&self, class: usize) -> Bits<2> {
        self.queues.of_group(class)
    }
}
