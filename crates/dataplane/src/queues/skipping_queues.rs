//! A fixed number of queues in which flows are paused one by one. A queue serves its first packet that belongs to an
//! unpaused flow.
//!
//! Source: spec B.2, "Flow-ID ideal". The packets of a flow form a line, which is in one queue at a time; a queue is
//! the merge of its lines in order of arrival. Queues are served by deficit round robin, as in [`crate::queues`].

use crate::buffer::cells::{Cell, Cells, Fifo};
use crate::buffer::ring::Ring;
use crate::flow_table::{NONE, Slot};
use crate::meta::{Choice, Meta};
use crate::queues::Queues;
use crate::queues::bits::Bits;
use crate::queues::by_record::PausableByFlow;
use crate::queues::drr::{Drr, Served};
use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use backwater_types::hash::{self, Stream};
use backwater_types::{Extension, Frame, Instant, Packet, QueueId};
use core::cmp::Reverse;

/// Queues of one port.
#[derive(Clone, Debug)]
pub struct SkippingQueues {
    queues: Vec<Queue>,
    /// `[record]`: line of the flow.
    lines: Vec<Line>,
    drr: Drr,
    all: Bits<2>,
    /// Queues that hold packets.
    nonempty: Bits<2>,
    /// Queues with a packet that may depart.
    open: Bits<2>,
    /// Packets received so far: the arrival number of the next packet.
    came: u64,
    /// Start of the search for an empty queue.
    rotor: usize,
}

#[derive(Clone, Debug, Default)]
struct Queue {
    bytes: u64,
    /// Lines with packets, ordered by the arrival of their first packet. The top line belongs to an unpaused flow;
    /// others may be paused.
    heads: BinaryHeap<Reverse<(u64, Slot)>>,
    /// Wire bytes of the next packet to send.
    head_wire: u32,
    deficit: u32,
}

/// Packets of one flow.
#[derive(Clone, Debug, Default)]
struct Line {
    fifo: Fifo,
    /// Arrival number of each packet.
    came: Ring<u64>,
    queue: QueueId,
    closed: bool,
    /// Whether `heads` contains this line.
    listed: bool,
}

impl Served for Queue {
    #[inline(always)]
    fn deficit(&mut self) -> &mut u32 {
        &mut self.deficit
    }
}

impl SkippingQueues {
    fn line(&mut self, slot: Slot) -> &mut Line {
        if self.lines.len() <= slot as usize {
            self.lines.resize(slot as usize + 1, Line::default());
        }
        &mut self.lines[slot as usize]
    }

    /// Adds the line of an unpaused flow with packets to the heads of its queue.
    fn list(&mut self, slot: Slot) {
        let line = &mut self.lines[slot as usize];
        let (queue, came) = (line.queue, *line.came.front().expect("a line with packets"));
        line.listed = true;
        self.queues[queue as usize].heads.push(Reverse((came, slot)));
        self.settle(queue);
    }

    /// Finds the first packet of a queue that may depart. Lines of paused flows are removed from the heads until their
    /// resume.
    fn settle(&mut self, q: QueueId) {
        let queue = &mut self.queues[q as usize];
        while let Some(Reverse((_, slot))) = queue.heads.peek() {
            let line = &mut self.lines[*slot as usize];
            if !line.closed {
                queue.head_wire = line.fifo.head_wire();
                return self.open.insert(q as usize);
            }
            line.listed = false;
            queue.heads.pop();
        }
        self.open.remove(q as usize);
    }

    fn follow(&mut self, q: QueueId) {
        self.rotor = if q as usize + 1 == self.queues.len() { 0 } else { q as usize + 1 };
    }
}

impl PausableByFlow for SkippingQueues {
    /// Returns the first empty queue from the rotating start, else a random queue. Queues are never paused here, so all
    /// empty ones are equal.
    fn assign(&self, rng: &mut Stream) -> QueueId {
        match self.all.minus(&self.nonempty).next_from(self.rotor) {
            Some(q) => q as QueueId,
            None => hash::range32(rng.next_u32(), self.queues.len() as u32) as QueueId,
        }
    }

    fn is_closed(&self, slot: Slot) -> bool {
        self.lines.get(slot as usize).is_some_and(|line| line.closed)
    }

    fn set_closed(&mut self, slot: Slot, closed: bool) {
        let line = self.line(slot);
        line.closed = closed;
        if line.fifo.is_empty() {
            return;
        }
        let (queue, listed) = (line.queue, line.listed);
        if closed || listed { self.settle(queue) } else { self.list(slot) }
    }

    fn length(&self, queue: QueueId, _slot: Slot) -> u64 {
        self.queues[queue as usize].bytes
    }

    fn active_with_flow(&self, queue: QueueId, slot: Slot) -> u32 {
        if self.is_closed(slot) { self.open.count() } else { self.active_with(queue) }
    }
}

impl Queues for SkippingQueues {
    fn new(count: usize, _groups: usize, quantum: u32) -> SkippingQueues {
        SkippingQueues {
            queues: vec![Queue::default(); count],
            lines: Vec::new(),
            drr: Drr::new(quantum),
            all: Bits::below(count),
            nonempty: Bits::EMPTY,
            open: Bits::EMPTY,
            came: 0,
            rotor: 0,
        }
    }

    fn bytes(&self, q: QueueId) -> u64 {
        self.queues[q as usize].bytes
    }

    fn all_bytes(&self) -> u64 {
        self.queues.iter().map(|queue| queue.bytes).sum()
    }

