//! One pool of packet cells per switch, linked into queues.
//!
//! A finite buffer allocates its cells at construction, up to a given number. A buffer that needs more cells doubles.
//! Freed cells are reused last in, first out, so a lightly loaded switch stays in a few cache lines.

use crate::meta::Meta;
use alloc::vec::Vec;
use backwater_types::{Extension, Frame, Instant, Packet, QueueId};

/// Index of a cell; [`NIL`] is none.
pub type Cell = u32;

/// No cell.
pub const NIL: Cell = u32::MAX;

/// An item without bytes that marks a position in a queue (FlowSail's order marks). It is never sent.
pub const MARK: Packet = Packet::NONE;

/// A packet, its metadata and the next cell, in one cache line: the cell of a waiting packet is out of the cache when
/// its turn comes.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Slot<E> {
    frame: Frame<E>,
    next: Cell,
    held: Meta,
}

const _: () = assert!(size_of::<Slot<()>>() == 64, "a cache line");

/// Pool of packet cells.
#[derive(Clone, Debug)]
pub struct Cells<E = ()> {
    slots: Vec<Slot<E>>,
    /// Enqueue times. Empty unless queueing delay is measured.
    entered: Vec<Instant>,
    stamp: bool,
    /// First and second free cell. The second is loaded when the first is taken, long before it is needed, because the
    /// load misses the cache.
    free: Cell,
    second_free: Cell,
}

/// A FIFO of cells.
#[derive(Clone, Copy, Debug)]
pub struct Fifo {
    head: Cell,
    tail: Cell,
    /// Wire bytes of all packets in the queue.
    pub bytes: u64,
    /// Wire bytes of the first packet, loaded early because the load misses the cache.
    head_wire: u32,
}

impl<E: Extension> Cells<E> {
    /// Creates a pool with room for `capacity` packets before it has to grow. `stamp`: keep enqueue times.
    pub fn new(capacity: usize, stamp: bool) -> Cells<E> {
        Cells {
            slots: Vec::with_capacity(capacity),
            entered: Vec::with_capacity(if stamp { capacity } else { 0 }),
            stamp,
            free: NIL,
            second_free: NIL,
        }
    }

    /// The packet in `cell`, read and written in place. A packet returned by value is copied piecewise, and each copy
    /// waits for the narrow stores of the one before (measured: half of all dequeue time).
    #[inline(always)]
    pub fn frame(&mut self, cell: Cell) -> &mut Frame<E> {
        &mut self.slots[cell as usize].frame
    }

    /// The packet in `cell`, read-only.
    #[inline(always)]
    pub fn peek(&self, cell: Cell) -> &Frame<E> {
        &self.slots[cell as usize].frame
    }

    /// Metadata of the packet in `cell`.
    #[inline(always)]
    pub fn held(&self, cell: Cell) -> Meta {
        self.slots[cell as usize].held
    }

    /// Enqueue time of the packet in `cell`; [`Instant::ZERO`] unless stamps are kept.
    #[inline(always)]
    pub fn entered(&self, cell: Cell) -> Instant {
        if self.stamp { self.entered[cell as usize] } else { Instant::ZERO }
    }

    /// Frees `cell`.
    #[inline(always)]
    pub fn free(&mut self, cell: Cell) {
        self.slots[cell as usize].next = self.free;
        (self.free, self.second_free) = (cell, self.free);
    }

    /// Stores a packet in a free cell.
    #[inline(always)]
    pub fn put(&mut self, frame: &Frame<E>, held: Meta, now: Instant) -> Cell {
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
    /// Whether the queue holds exactly one item.
    #[inline(always)]
    pub fn is_single(&self) -> bool {
        self.head != NIL && self.head == self.tail
    }

    /// Whether the queue is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// First cell; [`NIL`] if the queue is empty.
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
        held: Meta,
        now: Instant,
    ) {
        let cell = cells.put(frame, held, now);
        // The header is patched in place: a patched copy on the stack would be copied while its narrow stores are
        // pending.
        cells.slots[cell as usize].frame.upstream_queue = queue;
        if self.head == NIL {
            (self.head, self.head_wire) = (cell, frame.wire as u32);
        } else {
            cells.slots[self.tail as usize].next = cell;
        }
        self.tail = cell;
        self.bytes += frame.wire as u64;
    }

    /// Wire bytes of the first packet; 0 for a mark. Valid only if the queue is not empty.
    #[inline(always)]
    pub fn head_wire(&self) -> u32 {
        self.head_wire
    }

    /// Takes the first packet out of the queue. The packet stays in its cell until the cell is freed.
    ///
    /// # Panics
    /// If the queue is empty.
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

    /// All packets with their metadata, first to last. For checks, not for the data path.
    pub fn iter<'a, E: Extension>(&self, cells: &'a Cells<E>) -> impl Iterator<Item = (&'a Packet, Meta)> {
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
