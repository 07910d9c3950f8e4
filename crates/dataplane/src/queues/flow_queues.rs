//! Ideal fair queueing: a queue for every flow with data (spec D).
//!
//! The number of queues is unbounded, so the round is a linked list, not a bitset, and a queue exists only while it
//! holds data. The scheduler is deficit round robin as in [`crate::queues::drr`]. It serves the head of the list: a
//! queue whose credit does not cover its first packet receives a quantum and moves to the back.

use crate::buffer::cells::{Cell, Cells, Fifo, NIL};
use crate::meta::{Choice, Meta};
use crate::queues::Queues;
use alloc::vec::Vec;
use backwater_types::{Extension, Frame, Instant, Packet, QueueId, hash};
use core::ops::{Index, IndexMut};
use hashbrown::HashTable;

/// The queue of a flow, with its scheduler state.
#[derive(Clone, Debug)]
pub(super) struct FlowQueue<S> {
    flow: u32,
    /// Packets of the flow.
    pub(super) fifo: Fifo,
    /// Scheduler state of the queue.
    pub(super) of: S,
    /// Next free slot, while this slot is free.
    next_free: u32,
}

/// Queues of flows with data, in reusable slots.
#[derive(Clone, Debug)]
pub(super) struct ByFlow<S> {
    list: Vec<FlowQueue<S>>,
    by_flow: HashTable<u32>,
    free: u32,
}

impl<S> Default for ByFlow<S> {
    fn default() -> ByFlow<S> {
        ByFlow { list: Vec::with_capacity(64), by_flow: HashTable::with_capacity(64), free: NIL }
    }
}

impl<S> ByFlow<S> {
    #[inline(always)]
    pub(super) fn slot_of(&self, flow: u32) -> Option<u32> {
        self.by_flow.find(hash::mix64(flow as u64), |slot| self.list[*slot as usize].flow == flow).copied()
    }

    /// Opens an empty queue for a flow that has none.
    pub(super) fn open(&mut self, flow: u32, of: S) -> u32 {
        let fresh = FlowQueue { flow, fifo: Fifo::default(), of, next_free: NIL };
        let slot = self.free;
        let slot = if slot == NIL {
            self.list.push(fresh);
            (self.list.len() - 1) as u32
        } else {
            self.free = self.list[slot as usize].next_free;
            self.list[slot as usize] = fresh;
            slot
        };
        let list = &self.list;
        self.by_flow
            .insert_unique(hash::mix64(flow as u64), slot, |slot| hash::mix64(list[*slot as usize].flow as u64));
        slot
    }

    /// Frees `slot`, whose queue is empty.
    pub(super) fn close(&mut self, slot: u32) {
        let flow = self.list[slot as usize].flow;
        if let Ok(entry) = self.by_flow.find_entry(hash::mix64(flow as u64), |at| *at == slot) {
            entry.remove();
        }
        self.list[slot as usize].next_free = self.free;
        self.free = slot;
    }
}

impl<S> Index<u32> for ByFlow<S> {
    type Output = FlowQueue<S>;

    #[inline(always)]
    fn index(&self, slot: u32) -> &FlowQueue<S> {
        &self.list[slot as usize]
    }
}

impl<S> IndexMut<u32> for ByFlow<S> {
    #[inline(always)]
    fn index_mut(&mut self, slot: u32) -> &mut FlowQueue<S> {
        &mut self.list[slot as usize]
    }
}

/// Position of a queue in the round.
#[derive(Clone, Copy, Debug)]
struct Turn {
    deficit: u32,
    next: u32,
}

/// The queues of one port.
#[derive(Clone, Debug)]
pub struct FlowQueues {
    queues: ByFlow<Turn>,
    /// Head and tail of the round.
    first: u32,
    last: u32,
    quantum: u32,
}

impl FlowQueues {
    fn join(&mut self, slot: u32) {
        self.queues[slot].of.next = NIL;
        if self.first == NIL {
            self.first = slot;
        } else {
            self.queues[self.last].of.next = slot;
        }
        self.last = slot;
    }

    fn leave_front(&mut self) {
        self.first = self.queues[self.first].of.next;
    }
}

impl Queues for FlowQueues {
    fn new(_count: usize, _groups: usize, quantum: u32) -> FlowQueues {
        FlowQueues { queues: ByFlow::default(), first: NIL, last: NIL, quantum }
    }

    /// Always 0: marking and thresholds, which read the length of a numbered queue, do not combine with per-flow
    /// queues.
    fn bytes(&self, _q: QueueId) -> u64 {
        0
    }

    fn all_bytes(&self) -> u64 {
        self.queues.list.iter().map(|queue| queue.fifo.bytes).sum()
    }

    fn push<E: Extension>(&mut self, cells: &mut Cells<E>, q: QueueId, frame: &Frame<E>, held: Meta, now: Instant) {
        let slot = self.queues.slot_of(frame.flow).unwrap_or_else(|| {
            let slot = self.queues.open(frame.flow, Turn { deficit: 0, next: NIL });
            self.join(slot);
            slot
        });
        self.queues[slot].fifo.push(cells, q, frame, held, now);
    }

    fn pop(&mut self, cells: &Cells<impl Extension>) -> Option<(QueueId, Cell)> {
        if self.first == NIL {
            return None;
        }
        loop {
            let slot = self.first;
            let queue = &mut self.queues[slot];
            let wire = queue.fifo.head_wire();
            if queue.of.deficit >= wire {
                queue.of.deficit -= wire;
                let cell = queue.fifo.pop(cells);
                if queue.fifo.is_empty() {
                    self.leave_front();
                    self.queues.close(slot);
                } else if queue.of.deficit < queue.fifo.head_wire() {
                    self.leave_front();
                    self.join(slot);
                }
                return Some((0, cell));
            }
            queue.of.deficit += self.quantum;
            if queue.of.deficit < wire {
                self.leave_front();
                self.join(slot);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.first == NIL
    }

    fn pass(&mut self, _choice: Choice) -> bool {
        true
    }

    fn sendable(&self) -> bool {
        self.first != NIL
    }

    fn active_with(&self, _q: QueueId) -> u32 {
        self.occupied()
    }

    fn occupied(&self) -> u32 {
        self.queues.by_flow.len() as u32
    }

    fn visit(&self, cells: &Cells<impl Extension>, see: &mut dyn FnMut(QueueId, &Packet, Meta)) {
        let mut at = self.first;
        while at != NIL {
            let queue = &self.queues[at];
            queue.fifo.iter(cells).for_each(|(packet, held)| see(0, packet, held));
            at = queue.of.next;
        }
    }
}
