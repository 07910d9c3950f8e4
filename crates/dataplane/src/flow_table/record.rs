//! Record of one flow in a switch.

use crate::flow_table::Slot;
use crate::ticks::age;
use backwater_types::{FlowName, Instant, PortId, QueueId};
use core::hash::{Hash, Hasher};

/// State of a flow at one egress port (spec F.2).
#[derive(Clone, Copy, Debug, Default)]
pub struct Record {
    /// Name of the flow. Among flows that share the record: the flow paused last.
    pub(super) flow: u32,
    slot: u32,
    /// Bytes in the normal queue.
    pub normal: u32,
    /// Bytes in the isolation queue.
    pub isolated: u32,
    /// Flagged packets held (`pauseNum`).
    pub flagged: u32,
    /// Time of the last enqueue or dequeue, in ticks.
    pub touched: u32,
    /// Time of the neighbour's last PAUSE, repeated PAUSE or RESUME, in ticks (`dsAt`).
    pub signalled_at: u32,
    /// Links in the refresh list, or in the list of free records.
    pub(super) before: Slot,
    pub(super) after: Slot,
    pub(super) bucket: u32,
    /// Egress port.
    pub(super) port: u8,
    /// Normal queue, while the flow has bytes or a mark there.
    pub queue: u8,
    /// Queue on which this flow holds one pause reference, apart from its isolation queue; [`NO_QUEUE`]: none.
    pub held: u8,
    /// Isolation queue.
    pub isolation: u8,
    /// Ingress whose neighbour this switch last asked to pause the flow.
    pub ingress: u8,
    pub(super) class: u8,
    state: u8,
}

const _: () = assert!(size_of::<Record>() == 48);

/// Value of [`Record::held`] for no queue.
pub const NO_QUEUE: u8 = u8::MAX;

/// Bits of a record's state.
pub mod state {
    /// New packets go to the isolation queue (the flow is in the congested flow table).
    pub const CONGESTED: u8 = 1;
    /// The neighbour has paused it.
    pub const PAUSED: u8 = 2;
    /// An order mark is in the normal queue.
    pub const MARK_NORMAL: u8 = 4;
    /// An order mark is in the isolation queue.
    pub const MARK_ISOLATED: u8 = 8;
    /// The record is in the refresh list.
    pub(in crate::flow_table) const IN_REFRESH: u8 = 16;
}

impl Record {
    /// Creates the record of a flow at `port`, in `bucket`, without packets or pauses.
    pub(super) fn new(port: PortId, name: FlowName, bucket: u32) -> Record {
        let FlowName { flow, slot, class } = name;
        Record { flow, slot, class, port: port as u8, bucket, held: NO_QUEUE, ..Record::default() }
    }

    /// Whether any bit of `mask` is set.
    #[inline(always)]
    pub fn is(&self, mask: u8) -> bool {
        self.state & mask != 0
    }

    /// Sets the bits of `mask`.
    #[inline(always)]
    pub fn set(&mut self, mask: u8) {
        self.state |= mask;
    }

    /// Clears the bits of `mask`.
    #[inline(always)]
    pub fn clear(&mut self, mask: u8) {
        self.state &= !mask;
    }

    /// Name of the flow.
    #[inline(always)]
    pub fn name(&self) -> FlowName {
        FlowName { flow: self.flow, slot: self.slot, class: self.class }
    }

    /// Renames the record after another of the flows that share it.
    #[inline(always)]
    pub fn rename(&mut self, name: FlowName) {
        (self.flow, self.slot) = (name.flow, name.slot);
    }

    /// Traffic class of the flow.
    #[inline(always)]
    pub fn class(&self) -> u8 {
        self.class
    }

    /// Egress port.
    #[inline(always)]
    pub fn port(&self) -> PortId {
        self.port as PortId
    }

    /// Whether the record holds no state worth keeping.
    #[inline(always)]
    pub fn is_spent(&self) -> bool {
        let kept = state::CONGESTED | state::PAUSED | state::MARK_NORMAL | state::MARK_ISOLATED;
        self.normal | self.isolated | self.flagged == 0 && !self.is(kept)
    }

    /// Record state for model checkers. The queue is irrelevant once the flow has nothing in it, and the ingress once
    /// that has resumed. The age of the last PAUSE counts up to `lapse` for a paused flow, else up to `release`. The
    /// last enqueue or dequeue counts only where the release counts from it.
    pub(super) fn canonical(&self, now: Instant, release: u32, from_touch: bool, lapse: u32, state: &mut impl Hasher) {
        let queue = (self.normal > 0 || self.is(state::MARK_NORMAL)).then_some(self.queue);
        let ingress = (self.flagged > 0).then_some(self.ingress);
        let signalled = age(now, self.signalled_at, if self.is(state::PAUSED) { lapse } else { release });
        let signalled = self.is(state::CONGESTED).then_some(signalled);
        let touched = from_touch.then(|| age(now, self.touched, release));
        (self.port, self.name(), self.state, self.normal, self.isolated, self.flagged).hash(state);
        (queue, self.held, self.isolation, ingress, touched, signalled).hash(state);
    }

    /// The normal queue.
    #[inline(always)]
    pub fn normal_queue(&self) -> QueueId {
        self.queue as QueueId
    }

    /// The isolation queue.
    #[inline(always)]
    pub fn isolation_queue(&self) -> QueueId {
        self.isolation as QueueId
    }
}
