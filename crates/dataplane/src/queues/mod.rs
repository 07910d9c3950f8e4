//! Data queues of an egress port, and the order in which they are served.

pub mod bits;
pub mod by_number;
pub mod by_record;
pub mod drr;
pub mod flow_queues;
pub mod groups;
pub mod hardware_queues;
pub mod numbered;
pub mod record_queues;
pub mod round_robin;
mod sampled;
pub mod skipping_queues;
pub mod srf_above_strict;
pub mod srf_flows;
pub mod srf_queues;
pub mod strict_queues;

use crate::buffer::cells::{Cell, Cells, Fifo, MARK};
use crate::meta::{Choice, Meta};
use crate::queues::bits::Bits;
use crate::queues::by_number::PausableByNumber;
use crate::queues::drr::Served;
use crate::queues::groups::Groups;
use alloc::boxed::Box;
use alloc::vec;
use backwater_types::{Extension, Frame, Instant, Packet, QueueId, QueueMap};
use core::hash::{Hash, Hasher};

/// Data queues of one port.
pub trait Queues: Clone + Send + 'static {
    /// Creates `count` queues (where the number is fixed) in `groups` groups of strict priority, the highest first.
    /// Each queue receives `quantum` bytes of credit a round. Groups are of equal size unless the implementor says
    /// otherwise.
    fn new(count: usize, groups: usize, quantum: u32) -> Self;
    /// Wire bytes in `q`.
    fn bytes(&self, q: QueueId) -> u64;
    /// Wire bytes in all queues.
    fn all_bytes(&self) -> u64;
    /// Appends a packet to `q`.
    fn push<E: Extension>(&mut self, cells: &mut Cells<E>, q: QueueId, frame: &Frame<E>, held: Meta, now: Instant);
    /// Takes the next packet to send, if a queue may send. The packet stays in its cell until the cell is freed.
    fn pop(&mut self, cells: &Cells<impl Extension>) -> Option<(QueueId, Cell)>;
    /// Like [`Queues::pop`], with the time of the call.
    #[inline(always)]
    fn pop_at(&mut self, _now: Instant, cells: &Cells<impl Extension>) -> Option<(QueueId, Cell)> {
        self.pop(cells)
    }
    /// Wire bytes in `q` as backpressure sees them: delayed on some hardware.
    #[inline(always)]
    fn seen_bytes(&self, _now: Instant, q: QueueId) -> u64 {
        self.bytes(q)
    }
    /// Whether no queue holds data.
    fn is_empty(&self) -> bool {
        self.occupied() == 0
    }
    /// Whether a packet may bypass its empty, unpaused queue while all queues of the port are empty. On success the
    /// scheduler state is as after a push and a pop of that packet.
    fn pass(&mut self, _choice: Choice) -> bool {
        false
    }
    /// Whether the chosen queue is paused.
    fn is_paused(&self, _choice: Choice) -> bool {
        false
    }
    /// Whether an unpaused queue holds data.
    fn sendable(&self) -> bool;
    /// Unpaused queues with data (`Nactive` in the paper), after a packet has joined `q`.
    fn active_with(&self, q: QueueId) -> u32;
    /// Unpaused queues with data in the group of `q`, after a packet has joined `q`.
    #[inline(always)]
    fn active_in_group(&self, q: QueueId) -> u32 {
        self.active_with(q)
    }
    /// Number of queues with data.
    fn occupied(&self) -> u32;
    /// Visits every queued packet with its queue and metadata. For checks, not for the data path.
    fn visit(&self, cells: &Cells<impl Extension>, see: &mut dyn FnMut(QueueId, &Packet, Meta));
}

/// A single FIFO.
#[derive(Clone, Debug, Default)]
pub struct OneQueue {
    fifo: Fifo,
}

impl Queues for OneQueue {
    fn new(_count: usize, _groups: usize, _quantum: u32) -> OneQueue {
        OneQueue::default()
    }

    #[inline(always)]
    fn bytes(&self, _q: QueueId) -> u64 {
        self.fifo.bytes
    }

    #[inline(always)]
    fn all_bytes(&self) -> u64 {
        self.fifo.bytes
    }

    #[inline(always)]
    fn push<E: Extension>(&mut self, cells: &mut Cells<E>, q: QueueId, frame: &Frame<E>, held: Meta, now: Instant) {
        self.fifo.push(cells, q, frame, held, now);
    }

