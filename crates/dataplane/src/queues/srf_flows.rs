//! Ideal shortest remaining flow first: a queue for every flow with data, served in order of remaining flow size (spec
//! D).
//!
//! A packet carries the bytes that its sender had left, itself included, so the first packet of a queue tells the bytes
//! that have yet to pass here. Packets of a flow stay in order. Ties go to the flow that has waited longest since it
//! arrived or was last served.

use crate::buffer::cells::{Cell, Cells};
use crate::meta::{Choice, Meta};
use crate::queues::Queues;
use crate::queues::flow_queues::ByFlow;
use alloc::collections::BinaryHeap;
use alloc::collections::binary_heap::PeekMut;
use backwater_types::{Extension, Frame, Instant, Packet, QueueId};
use core::cmp::Reverse;

/// Queues of one port.
#[derive(Clone, Debug)]
pub struct SrfFlows {
    flows: ByFlow<()>,
    /// Heap of (remaining bytes in the first packet, turn, slot), the least on top.
    order: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// Turns issued so far.
    turns: u64,
}

impl SrfFlows {
    #[inline(always)]
    fn turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }
}

impl Queues for SrfFlows {
    fn new(_count: usize, _groups: usize, _quantum: u32) -> SrfFlows {
        SrfFlows { flows: ByFlow::default(), order: BinaryHeap::with_capacity(64), turns: 0 }
    }

    /// Always 0, as in [`FlowQueues`](super::flow_queues::FlowQueues).
    fn bytes(&self, _q: QueueId) -> u64 {
        0
    }

    fn all_bytes(&self) -> u64 {
        self.order.iter().map(|Reverse((_, _, slot))| self.flows[*slot].fifo.bytes).sum()
    }

    fn push<E: Extension>(&mut self, cells: &mut Cells<E>, q: QueueId, frame: &Frame<E>, held: Meta, now: Instant) {
        let slot = match self.flows.slot_of(frame.flow) {
            Some(slot) => slot,
            None => {
                let (slot, turn) = (self.flows.open(frame.flow, ()), self.turn());
                self.order.push(Reverse((frame.left(), turn, slot)));
                slot
            }
        };
        self.flows[slot].fifo.push(cells, q, frame, held, now);
    }

    fn pop(&mut self, cells: &Cells<impl Extension>) -> Option<(QueueId, Cell)> {
        let turn = self.turn();
        let mut top = self.order.peek_mut()?;
        let Reverse((_, _, slot)) = *top;
        let fifo = &mut self.flows[slot].fifo;
        let cell = fifo.pop(cells);
        if fifo.is_empty() {
            PeekMut::pop(top);
            self.flows.close(slot);
        } else {
            *top = Reverse((cells.peek(fifo.first()).left(), turn, slot));
        }
        Some((0, cell))
    }

    fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    fn pass(&mut self, _choice: Choice) -> bool {
        true
    }

    fn sendable(&self) -> bool {
        !self.order.is_empty()
    }

    fn active_with(&self, _q: QueueId) -> u32 {
        self.occupied()
    }

    fn occupied(&self) -> u32 {
        self.order.len() as u32
    }

    fn visit(&self, cells: &Cells<impl Extension>, see: &mut dyn FnMut(QueueId, &Packet, Meta)) {
        for Reverse((_, _, slot)) in &self.order {
            self.flows[*slot].fifo.iter(cells).for_each(|(packet, held)| see(0, packet, held));
        }
    }
}
