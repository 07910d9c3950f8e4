//! Ideal flow control: a queue for every flow with a record, each of which a neighbour may pause.
//!
//! Like [`crate::queues::flow_queues`], except that the slot of the flow's record, stored with every packet, identifies
//! a queue, and that a queue may be paused with or without packets in it. A paused queue keeps its credit and leaves
//! the round when its turn comes.

use crate::buffer::cells::{Cell, Cells, Fifo, NIL};
use crate::flow_table::{NONE, Slot};
use crate::meta::{Choice, Meta};
use crate::queues::Queues;
use crate::queues::by_record::PausableByFlow;
use alloc::vec::Vec;
use backwater_types::hash::Stream;
use backwater_types::{Extension, Frame, Instant, Packet, QueueId};

#[derive(Clone, Debug)]
struct FlowQueue {
    fifo: Fifo,
    deficit: u32,
    /// Next queue in the round.
    next: Slot,
    in_round: bool,
    closed: bool,
}

/// Queues of one port, by record.
#[derive(Clone, Debug)]
pub struct RecordQueues {
    queues: Vec<FlowQueue>,
    /// Head and tail of the round. All unpaused queues with packets are in it, and some paused ones.
    first: Slot,
    last: Slot,
    quantum: u32,
    occupied: u32,
    /// Number of unpaused queues with packets.
    open: u32,
}

impl RecordQueues {
    fn queue(&mut self, slot: Slot) -> &mut FlowQueue {
        let empty = FlowQueue { fifo: Fifo::default(), deficit: 0, next: NIL, in_round: false, closed: false };
        if self.queues.len() <= slot as usize {
            self.queues.resize(slot as usize + 1, empty);
        }
        &mut self.queues[slot as usize]
    }

    fn join(&mut self, slot: Slot) {
        let queue = &mut self.queues[slot as usize];
        (queue.next, queue.in_round) = (NIL, true);
        if self.first == NIL {
            self.first = slot;
        } else {
            self.queues[self.last as usize].next = slot;
        }
        self.last = slot;
    }

    fn leave_front(&mut self) {
        let queue = &mut self.queues[self.first as usize];
        queue.in_round = false;
        self.first = queue.next;
    }
}

impl PausableByFlow for RecordQueues {
    /// Always 0: records, not numbers, identify queues here.
    fn assign(&self, _rng: &mut Stream) -> QueueId {
        0
    }

    fn is_closed(&self, slot: Slot) -> bool {
        self.queues.get(slot as usize).is_some_and(|queue| queue.closed)
    }

    fn set_closed(&mut self, slot: Slot, closed: bool) {
        let queue = self.queue(slot);
        let (changes, occupied) = (queue.closed != closed, !queue.fifo.is_empty());
        queue.closed = closed;
        let joins = occupied && !closed && !queue.in_round;
        if changes && occupied {
            if closed { self.open -= 1 } else { self.open += 1 }
        }
        if joins {
            self.join(slot);
        }
    }

    fn length(&self, _queue: QueueId, slot: Slot) -> u64 {
        self.queues.get(slot as usize).map_or(0, |queue| queue.fifo.bytes)
    }

    fn active_with_flow(&self, queue: QueueId, slot: Slot) -> u32 {
        self.open + (self.length(queue, slot) == 0 && !self.is_closed(slot)) as u32
    }
}

impl Queues for RecordQueues {
    fn new(_count: usize, _groups: usize, quantum: u32) -> RecordQueues {
        RecordQueues { queues: Vec::new(), first: NIL, last: NIL, quantum, occupied: 0, open: 0 }
    }

    /// Always 0: marking and dynamic thresholds do not combine with a queue per flow.
    fn bytes(&self, _q: QueueId) -> u64 {
        0
    }

    fn all_bytes(&self) -> u64 {
        self.queues.iter().map(|queue| queue.fifo.bytes).sum()
    }

    fn push<E: Extension>(&mut self, cells: &mut Cells<E>, q: QueueId, frame: &Frame<E>, held: Meta, now: Instant) {
        let slot = held.tag;
        let queue = self.queue(slot);
        let (fills, closed, in_round) = (queue.fifo.is_empty(), queue.closed, queue.in_round);
        queue.fifo.push(cells, q, frame, held, now);
        self.occupied += fills as u32;
        self.open += (fills && !closed) as u32;
        if !closed && !in_round {
            self.join(slot);
        }
    }

    fn pop(&mut self, cells: &Cells<impl Extension>) -> Option<(QueueId, Cell)> {
        if self.open == 0 {
            return None;
        }
        loop {
            let slot = self.first;
            let queue = &mut self.queues[slot as usize];
            if queue.closed {
                self.leave_front();
                continue;
            }
            let wire = queue.fifo.head_wire();
            if queue.deficit >= wire {
                queue.deficit -= wire;
                let cell = queue.fifo.pop(cells);
                if queue.fifo.is_empty() {
                    queue.deficit = 0;
                    self.leave_front();
                    (self.occupied, self.open) = (self.occupied - 1, self.open - 1);
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
        self.occupied == 0
    }

    fn pass(&mut self, choice: Choice) -> bool {
        choice.tag == NONE || !self.is_closed(choice.tag)
    }

    fn is_paused(&self, choice: Choice) -> bool {
        choice.tag != NONE && self.is_closed(choice.tag)
    }

    fn sendable(&self) -> bool {
        self.open > 0
    }

    fn active_with(&self, _q: QueueId) -> u32 {
        self.open
    }

    fn occupied(&self) -> u32 {
        self.occupied
    }

    fn visit(&self, cells: &Cells<impl Extension>, see: &mut dyn FnMut(QueueId, &Packet, Meta)) {
        for queue in &self.queues {
            queue.fifo.iter(cells).for_each(|(packet, held)| see(0, packet, held));
        }
    }
}
