//! What a switch knows of one flow.

use crate::flow_table::Slot;
use crate::ticks::age;
use backwater_types::{FlowName, Instant, PortId, QueueId};
use core::hash::{Hash, Hasher};

/// What a switch knows of a flow at one egress port (spec F.2).
#[derive(Clone, Copy, Debug, Default)]
pub struct Record {
    /// The flow, or the one of several that was paused last, as its packets and frames name it.
    pub(super) flow: u32,
    slot: u32,
    /// Bytes in its normal queue.
    pub normal: u32,
    /// Bytes in its isolation queue.
    pub isolated: u32,
    /// Packets held that are flagged (`pauseNum`).
    pub flagged: u32,
    /// Last enqueue or dequeue, in ticks.
    pub touched: u32,
    /// When a neighbour last paused it, said so again, or resumed it, in ticks (`dsAt`).
    pub told_at: u32,
    /// Neighbours in the list of tended records, or in the list of free ones.
    pub(super) before: Slot,
    pub(super) after: Slot,
    pub(super) bucket: u32,
    /// Egress port.
    pub(super) port: u8,
    /// Its normal queue, while it has bytes or a mark there.
    pub queue: u8,
    /// The queue on which this flow holds one pause reference beside its isolation queue; [`NO_QUEUE`]: none.
    pub held: u8,
    /// Its isolation queue.
    pub isolation: u8,
    /// Ingress that was told to pause it.
    pub ingress: u8,
    pub(super) class: u8,
    state: u8,
}

const _: () = assert!(size_of::<Record>() == 48);

/// In [`Record::held`]: no queue.
pub const NO_QUEUE: u8 = u8::MAX;

/// Bits of a record's state.
pub mod state {
    /// New packets go to the isolation queue (member of the congested flow table).
    pub const CONGESTED: u8 = 1;
    /// The neighbour has paused it.
    pub const PAUSED: u8 = 2;
    /// Its order mark is in its normal queue.
    pub const MARK_NORMAL: u8 = 4;
    /// Its order mark is in its isolation queue.
    pub const MARK_ISOLATED: u8 = 8;
    /// In the list of tended records.
    pub(in crate::flow_table) const TENDED: u8 = 16;
}

impl Record {
    /// Of a flow at `port`, in this bucket, of which nothing is known yet.
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

    /// The name of the flow.
    #[inline(always)]
    pub fn name(&self) -> FlowName {
        FlowName { flow: self.flow, slot: self.slot, class: self.class }
    }

    /// Of flows that share the record, the one to name from now on.
    #[inline(always)]
    pub fn rename(&mut self, name: FlowName) {
        (self.flow, self.slot) = (name.flow, name.slot);
    }

    /// Its traffic class.
    #[inline(always)]
    pub fn class(&self) -> u8 {
        self.class
    }

    /// Egress port.
    #[inline(always)]
    pub fn port(&self) -> PortId {
        self.port as PortId
    }

    /// Nothing is left to know of the flow.
    #[inline(always)]
    pub fn is_spent(&self) -> bool {
        let kept = state::CONGESTED | state::PAUSED | state::MARK_NORMAL | state::MARK_ISOLATED;
        self.normal | self.isolated | self.flagged == 0 && !self.is(kept)
    }

    /// For checkers. Its queue means nothing once it is out of it, nor does whom it paused once it has resumed. A flow that is
    /// paused is asked how long ago it was told so up to `lapse`, one that is not up to `release`; when it was last touched,
    /// only where the release counts from there.
    pub(super) fn canonical(&self, now: Instant, release: u32, from_touch: bool, lapse: u32, state: &mut impl Hasher) {
        let queue = (self.normal > 0 || self.is(state::MARK_NORMAL)).then_some(self.queue);
        let ingress = (self.flagged > 0).then_some(self.ingress);
        let told = age(now, self.told_at, if self.is(state::PAUSED) { lapse } else { release });
        let told = self.is(state::CONGESTED).then_some(told);
        let touched = from_touch.then(|| age(now, self.touched, release));
        (self.port, self.name(), self.state, self.normal, self.isolated, self.flagged).hash(state);
        (queue, self.held, self.isolation, ingress, touched, told).hash(state);
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
