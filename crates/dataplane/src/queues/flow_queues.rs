//! A queue of its own for every flow that holds data: ideal fair queueing (spec D).
//!
//! The number of queues is unbounded, so the round is a linked list instead of a bitset, and a queue exists only while it
//! holds data. Deficit round robin as in [`crate::queues::drr`], from the head of the list: a queue whose credit does not cover its
//! first packet gets a quantum and goes to the back.

use crate::buffer::cells::{Cell, Cells, Fifo, NIL};
use crate::held::{Choice, Held};
use crate::queues::Queues;
use alloc::vec::Vec;
use backwater_types::{Extension, Frame, Instant, Packet, QueueId, hash};
use hashbrown::HashTable;

#[derive(Clone, Debug)]
struct FlowQueue {
    flow: u32,
    fifo: Fifo,
    deficit: u32,
    /// Next in the round, or in the free list.
    next: u32,
}

/// The queues of one port.
#[derive(Clone, Debug)]
pub struct FlowQueues {
    queues: Vec<FlowQueue>,
    by_flow: HashTable<u32>,
    free: u32,
    /// The round: served from `first`, joined at `last`.
    first: u32,
    last: u32,
    quantum: u32,
}

impl FlowQueues {
    #[inline(always)]
    fn slot_of(&self, flow: u32) -> Option<u32> {
        self.by_flow.find(hash::mix64(flow as u64), |slot| self.queues[*slot as usize].flow == flow).copied()
    }

    fn open(&mut self, flow: u32) -> u32 {
        let fresh = FlowQueue { flow, fifo: Fifo::default(), deficit: 0, next: NIL };
        let slot = self.free;
        let slot = if slot == NIL {
            self.queues.push(fresh);
            (self.queues.len() - 1) as u32
        } else {
            self.free = self.queues[slot as usize].next;
            self.queues[slot as usize] = fresh;
            slot
        };
        let queues = &self.queues;
        self.by_flow
            .insert_unique(hash::mix64(flow as u64), slot, |slot| hash::mix64(queues[*slot as usize].flow as u64));
        self.join(slot);
        slot
    }

    fn close(&mut self, slot: u32) {
        let flow = self.queues[slot as usize].flow;
        if let Ok(entry) = self.by_flow.find_entry(hash::mix64(flow as u64), |at| *at == slot) {
            entry.remove();
        }
        self.queues[slot as usize].next = self.free;
        self.free = slot;
    }

    fn join(&mut self, slot: u32) {
        self.queues[slot as usize].next = NIL;
        if self.first == NIL {
            self.first = slot;
        } else {
            self.queues[self.last as usize].next = slot;
        }
        self.last = slot;
    }

    fn leave_front(&mut self) -> u32 {
        let slot = self.first;
        self.first = self.queues[slot as usize].next;
        slot
    }
}

impl Queues for FlowQueues {
    fn new(_count: usize, _groups: usize, quantum: u32) -> FlowQueues {
        FlowQueues {
            queues: Vec::with_capacity(64),
            by_flow: HashTable::with_capacity(64),
            free: NIL,
            first: NIL,
            last: NIL,
            quantum,
        }
    }

    /// Bytes of all flows are not needed per queue number here: marking and thresholds do not combine with per-flow queues.
    fn bytes(&self, _q: QueueId) -> u64 {
        0
    }

    fn all_bytes(&self) -> u64 {
        self.queues.iter().map(|queue| queue.fifo.bytes).sum()
    }

    fn push<E: Extension>(&mut self, cells: &mut Cells<E>, q: QueueId, frame: &Frame<E>, held: Held, now: Instant) {
        let slot = self.slot_of(frame.flow).unwrap_or_else(|| self.open(frame.flow));
        self.queues[slot as usize].fifo.push(cells, q, frame, held, now);
    }

    fn pop(&mut self, cells: &Cells<impl Extension>) -> Option<(QueueId, Cell)> {
        if self.first == NIL {
            return None;
        }
        loop {
            let slot = self.first;
            let queue = &mut self.queues[slot as usize];
            let wire = queue.fifo.head_wire();
            if queue.deficit >= wire {
                queue.deficit -= wire;
                let cell = queue.fifo.pop(cells);
                if queue.fifo.is_empty() {
                    self.leave_front();
                    self.close(slot);
                } else if queue.deficit < queue.fifo.head_wire() {
                    self.leave_front();
                    self.join(slot);
                }
                return Some((0, cell));
            }
            queue.deficit += self.quantum;
            if queue.deficit < wire {
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
        self.by_flow.len() as u32
    }

    fn visit(&self, cells: &Cells<impl Extension>, see: &mut dyn FnMut(QueueId, &Packet, Held)) {
        let mut at = self.first;
        while at != NIL {
            let queue = &self.queues[at as usize];
            queue.fifo.iter(cells).for_each(|(packet, held)| see(0, packet, held));
            at = queue.next;
        }
    }
}