    fn push<E: Extension>(&mut self, cells: &mut Cells<E>, q: QueueId, frame: &Frame<E>, held: Meta, now: Instant) {
        self.came += 1;
        let came = self.came;
        let line = self.line(held.tag);
        let fills = line.fifo.is_empty();
        line.queue = q;
        line.fifo.push(cells, q, frame, held, now);
        line.came.push_back(came);
        let lists = !line.closed && !line.listed;
        self.queues[q as usize].bytes += frame.wire as u64;
        self.nonempty.insert(q as usize);
        if fills {
            self.follow(q);
        }
        if lists {
            self.list(held.tag);
        }
    }

    fn pop(&mut self, cells: &Cells<impl Extension>) -> Option<(QueueId, Cell)> {
        let q = self.drr.pick(&self.open, &mut self.queues, |queue| queue.head_wire)?;
        let queue = &mut self.queues[q];
        let Reverse((_, slot)) = queue.heads.pop().expect("an open queue has a packet that may leave");
        let line = &mut self.lines[slot as usize];
        queue.bytes -= line.fifo.head_wire() as u64;
        let cell = line.fifo.pop(cells);
        line.came.drop_front();
        line.listed = false;
        if queue.bytes == 0 {
            self.nonempty.remove(q);
            self.drr.emptied(queue);
        }
        match line.fifo.is_empty() {
            true => self.settle(q as QueueId),
            false => self.list(slot),
        }
        Some((q as QueueId, cell))
    }

    fn is_empty(&self) -> bool {
        self.nonempty.is_empty()
    }

    fn pass(&mut self, choice: Choice) -> bool {
        let may = !self.is_paused(choice);
        if may {
            self.drr.passed(choice.queue as usize);
            self.follow(choice.queue);
        }
        may
    }

    fn is_paused(&self, choice: Choice) -> bool {
        choice.tag != NONE && self.is_closed(choice.tag)
    }

    fn sendable(&self) -> bool {
        !self.open.is_empty()
    }

    fn active_with(&self, q: QueueId) -> u32 {
        let mut open = self.open;
        open.insert(q as usize);
        open.count()
    }

    fn occupied(&self) -> u32 {
        self.nonempty.count()
    }

    fn visit(&self, cells: &Cells<impl Extension>, see: &mut dyn FnMut(QueueId, &Packet, Meta)) {
        for line in &self.lines {
            line.fifo.iter(cells).for_each(|(packet, held)| see(line.queue, packet, held));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::Kind;

    fn packet(flow: u32, seq: u32, wire: u16) -> Packet {
        let (kind, key) = (Kind::Data, flow);
        let (sender_slot, receiver_slot, dst, src, upstream_queue, class, flags) = (0, 0, 0, 0, 0, 0, 0);
        Packet { flow, seq, key, sender_slot, receiver_slot, dst, src, wire, upstream_queue, class, kind, flags }
    }

    /// Compares with lists searched from the front: the set of queues that may send, and the next packet of each queue.
    #[test]
    fn a_queue_is_the_list_of_its_packets_without_those_of_paused_flows() {
        const FLOWS: u32 = 6;
        for case in 0..200 {
            let (mut rng, mut cells) = (Stream::new(case, 1, 1), Cells::<()>::new(64, false));
            let mut queues = SkippingQueues::new(3, 1, 1048);
            let mut lists: Vec<Vec<(u32, u32)>> = vec![Vec::new(); 3];
            let (mut closed, mut place) = ([false; FLOWS as usize], [None::<QueueId>; FLOWS as usize]);
            for seq in 0..400 {
                let flow = hash::range32(rng.next_u32(), FLOWS);
                match rng.next_u32() % 4 {
                    0 | 1 => {
                        let q = *place[flow as usize].get_or_insert_with(|| queues.assign(&mut rng));
                        let wire = 49 + (rng.next_u32() % 1000) as u16;
                        let held = Meta { tag: flow, ..Meta::default() };
                        queues.push(&mut cells, q, &packet(flow, seq, wire).into(), held, Instant::ZERO);
                        lists[q as usize].push((flow, seq));
                    }
                    2 => {
                        closed[flow as usize] = rng.next_u32().is_multiple_of(2);
                        queues.set_closed(flow, closed[flow as usize]);
                    }
                    _ => {
                        let next = |list: &Vec<(u32, u32)>| list.iter().position(|(flow, _)| !closed[*flow as usize]);
                        match queues.pop(&cells) {
                            None => assert!(lists.iter().all(|list| next(list).is_none()), "case {case}, step {seq}"),
                            Some((q, cell)) => {
                                let list = &mut lists[q as usize];
                                let at = next(list).expect("a packet that may leave");
                                let sent = cells.frame(cell).packet;
                                assert_eq!((sent.flow, sent.seq), list.remove(at), "case {case}, step {seq}");
                                if !list.iter().any(|(flow, _)| *flow == sent.flow) {
                                    place[sent.flow as usize] = None;
                                }
                                cells.free(cell);
                            }
                        }
                    }
                }
                let may = |list: &Vec<(u32, u32)>| list.iter().any(|(flow, _)| !closed[*flow as usize]);
                let open = lists.iter().filter(|list| may(list)).count() as u32;
                assert_eq!((queues.sendable(), queues.open.count()), (open > 0, open), "case {case}, step {seq}");
                assert_eq!(queues.occupied(), lists.iter().filter(|list| !list.is_empty()).count() as u32);
            }
        }
    }
}
