//! One pool of packet cells per switch, linked into queues.
//!
//! A finite buffer allocates all its cells at construction; an infinite one grows by doubling. Freed cells are reused last in,
//! first out, so a lightly loaded switch stays in a few cache lines.

use alloc::vec::Vec;
use backwater_types::{Instant, Kind, Packet, QueueId};

/// Index of a cell; [`NIL`] is none.
pub type Cell = u32;

/// No cell.
pub const NIL: Cell = u32::MAX;

/// What a queue holds in the place of a packet where only a position matters (FlowSail's order marks). It has no bytes and is
/// never sent.
pub const MARK: Packet = Packet {
    flow: 0,
    seq: 0,
    key: 0,
    sender_slot: 0,
    receiver_slot: 0,
    dst: 0,
    src: 0,
    wire: 0,
    upstream_queue: 0,
    class: 0,
    kind: Kind::Control,
    flags: 0,
};

/// What a switch keeps with a packet it holds. The packet itself is already as it will depart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// A word of the assignment's (BFC: the flow-table entry).
    pub tag: u32,
    /// The queue it left upstream, as its header said on arrival (BFC-A4).
    pub upstream_queue: QueueId,
    /// Port it came in by.
    pub ingress: u8,
    /// It counts towards a pause (BFC `counted`).
    pub counted: bool,
    /// It takes part in bookkeeping (BFC-B3); always, without sampling.
    pub sampled: bool,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    next: Cell,
    held: Held,
}

const _: () = assert!(size_of::<Link>() == 16, "four to a cache line");

/// The pool.
#[derive(Clone, Debug)]
pub struct Cells {
    packets: Vec<Packet>,
    links: Vec<Link>,
    /// Enqueue times, kept only when queueing delay is measured.
    entered: Vec<Instant>,
    stamp: bool,
    free: Cell,
}

/// A FIFO of cells.
#[derive(Clone, Copy, Debug)]
pub struct Fifo {
    head: Cell,
    tail: Cell,
    /// Wire bytes of all packets in it.
    pub bytes: u64,
}

impl Cells {
    /// A pool with room for `capacity` packets before it has to grow; `stamp` keeps enqueue times.
    pub fn new(capacity: usize, stamp: bool) -> Cells {
        Cells {
            packets: Vec::with_capacity(capacity),
            links: Vec::with_capacity(capacity),
            entered: Vec::with_capacity(if stamp { capacity } else { 0 }),
            stamp,
            free: NIL,
        }
    }

    /// The packet in `cell`. It is read and written where it lies: a packet that travels by value through returns is copied
    /// piecewise, and each copy waits for the narrow stores of the one before (measured: half of all dequeue time).
    #[inline(always)]
    pub fn packet(&mut self, cell: Cell) -> &mut Packet {
        &mut self.packets[cell as usize]
    }

    /// What is kept with the packet in `cell`.
    #[inline(always)]
    pub fn held(&self, cell: Cell) -> Held {
        self.links[cell as usize].held
    }

    /// When the packet in `cell` came; [`Instant::ZERO`] unless stamps are kept.
    #[inline(always)]
    pub fn entered(&self, cell: Cell) -> Instant {
        if self.stamp { self.entered[cell as usize] } else { Instant::ZERO }
    }

    /// `cell` holds nothing any more.
    #[inline(always)]
    pub fn free(&mut self, cell: Cell) {
        self.links[cell as usize].next = self.free;
        self.free = cell;
    }

    /// Puts a packet into a free cell.
    #[inline(always)]
    pub fn put(&mut self, packet: &Packet, held: Held, now: Instant) -> Cell {
        let cell = self.free;
        if cell == NIL {
            self.packets.push(*packet);
            self.links.push(Link { next: NIL, held });
            if self.stamp {
                self.entered.push(now);
            }
            return (self.packets.len() - 1) as Cell;
        }
        let link = &mut self.links[cell as usize];
        self.free = link.next;
        *link = Link { next: NIL, held };
        self.packets[cell as usize] = *packet;
        if self.stamp {
            self.entered[cell as usize] = now;
        }
        cell
    }
}

impl Default for Fifo {
    fn default() -> Fifo {
        Fifo { head: NIL, tail: NIL, bytes: 0 }
    }
}

impl Fifo {
    /// Whether it holds no packet.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// Appends a packet, which will depart as one of `queue`.
    #[inline(always)]
    pub fn push(&mut self, cells: &mut Cells, queue: QueueId, packet: &Packet, held: Held, now: Instant) {
        let cell = cells.put(packet, held, now);
        // Patched where it lies: a copy patched on the stack and copied on would wait for its own narrow stores.
        cells.packets[cell as usize].upstream_queue = queue;
        if self.head == NIL {
            self.head = cell;
        } else {
            cells.links[self.tail as usize].next = cell;
        }
        self.tail = cell;
        self.bytes += packet.wire as u64;
    }

    /// Wire bytes of the first packet; 0 for a mark.
    ///
    /// # Panics
    /// If it is empty.
    #[inline(always)]
    pub fn head_wire(&self, cells: &Cells) -> u32 {
        cells.packets[self.head as usize].wire as u32
    }

    /// Takes the first packet out of the queue. It stays in its cell until that is freed.
    ///
    /// # Panics
    /// If it is empty.
    #[inline(always)]
    pub fn pop(&mut self, cells: &Cells) -> Cell {
        let cell = self.head;
        self.head = cells.links[cell as usize].next;
        self.bytes -= cells.packets[cell as usize].wire as u64;
        cell
    }

    /// Every packet and what is kept with it, first to last: for checks, not for the data path.
    pub fn iter<'a>(&self, cells: &'a Cells) -> impl Iterator<Item = (&'a Packet, Held)> {
        let mut at = self.head;
        core::iter::from_fn(move || {
            (at != NIL).then(|| {
                let cell = at as usize;
                at = cells.links[cell].next;
                (&cells.packets[cell], cells.links[cell].held)
            })
        })
    }
}