    #[inline(always)]
    fn pop(&mut self, cells: &Cells<impl Extension>) -> Option<(QueueId, Cell)> {
        (!self.fifo.is_empty()).then(|| (0, self.fifo.pop(cells)))
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.fifo.is_empty()
    }

    #[inline(always)]
    fn pass(&mut self, _choice: Choice) -> bool {
        true
    }

    #[inline(always)]
    fn sendable(&self) -> bool {
        !self.fifo.is_empty()
    }

    fn active_with(&self, _q: QueueId) -> u32 {
        1
    }

    fn occupied(&self) -> u32 {
        !self.fifo.is_empty() as u32
    }

    fn visit(&self, cells: &Cells<impl Extension>, see: &mut dyn FnMut(QueueId, &Packet, Meta)) {
        self.fifo.iter(cells).for_each(|(packet, held)| see(0, packet, held));
    }
}

/// A fixed number of queues that a neighbour pauses one by one: strict priority between groups, deficit round robin
/// within each.
#[derive(Clone, Debug)]
pub struct PausableQueues<const W: usize> {
    queues: Box<[Queue]>,
    groups: Groups<W>,
    nonempty: Bits<W>,
    closed: Bits<W>,
    all: Bits<W>,
}

#[derive(Clone, Debug, Default)]
struct Queue {
    fifo: Fifo,
    deficit: u32,
}

impl Served for Queue {
    #[inline(always)]
    fn deficit(&mut self) -> &mut u32 {
        &mut self.deficit
    }
}

impl<const W: usize> PausableQueues<W> {
    /// Number of queues.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.queues.len()
    }

    /// Queues that hold no packet.
    #[inline(always)]
    pub fn empty(&self) -> Bits<W> {
        self.all.minus(&self.nonempty)
    }

    /// Queues that the neighbour paused.
    #[inline(always)]
    pub fn closed(&self) -> Bits<W> {
        self.closed
    }

    /// Pauses or resumes one queue. A number that this port does not have is ignored: frames from the network are not
    /// trusted.
    #[inline(always)]
    pub fn set_closed(&mut self, q: QueueId, closed: bool) {
        if (q as usize) < self.queues.len() {
            if closed { self.closed.insert(q as usize) } else { self.closed.remove(q as usize) }
        }
    }

    /// Queues that hold data and are not paused.
    #[inline(always)]
    pub fn active(&self) -> Bits<W> {
        self.nonempty.minus(&self.closed)
    }

    /// Moves `q`, which is empty, to group `group`.
    pub(crate) fn give(&mut self, q: usize, group: usize) {
        self.groups.give(q, group);
    }

    /// Queues that belong to group `group` now.
    pub(crate) fn of_group(&self, group: usize) -> Bits<W> {
        self.groups.of(group, self.all)
    }

    /// First cell of `q`, which holds data.
    #[inline(always)]
    pub(crate) fn first(&self, q: usize) -> Cell {
        self.queues[q].fifo.first()
    }

    /// Takes the first packet of `q`, which holds data, for another scheduler. Returns its cell and whether `q` is now
    /// empty.
    #[inline(always)]
    pub(crate) fn take(&mut self, q: usize, cells: &Cells<impl Extension>) -> (Cell, bool) {
        let fifo = &mut self.queues[q].fifo;
        let (cell, empties) = (fifo.pop(cells), fifo.is_empty());
        if empties {
            self.nonempty.remove(q);
        }
        (cell, empties)
    }

    /// Tag of the first item of `q`, packet or mark.
    #[inline(always)]
    pub fn first_tag(&self, cells: &Cells<impl Extension>, q: QueueId) -> Option<u32> {
        self.nonempty.contains(q as usize).then(|| cells.held(self.queues[q as usize].fifo.first()).tag)
    }

    /// Whether `q` holds exactly one item, packet or mark.
    #[inline(always)]
    pub fn is_single(&self, q: QueueId) -> bool {
        self.queues[q as usize].fifo.is_single()
    }

    /// Appends a mark with `tag` to `q`. A mark has no bytes and is never sent.
    pub fn push_mark(&mut self, cells: &mut Cells<impl Extension>, q: QueueId, tag: u32) {
        self.queues[q as usize].fifo.push(cells, q, &MARK.into(), Meta { tag, ..Meta::default() }, Instant::ZERO);
        self.nonempty.insert(q as usize);
    }

    /// Takes the first item of `q` if it is a mark. Returns its tag.
    #[inline(always)]
    pub fn take_mark(&mut self, cells: &mut Cells<impl Extension>, q: QueueId) -> Option<u32> {
        if !self.nonempty.contains(q as usize) || self.queues[q as usize].fifo.head_wire() > 0 {
            return None;
        }
        let queue = &mut self.queues[q as usize];
        let cell = queue.fifo.pop(cells);
        let tag = cells.held(cell).tag;
        cells.free(cell);
        if queue.fifo.is_empty() {
            self.nonempty.remove(q as usize);
            queue.deficit = 0;
        }
        Some(tag)
    }

    /// Pauses and scheduler state, for model checkers. [`Queues::visit`] covers the packets.
    pub fn canonical(&self, state: &mut impl Hasher) {
        self.closed.hash(state);
        for drr in self.groups.drrs() {
            drr.position(|q| self.queues[q].deficit).hash(state);
        }
        self.queues.iter().for_each(|queue| queue.deficit.hash(state));
    }

    #[inline(always)]
    fn active_after(&self, q: QueueId) -> Bits<W> {
        let mut nonempty = self.nonempty;
        nonempty.insert(q as usize);
        nonempty.minus(&self.closed)
    }
}

