//! Flows that a host sends, by the slots that packets carry.

use alloc::vec::Vec;
use backwater_transport::{Outgoing, Sender, Source};
use backwater_types::{Frame, Instant, Packet, QueueId, flags};
use core::ops::{Index, IndexMut};

/// A flow: its sender `S`, and the state `F` that its NIC keeps. Aligned to a cache line, so that it touches as few as
/// it can.
#[repr(align(64))]
pub struct Flow<S, F> {
    /// Source of its packets.
    pub source: Source<S>,
    /// State of its NIC.
    pub nic: F,
    /// Payload bytes.
    pub size: u64,
    /// Flow number.
    pub id: u32,
    receiver_slot: u32,
    /// Destination host.
    pub dst: u16,
    /// Workload that it belongs to.
    pub class: u8,
    /// Whether the slot is in use.
    pub live: bool,
    /// Expiry of its entry among the host's timers; [`Instant::NEVER`] if there is none.
    pub timer: Instant,
}

/// Names of a new flow.
#[derive(Clone, Copy, Debug)]
pub struct NewFlow {
    /// Flow number, never used again.
    pub id: u32,
    /// Destination host.
    pub dst: u16,
    /// Payload bytes.
    pub size: u64,
    /// Slot of the flow at its receiver.
    pub receiver_slot: u32,
    /// Workload that it belongs to.
    pub class: u8,
}

impl<S: Sender, F: Default> Flow<S, F> {
    /// Makes a new flow.
    pub fn new(source: Source<S>, new: NewFlow) -> Flow<S, F> {
        let NewFlow { id, dst, size, receiver_slot, class } = new;
        Flow { source, nic: F::default(), size, id, receiver_slot, dst, class, live: true, timer: Instant::NEVER }
    }

    /// Addresses a packet of the flow in `slot` of host `src`, out of `queue`.
    #[inline(always)]
    pub fn frame(&self, src: u16, slot: u32, queue: QueueId, out: Outgoing<S::Extension>) -> Frame<S::Extension> {
        let packet = Packet {
            flow: self.id,
            seq: out.seq,
            key: self.source.key(),
            sender_slot: slot,
            receiver_slot: if out.flags & flags::DATAGRAM == 0 { self.receiver_slot } else { self.class as u32 },
            dst: self.dst,
            src,
            wire: out.wire,
            upstream_queue: queue,
            class: out.class,
            kind: out.kind,
            flags: out.flags,
        };
        Frame { packet, extension: out.extension }
    }
}

/// All flows of a host. Slots are reused.
pub struct Flows<S, F> {
    list: Vec<Flow<S, F>>,
    free: Vec<u32>,
}

impl<S, F> Default for Flows<S, F> {
    fn default() -> Flows<S, F> {
        Flows { list: Vec::with_capacity(64), free: Vec::with_capacity(64) }
    }
}

impl<S, F> Flows<S, F> {
    /// Adds a flow and returns its slot.
    pub fn add(&mut self, flow: Flow<S, F>) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.list[slot as usize] = flow;
                slot
            }
            None => {
                self.list.push(flow);
                (self.list.len() - 1) as u32
            }
        }
    }

    /// Frees `slot`.
    #[inline(always)]
    pub fn remove(&mut self, slot: u32) {
        self.list[slot as usize].live = false;
        self.free.push(slot);
    }

    /// Returns the flow in `slot`, if its number is `id` still.
    #[inline(always)]
    pub fn named(&mut self, slot: u32, id: u32) -> Option<&mut Flow<S, F>> {
        self.list.get_mut(slot as usize).filter(|flow| flow.id == id && flow.live)
    }

    /// Returns the number of slots, free ones too.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// Reads from `slot`, if there is one, so that it is in a cache soon. The value has no meaning.
    #[inline(always)]
    pub fn prefetch(&self, slot: u32) -> u32 {
        self.list.get(slot as usize).map_or(0, |flow| flow.id)
    }

    /// Returns all slots, free ones too.
    pub fn slots(&self) -> core::ops::Range<u32> {
        0..self.list.len() as u32
    }

    /// Iterates over all slots, free ones too.
    pub fn iter(&self) -> impl Iterator<Item = &Flow<S, F>> {
        self.list.iter()
    }
}

impl<S, F> Index<u32> for Flows<S, F> {
    type Output = Flow<S, F>;

    #[inline(always)]
    fn index(&self, slot: u32) -> &Flow<S, F> {
        &self.list[slot as usize]
    }
}

impl<S, F> IndexMut<u32> for Flows<S, F> {
    #[inline(always)]
    fn index_mut(&mut self, slot: u32) -> &mut Flow<S, F> {
        &mut self.list[slot as usize]
    }
}
