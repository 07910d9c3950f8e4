//! One pool of packet cells per switch, linked into queues.
//!
//! A finite buffer allocates its cells at construction, as many as it is told; one that needs more grows by doubling. Freed cells are reused last in,
//! first out, so a lightly loaded switch stays in a few cache lines.

use crate::held::Held;
use alloc::vec::Vec;
use backwater_types::{Extension, Frame, Instant, Packet, QueueId};

/// Index of a cell; [`NIL`] is none.
pub type Cell = u32;

/// No cell.
pub const NIL: Cell = u32::MAX;

/// What a queue holds in the place of a packet where only a position matters (FlowSail's order marks). It has no bytes and is
/// never sent.
pub const MARK: Packet = Packet::NONE;

/// A packet, what is kept with it, and the next cell: one cache line, because a packet that waits is far away when its turn comes.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Slot<E> {
    frame: Frame<E>,
    next: Cell,
    held: Held,
}

const _: () = assert!(size_of::<Slot<()>>() == 64, "a cache line");

/// The pool.
#[derive(Clone, Debug)]
pub struct Cells<E = ()> {
    slots: Vec<Slot<E>>,
    /// Enqueue times, kept only when queueing delay is measured.
    entered: Vec<Instant>,
    stamp: bool,
    /// The first two free cells. The second is read when the first is taken, long before it is needed: it is far away.
    free: Cell,
    second_free: Cell,
}

/// A FIFO of cells.
#[derive(Clone, Copy, Debug)]
pub struct Fifo {
    head: Cell,
    tail: Cell,
    /// Wire bytes of all packets in it.
    pub bytes: u64,
    /// Wire bytes of the first packet, read when it becomes the first: it is far away.
    head_wire: u32,
}

impl<E: Extension> Cells<E> {
    /// A pool with room for `capacity` packets before it has to grow; `stamp` keeps enqueue times.
    pub fn new(capacity: usize, stamp: bool) -> Cells<E> {
        Cells {
            slots: Vec::with_capacity(capacity),
            entered: Vec::with_capacity(if stamp { capacity } else { 0 }),
            stamp,
            free: NIL,
            second_free: NIL,
        }
    }

    /// The packet in `cell`. It is read and written where it lies: a packet that travels by value through returns is copied
    /// piecewise, and each copy waits for the narrow stores of the one before (measured: half of all dequeue time).
    #[inline(always)]
    pub fn frame(&mut self, cell: Cell) -> &mut Frame<E> {
        &mut self.slots[cell as usize].frame
    }

    /// The same, only to be read.
    #[inline(always)]
    pub fn peek(&self, cell: Cell) -> &Frame<E> {
        &self.slots[cell as usize].frame
    }

    /// What is kept with the packet in `cell`.
    #[inline(always)]
    pub fn held(&self, cell: Cell) -> Held {
        self.slots[cell as usize].held
    }

    /// When the packet in `cell` came; [`Instant::ZERO`] unless stamps are kept.
    #[inline(always)]
    pub fn entered(&self, cell: Cell) -> Instant {
        if self.stamp { self.entered[cell as usize] } else { Instant::ZERO }
    }

    /// `cell` holds nothing any more.
    #[inline(always)]
    pub fn free(&mut self, cell: Cell) {
        self.slots[cell as usize].next = self.free;
        (self.free, self.second_free) = (cell, self.free);
    }

    /// Puts a packet into a free cell.
    #[inline(always)]
    pub fn put(&mut self, frame: &Frame<E>, held: Held, now: Instant) -> Cell {
        let cell = self.free;
        if cell == NIL {
            self.slots.push(Slot { frame: *frame, next: NIL, held });
            if self.stamp {
                self.entered.push(now);
            }
            return (self.slots.len() - 1) as Cell;
        }
        self.free = self.second_free;
        if self.free != NIL {
            self.second_free = self.slots[self.free as usize].next;
        }
        let slot = &mut self.slots[cell as usize];
        (slot.frame, slot.next, slot.held) = (*frame, NIL, held);
        if self.stamp {
            self.entered[cell as usize] = now;
        }
        cell
    }
}

impl Default for Fifo {
    fn default() -> Fifo {
        Fifo { head: NIL, tail: NIL, bytes: 0, head_wire: 0 }
    }
}

impl Fifo {
    /// Whether it holds one item.
    #[inline(always)]
    pub fn is_single(&self) -> bool {
        self.head != NIL && self.head == self.tail
    }

    /// Whether it holds no packet.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// The first cell; [`NIL`] if it is empty.
    #[inline(always)]
    pub fn first(&self) -> Cell {
        self.head
    }

    /// Appends a packet, which will depart as one of `queue`.
    #[inline(always)]
    pub fn push<E: Extension>(
        &mut self,
        cells: &mut Cells<E>,
        queue: QueueId,
        frame: &Frame<E>,
        held: Held,
        now: Instant,
    ) {
        let cell = cells.put(frame, held, now);
        // Patched where it lies: a copy patched on the stack and copied on would wait for its own narrow stores.
        cells.slots[cell as usize].frame.upstream_queue = queue;
        if self.head == NIL {
            (self.head, self.head_wire) = (cell, frame.wire as u32);
        } else {
            cells.slots[self.tail as usize].next = cell;
        }
        self.tail = cell;
        self.bytes += frame.wire as u64;
    }

    /// Wire bytes of the first packet; 0 for a mark. Only if it is not empty.
    #[inline(always)]
    pub fn head_wire(&self) -> u32 {
        self.head_wire
    }

    /// Takes the first packet out of the queue. It stays in its cell until that is freed.
    ///
    /// # Panics
    /// If it is empty.
    #[inline(always)]
    pub fn pop(&mut self, cells: &Cells<impl Extension>) -> Cell {
        let cell = self.head;
        self.head = cells.slots[cell as usize].next;
        self.bytes -= self.head_wire as u64;
        if self.head != NIL {
            self.head_wire = cells.slots[self.head as usize].frame.wire as u32;
        }
        cell
    }

    /// Every packet and what is kept with it, first to last: for checks, not for the data path.
    pub fn iter<'a, E: Extension>(&self, cells: &'a Cells<E>) -> impl Iterator<Item = (&'a Packet, Held)> {
        let mut at = self.head;
        core::iter::from_fn(move || {
            (at != NIL).then(|| {
                let cell = at as usize;
                let slot = &cells.slots[cell];
                at = slot.next;
                (&slot.frame.packet, slot.held)
            })
        })
    }
}