impl<const W: usize> PausableByNumber for PausableQueues<W> {
    fn set_closed(&mut self, queue: QueueId, closed: bool) {
        self.set_closed(queue, closed);
    }

    fn set_all_closed(&mut self, closed: QueueMap) {
        self.closed = self.all.and(&Bits::from_map(closed));
    }
}

impl<const W: usize> Queues for PausableQueues<W> {
    fn new(count: usize, groups: usize, quantum: u32) -> PausableQueues<W> {
        PausableQueues {
            queues: vec![Queue::default(); count].into_boxed_slice(),
            groups: Groups::new(count as u16, groups as u16, quantum),
            nonempty: Bits::EMPTY,
            closed: Bits::EMPTY,
            all: Bits::below(count),
        }
    }

    #[inline(always)]
    fn bytes(&self, q: QueueId) -> u64 {
        self.queues[q as usize].fifo.bytes
    }

    fn all_bytes(&self) -> u64 {
        self.queues.iter().map(|queue| queue.fifo.bytes).sum()
    }

    #[inline(always)]
    fn push<E: Extension>(&mut self, cells: &mut Cells<E>, q: QueueId, frame: &Frame<E>, held: Meta, now: Instant) {
        self.queues[q as usize].fifo.push(cells, q, frame, held, now);
        self.nonempty.insert(q as usize);
    }

    #[inline(always)]
    fn pop(&mut self, cells: &Cells<impl Extension>) -> Option<(QueueId, Cell)> {
        let q = self.groups.pick(&self.active(), &mut self.queues, |queue| queue.fifo.head_wire())?;
        let queue = &mut self.queues[q];
        let cell = queue.fifo.pop(cells);
        if queue.fifo.is_empty() {
            self.nonempty.remove(q);
            self.groups.emptied(q, queue);
        }
        Some((q as QueueId, cell))
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.nonempty.is_empty()
    }

    #[inline(always)]
    fn pass(&mut self, choice: Choice) -> bool {
        let q = choice.queue;
        let may = !self.closed.contains(q as usize);
        if may {
            self.groups.passed(q as usize);
        }
        may
    }

    fn is_paused(&self, choice: Choice) -> bool {
        self.closed.contains(choice.queue as usize)
    }

    #[inline(always)]
    fn sendable(&self) -> bool {
        !self.active().is_empty()
    }

    #[inline(always)]
    fn active_with(&self, q: QueueId) -> u32 {
        self.active_after(q).count()
    }

    #[inline(always)]
    fn active_in_group(&self, q: QueueId) -> u32 {
        self.groups.same_group(q as usize, self.active_after(q)).count()
    }

    fn occupied(&self) -> u32 {
        self.nonempty.count()
    }

    fn visit(&self, cells: &Cells<impl Extension>, see: &mut dyn FnMut(QueueId, &Packet, Meta)) {
        for (q, queue) in self.queues.iter().enumerate() {
            queue.fifo.iter(cells).for_each(|(packet, held)| see(q as QueueId, packet, held));
        }
    }
}
